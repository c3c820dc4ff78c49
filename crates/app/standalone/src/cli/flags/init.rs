//! What can be said to `stunner init`.

use stunner_flags::Takes::Switch;
use stunner_flags::{flag, flags, short};

use super::OTHER;

flags! {
    HELP = short('h', flag(OTHER, "help", Switch, "", "", "Print this help"));
}
