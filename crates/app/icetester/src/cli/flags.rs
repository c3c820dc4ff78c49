//! Every flag of `icetester`: the one place for names, environment variables, defaults and their description.

use stunner_flags::Takes::{Switch, Value};
use stunner_flags::{flag, flags, short};

const SERVING: &str = "Serving";
const LOGS: &str = "Logs";
const OTHER: &str = "Other";

flags! {
    ADDR = short('a', flag(SERVING, "addr", Value("ADDR:PORT"), "STUNNER_ICETESTER_ADDR", ":8089",
        "Where to listen for HTTP"));
    MAX_SESSIONS = flag(SERVING, "max-sessions", Value("N"), "STUNNER_ICETESTER_MAX_SESSIONS", "64",
        "Echo sessions at a time; further offers get 503");
    INSECURE = flag(SERVING, "insecure", Switch, "STUNNER_ICETESTER_INSECURE", "",
        "Take any certificate of TURN servers over TLS and DTLS. SSL_CERT_FILE names roots to trust instead");
    LOG = short('l', flag(LOGS, "log", Value("SPEC"), "STUNNER_LOG", "all:WARN",
        "Log levels by scope, such as `all:WARN,echo:DEBUG`. The log goes to standard error"));
    VERBOSE = short('v', flag(LOGS, "verbose", Switch, "STUNNER_VERBOSE", "",
        "The same as `--log all:DEBUG`, unless --log is given"));
    HELP = short('h', flag(OTHER, "help", Switch, "", "", "Print this help"));
    VERSION = flag(OTHER, "version", Switch, "", "", "Print the version");
}
