//! A running gateway: starting it, hearing its events, asking its servers.

use std::ffi::OsStr;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::Duration;

use interop_tests::client::{Credentials, TurnClient};
use interop_tests::config::Transport;
use interop_tests::http::{self, Answer};
use interop_tests::ports::free_port;
use interop_tests::process::{Process, wait_until};
use serde_json::Value;

use crate::binary::stunner as binary;
use crate::manifests::{PASSWORD, USER};

/// Generous, because CI machines start it while they compile something else.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Whether the binary is an optimised one, of which times may be asked.
pub fn is_release() -> bool {
    let path = binary().to_string_lossy();
    path.contains("/release/")
}

/// A running `stunner run --output json`, on loopback and with HTTP servers on free ports.
#[derive(Debug)]
pub struct Stunner {
    process: Process,
    health: String,
    metrics: String,
    admin: String,
    console: String,
}

impl Stunner {
    /// Starts it and waits until it is ready.
    #[track_caller]
    pub fn run(paths: &[&Path], flags: &[&str]) -> Self {
        let stunner = Self::start(paths, flags);
        stunner.wait_event("ready");
        stunner
    }

    /// Starts it and waits for nothing.
    #[track_caller]
    pub fn start(paths: &[&Path], flags: &[&str]) -> Self {
        Self::start_with(
            paths,
            flags,
            &[("--address", "127.0.0.1"), ("--output", "json")],
        )
    }

    #[track_caller]
    pub fn start_with(paths: &[&Path], flags: &[&str], more: &[(&str, &str)]) -> Self {
        let [health, metrics, admin, console] =
            std::array::from_fn(|_| format!("127.0.0.1:{}", free_port()));
        let mut command = Command::new(binary());
        command.arg("run").args(paths);
        for (flag, value) in more {
            command.args([flag, value]);
        }
        // What the test says comes last and wins.
        command.args(["--health-address", &health]);
        command.args(["--metrics-address", &metrics]);
        command.args(["--admin-address", &admin]);
        command.args(["--console-address", &console]);
        command.args(flags);
        let process = Process::start("stunner", command).expect("start stunner");
        Stunner {
            process,
            health,
            metrics,
            admin,
            console,
        }
    }

    pub fn lines(&self) -> Vec<String> {
        self.process.log()
    }

    /// The events so far, in order.
    pub fn events(&self) -> Vec<Value> {
        let lines = self.process.log().into_iter();
        let events = lines.filter(|line| line.starts_with("{\"event\""));
        events
            .map(|line| {
                serde_json::from_str(&line)
                    .unwrap_or_else(|error| panic!("not JSON ({error}): {line}"))
            })
            .collect()
    }

    /// Waits for an event of a name, the first there is.
    #[track_caller]
    pub fn wait_event(&self, name: &str) -> Value {
        self.wait_for(&format!("an event `{name}`"), |event| {
            event["event"] == name
        })
    }

    /// Waits for an event that fits, the first there is.
    #[track_caller]
    pub fn wait_for(&self, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        let mut found = None;
        let came = wait_until(PATIENCE, || {
            found = self.events().into_iter().find(|event| fits(event));
            found.is_some()
        });
        assert!(came, "no {what}");
        found.unwrap_or_default()
    }

    /// Waits for an event that fits, beyond the first so many.
    #[track_caller]
    pub fn wait_after(&self, seen: usize, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        let mut found = None;
        let came = wait_until(PATIENCE, || {
            let mut events = self.events().into_iter().skip(seen);
            found = events.find(|event| fits(event));
            found.is_some()
        });
        assert!(came, "no {what}");
        found.unwrap_or_default()
    }

    pub fn health(&self, path: &str) -> std::io::Result<Answer> {
        http::get(&self.health, path)
    }

    pub fn metrics(&self) -> String {
        http::get(&self.metrics, "/metrics").expect("metrics").body
    }

    pub fn admin_address(&self) -> &str {
        &self.admin
    }

    pub fn admin(&self, path: &str) -> Value {
        http::get(&self.admin, path).expect("admin API").json()
    }

    pub fn console_address(&self) -> &str {
        &self.console
    }

    pub fn console(&self, path: &str) -> std::io::Result<Answer> {
        http::get(&self.console, path)
    }

    pub fn state(&self) -> Value {
        self.console("/api/v1/state").expect("console").json()
    }

    pub fn signal(&self, signal: i32) {
        self.process.signal(signal);
    }

    pub fn wait_end(&mut self, patience: Duration) -> Option<ExitStatus> {
        self.process.wait_end(patience)
    }

    pub fn process(&self) -> &Process {
        &self.process
    }
}

/// A UDP client with the credentials of the manifests.
#[track_caller]
pub fn client(port: u16) -> TurnClient {
    client_over(Transport::Udp, port)
}

#[track_caller]
pub fn client_over(transport: Transport, port: u16) -> TurnClient {
    let server = SocketAddr::from(([127, 0, 0, 1], port));
    let credentials = Credentials::new(USER, PASSWORD);
    TurnClient::connect(transport, server, "").with_credentials(credentials)
}

/// Runs `stunner` with arguments to its end: code and everything it printed.
pub fn run_to_end<T: AsRef<OsStr>>(
    arguments: &[T],
    folder: Option<&Path>,
) -> (Option<i32>, String) {
    let mut command = Command::new(binary());
    command.args(arguments);
    if let Some(folder) = folder {
        command.current_dir(folder);
    }
    let finished = interop_tests::process::run("stunner", command, PATIENCE);
    (finished.code(), finished.output)
}
