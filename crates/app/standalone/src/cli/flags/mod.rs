//! Every flag of `stunner`'s own commands: the one place for names, variables, defaults and their description.

pub(super) mod check;
pub(super) mod init;
pub(super) mod run;
pub(super) mod translate;

const OTHER: &str = "Other";
