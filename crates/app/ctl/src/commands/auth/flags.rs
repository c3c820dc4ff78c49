//! What can be said to `stunnerctl auth` alone.

use stunner_cluster::flags::{AUTH_SERVER_ADDRESS, AUTH_SERVICE_NAMESPACE, AUTH_SERVICE_PORT};
use stunner_flags::Takes::{Switch, Value};
use stunner_flags::{flag, flags, short};

const CREDENTIAL: &str = "Credential";

flags! {
    USERNAME = short('u', flag(CREDENTIAL, "username", Value("NAME"), "STUNNER_CTL_AUTH_USERNAME", "",
        "User name to put into ephemeral credentials"));
    TURN_CREDENTIAL = flag(CREDENTIAL, "auth-turn-credential", Switch, "STUNNER_CTL_AUTH_TURN_CREDENTIAL", "",
        "Ask for a plain TURN credential (username, password, uris) instead of an ICE configuration");
    ADDRESS = AUTH_SERVER_ADDRESS;
    NAMESPACE = AUTH_SERVICE_NAMESPACE;
    PORT = AUTH_SERVICE_PORT;
}
