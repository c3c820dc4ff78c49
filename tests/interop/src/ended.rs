//! Commands that run to their end, with what they print on standard output and on standard error kept apart.

use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use serde_json::Value;

use crate::process::signal_process;

/// No command of a test has work for longer, however slow the machine.
const PATIENCE: Duration = Duration::from_secs(180);

/// What a command printed and how it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Ended {
    #[track_caller]
    pub fn with_code(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }

    /// It is somewhere on standard output or standard error.
    #[track_caller]
    pub fn says(&self, part: &str) {
        let said = format!("{}{}", self.stdout, self.stderr);
        assert!(said.contains(part), "`{part}` is missing: {self:#?}");
    }

    /// Standard output as one JSON value.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }

    /// Standard output, a JSON value per line.
    #[track_caller]
    pub fn values(&self) -> Vec<Value> {
        let value =
            |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        self.stdout.lines().map(value).collect()
    }
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
    // One that hangs is killed, and has no code.
    let (end, ended) = mpsc::channel::<()>();
    let id = child.id();
    std::thread::spawn(move || {
        if ended.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
            signal_process(id, libc::SIGKILL);
        }
    });
    let output = child.wait_with_output().expect("the end of the command");
    drop(end);
    Ended {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}
