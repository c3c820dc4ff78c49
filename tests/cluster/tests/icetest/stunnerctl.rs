//! The program under test.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use cluster_tests::{Cluster, Objects, User, eventually, kinds};
use interop_tests::binary::find;
use interop_tests::process::Process;
use serde_json::Value;

/// Of the namespace and of all outside of it.
pub const NAME: &str = "icetest";

fn binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| find("STUNNERCTL_BIN", "stunnerctl", "stunnerctl"))
}

fn command(cluster: &Cluster, arguments: &[&str]) -> Command {
    let mut command = Command::new(binary());
    command
        .args(["icetest", "--duration", "1s", "-o", "json"])
        .arg("--kubeconfig")
        .arg(cluster.kubeconfig(User::Admin))
        .args(arguments)
        .stdin(Stdio::null());
    command
}

/// What it said and how it ended.
#[derive(Debug)]
pub struct Told {
    pub code: Option<i32>,
    pub data: String,
    pub notes: String,
}

impl Told {
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.data).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }
}

/// Runs it to its end.
pub async fn icetest(cluster: &Cluster, arguments: &[&str]) -> Told {
    let mut command = command(cluster, arguments);
    let run = tokio::task::spawn_blocking(move || command.output());
    let ended = run.await.expect("a thread").expect("run stunnerctl");
    let Output {
        status,
        stdout,
        stderr,
    } = ended;
    Told {
        code: status.code(),
        data: String::from_utf8_lossy(&stdout).into_owned(),
        notes: String::from_utf8_lossy(&stderr).into_owned(),
    }
}

/// Starts it.
pub fn start(cluster: &Cluster, arguments: &[&str]) -> Process {
    Process::start("stunnerctl", command(cluster, arguments)).expect("start stunnerctl")
}

/// Waits until nothing is left of a test. Kubernetes takes its time to empty a namespace.
pub async fn nothing_is_left(objects: &Objects) {
    eventually("nothing is left", async || {
        for kind in [kinds::NAMESPACE, kinds::GATEWAY_CLASS, kinds::DATAPLANE] {
            if let Some(left) = objects.find(kind, "", NAME).await {
                return Err(format!("{} {NAME}: {}", kind.name, left["status"]));
            }
        }
        Ok(())
    })
    .await;
}
