//! What can be said to `stunner check`.

use stunner_flags::Takes::{Switch, Value};
use stunner_flags::{flag, flags, short};

use super::RESULT;

flags! {
    STRICT = flag(RESULT, "strict", Switch, "STUNNER_CHECK_STRICT", "",
        "Treat warnings as errors");
    OUTPUT = short('o', flag(RESULT, "output", Value("text|json"), "STUNNER_CHECK_OUTPUT", "text",
        "One line per problem with its hint below it, or a JSON array"));
    RECURSIVE = super::RECURSIVE;
    HELP = super::HELP;
}
