//! The program under test.

use std::process::Command;

use cluster_tests::{Cluster, Objects, User, eventually, kinds};
use interop_tests::binary;
use interop_tests::ended::{Ended, run_to_end};
use interop_tests::process::Process;

/// Of the namespace and of all outside of it.
pub const NAME: &str = "icetest";

fn command(cluster: &Cluster, arguments: &[&str]) -> Command {
    let mut command = Command::new(binary::stunnerctl());
    command
        .args(["icetest", "--duration", "1s", "-o", "json"])
        .arg("--kubeconfig")
        .arg(cluster.kubeconfig(User::Admin))
        .args(arguments);
    command
}

/// Runs it to its end.
pub async fn icetest(cluster: &Cluster, arguments: &[&str]) -> Ended {
    let mut command = command(cluster, arguments);
    let run = tokio::task::spawn_blocking(move || run_to_end(&mut command, ""));
    run.await.expect("a thread")
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
