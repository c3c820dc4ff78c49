//! Commands that run to their end, with what they print on standard output and on standard error kept apart.

use std::io::Write;
use std::process::{Command, Stdio};

/// What a command printed and how it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// Runs a command with nothing of ours in its environment but what it was given.
pub fn run_to_end(command: &mut Command, stdin: &str) -> Ended {
    let given: Vec<_> = command
        .get_envs()
        .map(|(name, _)| name.to_owned())
        .collect();
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("STUNNER_") && !given.contains(&name) {
            command.env_remove(name);
        }
    }
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("start the command");
    // A command that does not read its input closes the pipe.
    let _ = child
        .stdin
        .take()
        .map(|mut pipe| pipe.write_all(stdin.as_bytes()));
    let output = child.wait_with_output().expect("the end of the command");
    Ended {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}
