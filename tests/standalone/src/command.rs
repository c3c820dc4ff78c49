//! Commands that run to their end.

use std::path::Path;
use std::process::Command;

pub use interop_tests::ended::Ended;
use interop_tests::ended::run_to_end;

use crate::binary::stunner;

/// Runs `stunner` in a folder, with nothing of ours in its environment.
pub fn run<A: AsRef<std::ffi::OsStr>>(
    folder: &Path,
    args: impl IntoIterator<Item = A>,
    stdin: &str,
) -> Ended {
    let mut command = Command::new(stunner());
    run_to_end(command.args(args).current_dir(folder), stdin)
}
