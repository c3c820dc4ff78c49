//! Every flag of `stunner`'s own commands: the one place for names, variables, defaults and their description, but for
//! those of [`serving`](stunner_dataplane::cli::serving). Here are the flags of several commands.

pub(crate) mod bench;
pub(super) mod check;
pub(super) mod init;
pub(super) mod run;
pub(super) mod translate;

use stunner_flags::Takes::Switch;
use stunner_flags::{flag, shared_flags, short};

const RESULT: &str = "Result";
const OTHER: &str = "Other";

shared_flags! {
    RECURSIVE = short('R', flag(RESULT, "recursive", Switch, "STUNNER_RECURSIVE", "",
        "Look into the folders below the given ones too"));
    HELP = short('h', flag(OTHER, "help", Switch, "", "", "Print this help"));
}
