//! The flags of every command. They may stand before the command or after it.

use stunner_flags::Takes::{Switch, Value};
use stunner_flags::{flag, flags, short};

const RESULT: &str = "Result";
const CLUSTER: &str = "Cluster";
const OTHER: &str = "Other";

flags! {
    OUTPUT = short('o', flag(RESULT, "output", Value("FORM"), "STUNNER_CTL_OUTPUT", "summary",
        "summary and string for people, json (one line per object), yaml, or jsonpath=TEMPLATE as kubectl has it"));
    NAMESPACE = short('n', flag(CLUSTER, "namespace", Value("NAMESPACE"), "STUNNER_CTL_NAMESPACE", "",
        "Namespace of the gateways"));
    ALL_NAMESPACES = short('a', flag(CLUSTER, "all-namespaces", Switch, "STUNNER_CTL_ALL_NAMESPACES", "",
        "Gateways of all namespaces; -A means the same"));
    LOG_LEVEL = short('l', flag(OTHER, "loglevel", Value("SPEC"), "STUNNER_CTL_LOGLEVEL", "all:WARN",
        "Log levels by scope: SCOPE:LEVEL pairs separated by commas. The log goes to standard error"));
    VERBOSE = short('v', flag(OTHER, "verbose", Switch, "STUNNER_CTL_VERBOSE", "", "Same as -l all:TRACE"));
    HELP = short('h', flag(OTHER, "help", Switch, "", "", "Print this help"));
}
