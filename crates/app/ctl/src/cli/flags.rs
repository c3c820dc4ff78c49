//! The flags of every command. They may stand before the command or after it.

use stunner_cluster::flags::{CDS, KUBECTL};
use stunner_flags::{Flag, joined};

pub(crate) use first::{ALL_NAMESPACES, OUTPUT};
pub(crate) use last::{HELP, LOG_LEVEL, VERBOSE};

/// All of them, in the order of the help.
pub(crate) static ALL: &[&Flag] = joined!(joined!(first::ALL, joined!(KUBECTL, CDS)), last::ALL);

mod first {
    use stunner_flags::Takes::{Switch, Value};
    use stunner_flags::{flag, flags, short};

    const RESULT: &str = "Result";

    flags! {
        OUTPUT = short('o', flag(RESULT, "output", Value("summary|string|json|yaml|jsonpath=TEMPLATE"),
            "STUNNER_CTL_OUTPUT", "summary",
            "Form of the results: summary or string (one line each) for people, json (one line each), yaml or a \
             template as kubectl has it"));
        ALL_NAMESPACES = short('a', flag(RESULT, "all-namespaces", Switch, "STUNNER_CTL_ALL_NAMESPACES", "",
            "Gateways of all namespaces; -A means the same"));
    }
}

mod last {
    use stunner_flags::Takes::{Switch, Value};
    use stunner_flags::{flag, flags, short};

    const OTHER: &str = "Other";

    flags! {
        LOG_LEVEL = short('l', flag(OTHER, "loglevel", Value("SPEC"), "STUNNER_CTL_LOGLEVEL", "all:WARN",
            "Log levels by scope: SCOPE:LEVEL pairs separated by commas. The log goes to standard error"));
        VERBOSE = short('v', flag(OTHER, "verbose", Switch, "STUNNER_CTL_VERBOSE", "", "Same as -l all:TRACE"));
        HELP = short('h', flag(OTHER, "help", Switch, "", "", "Print this help"));
    }
}
