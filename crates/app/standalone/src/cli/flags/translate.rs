//! What can be said to `stunner translate`.

use stunner_flags::Takes::Value;
use stunner_flags::{flag, flags, short};

use super::RESULT;

flags! {
    OUTPUT = short('o', flag(RESULT, "output", Value("yaml|json|table"), "STUNNER_TRANSLATE_OUTPUT", "yaml",
        "How to write the result; `table` shows Gateways, listeners and routes with their conditions"));
    DIFF = flag(RESULT, "diff", Value("PATH"), "STUNNER_TRANSLATE_DIFF", "",
        "Show how the result differs from that of the manifests at PATH, object by object, instead of the result \
         itself; exit 1 when anything differs");
    RECURSIVE = super::RECURSIVE;
    HELP = super::HELP;
}
