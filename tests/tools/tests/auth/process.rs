//! `authd` as a process.

use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::Duration;

use interop_tests::binary::find;
use interop_tests::http::{self, Answer};
use interop_tests::ports::free_port;
use interop_tests::process::{Finished, Process, run, wait_until};

pub const PATIENCE: Duration = Duration::from_secs(20);

fn binary() -> &'static Path {
    find("AUTHD_BIN", "stunner-auth", "authd")
}

/// A command without anything from the environment of the test that would lead to a cluster.
fn command() -> Command {
    let mut command = Command::new(binary());
    command
        .env_remove("KUBECONFIG")
        .env_remove("KUBERNETES_SERVICE_HOST")
        .env("HOME", "/nonexistent");
    command
}

/// Runs it to its end.
pub fn run_to_end(arguments: &[&str]) -> Finished {
    let mut command = command();
    command.args(arguments);
    run("authd", command, PATIENCE)
}

pub struct Authd {
    process: Process,
    address: String,
}

impl Authd {
    /// Starts it on a free port and waits until it listens.
    pub fn start(arguments: &[&str]) -> Authd {
        Authd::start_in(arguments, &[])
    }

    pub fn start_in(arguments: &[&str], env: &[(&str, &str)]) -> Authd {
        let port = free_port();
        let mut command = command();
        command
            .args(["--address", "127.0.0.1", "--port", &port.to_string()])
            .args(arguments)
            .envs(env.iter().copied());
        let process = Process::start("authd", command).expect("start authd");
        let authd = Authd {
            process,
            address: format!("127.0.0.1:{port}"),
        };
        let alive = wait_until(PATIENCE, || {
            http::get(&authd.address, "/healthz").is_ok_and(|answer| answer.status == 200)
        });
        assert!(alive, "authd does not listen");
        authd
    }

    pub fn address(&self) -> &str {
        &self.address
    }

    pub fn get(&self, path: &str) -> Answer {
        http::get(&self.address, path).expect("an answer")
    }

    pub fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
        let host = [("Host", self.address.as_str())];
        let headers: Vec<_> = host.iter().chain(headers).copied().collect();
        http::send(method, &self.address, path, &headers, None, PATIENCE).expect("an answer")
    }

    /// The URLs of all gateways, in order; empty where there are none.
    pub fn urls(&self) -> Vec<String> {
        let answer = self.get("/ice?service=turn");
        if answer.status != 200 {
            return Vec::new();
        }
        let body = answer.json();
        let servers = body["iceServers"].as_array().expect("servers");
        let urls = servers
            .iter()
            .flat_map(|server| server["urls"].as_array().expect("urls"));
        urls.map(|url| url.as_str().expect("a text").to_owned())
            .collect()
    }

    #[track_caller]
    pub fn wait_for_urls(&self, expected: &[&str]) {
        let came = wait_until(PATIENCE, || self.urls() == expected);
        assert!(came, "{:?} instead of {expected:?}", self.urls());
    }

    #[track_caller]
    pub fn wait_for_log(&self, text: &str) {
        assert!(
            self.process.wait_log(text, PATIENCE),
            "no `{text}` in {:?}",
            self.process.log()
        );
    }

    pub fn log(&self) -> String {
        self.process.log().join("\n")
    }

    pub fn ask_to_end(&self) {
        self.process.signal(libc::SIGTERM);
    }

    /// Waits for its end.
    pub fn end(mut self) -> ExitStatus {
        self.process.wait_end(PATIENCE).expect("an end")
    }

    pub fn terminate(self) -> ExitStatus {
        self.ask_to_end();
        self.end()
    }
}

/// A configuration with a UDP listener at an address.
pub fn config(name: &str, address: &str) -> String {
    serde_json::json!({
        "version": "v1",
        "admin": {"name": name},
        "auth": {"type": "static", "credentials": {"username": "user", "password": "pass"}},
        "listeners": [{"name": format!("{name}/udp"), "protocol": "TURN-UDP", "public_address": address, "port": 3478}],
    })
    .to_string()
}

pub fn url(address: &str) -> String {
    format!("turn:{address}:3478?transport=udp")
}
