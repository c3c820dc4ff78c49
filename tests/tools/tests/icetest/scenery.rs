//! A gateway with all transports, an icetester, and the caller.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use interop_tests::binary;
use interop_tests::config::{Config, PASSWORD, Transport, USER};
use interop_tests::ended::{Ended, run_to_end};
use interop_tests::http::{self, Answer};
use interop_tests::pki::TestCa;
use interop_tests::ports::free_port;
use interop_tests::process::Process;
use interop_tests::stunnerd::Stunnerd;
use serde_json::{Value, json};
use tempfile::TempDir;

pub const TOKEN: &str = "token-of-the-test";
pub const PATIENCE: Duration = Duration::from_secs(20);

/// A gateway with a listener of each transport, whose routes admit loopback.
pub struct Gateway {
    pub server: Stunnerd,
    pub ca: TestCa,
    dir: TempDir,
}

impl Gateway {
    pub fn start() -> Self {
        Self::start_with(|_| {})
    }

    pub fn start_with(bend: impl FnOnce(&mut Config)) -> Self {
        let ca = TestCa::new();
        let mut config = Config::standard(&ca.ecdsa("gateway"));
        // The relays' own address is admitted as it stands, so that two of them can talk.
        bend(&mut config);
        Gateway {
            server: Stunnerd::start(&config),
            ca,
            dir: TempDir::with_prefix("icetest-").expect("a folder"),
        }
    }

    pub fn root(&self) -> PathBuf {
        self.ca.write_root(self.dir.path())
    }

    /// A list of ICE servers with all transports, for a password.
    pub fn ice_servers(&self, password: &str) -> String {
        let urls: Vec<String> = Transport::ALL.iter().map(|it| self.url(*it)).collect();
        json!([{ "urls": urls, "username": USER, "credential": password }]).to_string()
    }

    pub fn servers(&self) -> String {
        self.ice_servers(PASSWORD)
    }

    pub fn url(&self, transport: Transport) -> String {
        let scheme = if transport.is_secure() {
            "turns"
        } else {
            "turn"
        };
        let word = if transport.is_stream() { "tcp" } else { "udp" };
        let port = self.server.config().port(transport.name());
        format!("{scheme}:127.0.0.1:{port}?transport={word}")
    }
}

/// A running icetester.
pub struct Icetester {
    pub process: Process,
    pub address: String,
}

impl Icetester {
    pub fn start(env: &[(&str, &str)]) -> Self {
        Self::start_with(&[], env)
    }

    pub fn start_with(flags: &[&str], env: &[(&str, &str)]) -> Self {
        let address = format!("127.0.0.1:{}", free_port());
        let mut command = Command::new(binary::icetester());
        command
            .args(["--addr", &address, "-l", "all:DEBUG"])
            .args(flags);
        command.env("BEARER_TOKEN", TOKEN).envs(env.iter().copied());
        let process = Process::start("icetester", command).expect("start icetester");
        let is_up = process.wait_log("listening at", PATIENCE);
        assert!(is_up, "icetester does not start: {:?}", process.log());
        Icetester { process, address }
    }

    pub fn url(&self) -> String {
        format!("http://{}/whip", self.address)
    }

    pub fn ask(&self, method: &str, path: &str, content_type: &str, body: &str) -> Answer {
        let authorization = format!("Bearer {TOKEN}");
        let headers = [
            ("Host", self.address.as_str()),
            ("Content-Type", content_type),
            ("Authorization", authorization.as_str()),
        ];
        let answer = http::send(method, &self.address, path, &headers, Some(body), PATIENCE);
        answer.expect("an answer")
    }
}

/// The runs as `test transport result`.
#[track_caller]
pub fn runs(told: &Ended) -> Vec<String> {
    let json = told.json();
    let runs = json["runs"].as_array().expect("runs").clone();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let line = |run: &Value| {
        let words = [&run["test"], &run["transport"], &run["result"]];
        words.map(text).join(" ")
    };
    runs.iter().map(line).collect()
}

/// Short calls; what is said beside it wins.
pub fn icetest(arguments: &[&str], env: &[(&str, &str)]) -> Ended {
    let mut command = Command::new(binary::stunnerctl());
    command
        .args(["icetest", "--duration", "1s"])
        .args(arguments)
        .env_remove("KUBECONFIG")
        .envs(env.iter().copied());
    let told = run_to_end(&mut command, "");
    for secret in [PASSWORD, TOKEN] {
        let shown = told.stdout.contains(secret) || told.stderr.contains(secret);
        assert!(!shown, "a secret is shown: {told:#?}");
    }
    told
}
