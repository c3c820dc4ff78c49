//! Commands that run to their end.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::binary::stunner;

/// What a command printed and how it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// Runs `stunner` in a folder, with nothing of ours in its environment.
pub fn run<A: AsRef<std::ffi::OsStr>>(
    folder: &Path,
    args: impl IntoIterator<Item = A>,
    stdin: &str,
) -> Ended {
    let mut command = Command::new(stunner());
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("STUNNER_") {
            command.env_remove(name);
        }
    }
    let mut child = command
        .args(args)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("start stunner");
    // A command that does not read its input closes the pipe.
    let _ = child
        .stdin
        .take()
        .map(|mut pipe| pipe.write_all(stdin.as_bytes()));
    let output = child.wait_with_output().expect("the end of stunner");
    Ended {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}
