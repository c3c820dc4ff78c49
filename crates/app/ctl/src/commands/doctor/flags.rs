//! What can be said to `stunnerctl doctor` alone.

use stunner_api::names;
use stunner_cluster::flags as shared;
use stunner_flags::Takes::{Switch, Value, Values};
use stunner_flags::{flag, flags};

const WALK: &str = "Walk";
const CREDENTIALS: &str = "Credentials";

flags! {
    LISTENER = flag(WALK, "listener", Value("NAME"), "STUNNER_CTL_LISTENER", "",
        "Look at this listener of the Gateway only");
    NO_NETWORK = flag(WALK, "no-network", Switch, "STUNNER_CTL_NO_NETWORK", "",
        "Send nothing to the Gateway from here: for machines that cannot reach it anyway");
    TIMEOUT = flag(WALK, "timeout", Value("DURATION"), "STUNNER_CTL_DOCTOR_TIMEOUT", "5s",
        "How long a name server or TURN server may take for each answer");
    CONTROLLER_NAME = flag(WALK, "controller-name", Value("NAME"), "STUNNER_CTL_CONTROLLER_NAME", names::CONTROLLER_NAME,
        "The `controllerName` that the operator answers to");
    TURN = flag(WALK, "turn", Values("URI"), "STUNNER_CTL_TURN", "",
        "Look at this TURN server instead of a cluster: turn:HOST:PORT?transport=udp or turn://USER:PASSWORD@HOST:PORT?transport=udp|tcp|tls|dtls; can be given several times");
    ADMIN = shared::ADMIN;
    USERNAME = flag(CREDENTIALS, "username", Value("NAME"), "STUNNER_CTL_USERNAME", "",
        "User name to allocate with, instead of what the configuration has");
    PASSWORD = flag(CREDENTIALS, "password", Value("PASSWORD"), "STUNNER_CTL_PASSWORD", "",
        "Its password; others on this machine may see it among the processes, but not in the variable");
    SECRET = flag(CREDENTIALS, "secret", Value("SECRET"), "STUNNER_CTL_SECRET", "",
        "Shared secret to make an ephemeral credential from");
}
