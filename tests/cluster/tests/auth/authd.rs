//! `authd` as a process.

use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::Duration;

use cluster_tests::eventually;
use interop_tests::binary::find;
use interop_tests::http::{self, Answer};
use interop_tests::ports::free_port;
use interop_tests::process::Process;
use serde_json::Value;

const PATIENCE: Duration = Duration::from_secs(40);

pub struct Authd {
    process: Process,
    port: u16,
}

impl Authd {
    /// Starts it at a free port of loopback, and does not wait.
    pub fn launch(arguments: &[String]) -> Authd {
        let port = free_port();
        let binary: &Path = find("AUTHD_BIN", "stunner-auth", "authd");
        let mut command = Command::new(binary);
        command
            .args(arguments)
            .args(["--address=127.0.0.1", &format!("--port={port}")])
            .env_remove("KUBECONFIG")
            .env_remove("KUBERNETES_SERVICE_HOST")
            .env("HOME", "/nonexistent");
        Authd {
            process: Process::start("authd", command).expect("start authd"),
            port,
        }
    }

    /// Starts it and waits until it listens.
    pub async fn start(arguments: &[String]) -> Authd {
        let authd = Authd::launch(arguments);
        authd.answers("/healthz", 200).await;
        authd
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Waits until a path has this status.
    pub async fn answers(&self, path: &str, status: u16) {
        eventually(&format!("{status} from {path}"), async || {
            let answer = self.get(path)?;
            match answer.status == status {
                true => Ok(()),
                false => Err(format!("{}: {}", answer.status, answer.body)),
            }
        })
        .await;
    }

    pub fn get(&self, path: &str) -> Result<Answer, String> {
        self.ask(path, None)
    }

    /// Asks as the holder of a token.
    pub fn ask(&self, path: &str, token: Option<&str>) -> Result<Answer, String> {
        let address = format!("127.0.0.1:{}", self.port);
        let bearer = token.map(|token| format!("Bearer {token}"));
        let mut headers = vec![("Host", address.as_str())];
        headers.extend(bearer.as_deref().map(|bearer| ("Authorization", bearer)));
        http::send("GET", &address, path, &headers, None, PATIENCE)
            .map_err(|error| error.to_string())
    }

    /// Where it says that gateways are, in its order.
    pub fn urls(&self) -> Result<Vec<String>, String> {
        let answer = self.get("/ice?service=turn")?;
        if answer.status != 200 {
            return Err(format!("{}: {}", answer.status, answer.body));
        }
        let servers = answer.json()["iceServers"].clone();
        let urls = servers.as_array().into_iter().flatten();
        let urls = urls
            .filter_map(|server| server["urls"].as_array())
            .flatten();
        Ok(urls.filter_map(Value::as_str).map(str::to_owned).collect())
    }

    /// Waits until it tells exactly these.
    pub async fn tells(&self, urls: &[&str]) {
        eventually(&format!("{urls:?}"), async || {
            let told = self.urls()?;
            match told == urls {
                true => Ok(()),
                false => Err(format!("{told:?}")),
            }
        })
        .await;
    }

    pub fn log(&self) -> String {
        self.process.log().join("\n")
    }

    /// Whether a line of its log says this, or does so before long: an answer may overtake what is logged about it.
    pub fn says(&self, text: &str) -> bool {
        self.process.wait_log(text, PATIENCE)
    }

    pub fn wait_end(&mut self) -> ExitStatus {
        let ended = self.process.wait_end(PATIENCE);
        ended.expect("the end of authd")
    }

    pub fn stop(mut self) -> ExitStatus {
        self.process.signal(libc::SIGTERM);
        self.wait_end()
    }
}
