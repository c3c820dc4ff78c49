//! The operator as a process.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::Duration;

use interop_tests::binary::find;
use interop_tests::ports::free_port;
use interop_tests::process::Process;
use interop_tests::rounds::Round;

use crate::cds::Cds;
use crate::cluster::{Cluster, User};
use crate::console::Console;
use crate::eventually::eventually;

/// `SIGTERM` ends the operator within this time, beside what a busy machine adds.
const STOP_PATIENCE: Duration = Duration::from_secs(10);
/// Nobody waits longer for it.
const STOP_DEADLINE: Duration = Duration::from_secs(40);

/// How to start an operator.
#[derive(Debug, Clone)]
pub struct OperatorOptions {
    pub controller_name: String,
    pub user: User,
    /// Flags beside those for the cluster and the ports; a later one wins.
    pub args: Vec<String>,
    pub env: Vec<(String, String)>,
}

impl OperatorOptions {
    pub fn new(controller_name: &str) -> Self {
        Self {
            controller_name: controller_name.to_owned(),
            user: User::Operator,
            args: Vec::new(),
            env: Vec::new(),
        }
    }

    pub fn arg(mut self, arg: &str) -> Self {
        self.args.push(arg.to_owned());
        self
    }

    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn user(mut self, user: User) -> Self {
        self.user = user;
        self
    }
}

/// A running operator; killed when dropped, and its log is shown when the test fails.
#[derive(Debug)]
pub struct Operator {
    process: Process,
    options: OperatorOptions,
    kubeconfig: PathBuf,
    ports: Ports,
}

#[derive(Debug, Clone, Copy)]
struct Ports {
    cds: u16,
    cds_tls: u16,
    health: u16,
    metrics: u16,
    console: u16,
}

impl Operator {
    /// Starts it and waits until it is ready.
    pub async fn start(cluster: &Cluster, options: OperatorOptions) -> Self {
        let mut operator = Self::launch(cluster, options);
        operator.ready().await;
        operator
    }

    /// Starts it and does not wait.
    pub fn launch(cluster: &Cluster, options: OperatorOptions) -> Self {
        let ports = Ports {
            cds: free_port(),
            cds_tls: free_port(),
            health: free_port(),
            metrics: free_port(),
            console: free_port(),
        };
        let kubeconfig = cluster.kubeconfig(options.user);
        let process = launch(&options, &kubeconfig, ports);
        Self {
            process,
            options,
            kubeconfig,
            ports,
        }
    }

    /// Waits for `/readyz`: caches complete, config discovery up.
    pub async fn ready(&mut self) {
        let host = format!("127.0.0.1:{}", self.ports.health);
        let process = std::sync::Mutex::new(&mut self.process);
        eventually("the operator is ready", async || {
            if let Some(status) = process.lock().expect("lock").ended() {
                panic!("the operator ended: {status}");
            }
            let answer = interop_tests::http::get(&host, "/readyz").map_err(|e| e.to_string())?;
            match answer.status {
                200 => Ok(()),
                status => Err(format!("{status}: {}", answer.body)),
            }
        })
        .await;
    }

    /// Starts it again with the same flags and ports; it must have ended.
    pub async fn restart(&mut self) {
        self.relaunch();
        self.ready().await;
    }

    pub fn relaunch(&mut self) {
        assert!(self.process.ended().is_some(), "the operator still runs");
        self.process = launch(&self.options, &self.kubeconfig, self.ports);
    }

    pub fn options(&mut self) -> &mut OperatorOptions {
        &mut self.options
    }

    /// SIGTERM, then its end.
    pub fn stop(&mut self) -> ExitStatus {
        let round = Round::begin();
        self.process.signal(libc::SIGTERM);
        let ended = self.process.wait_end(STOP_DEADLINE);
        let took = round.end();
        assert!(
            !took.is_longer_than(STOP_PATIENCE),
            "the operator did not end within {STOP_PATIENCE:?}: {took:?}"
        );
        ended.unwrap_or_else(|| panic!("the operator did not end within {STOP_DEADLINE:?}"))
    }

    /// SIGKILL, as a node failure does.
    pub fn kill(&mut self) {
        self.process.signal(libc::SIGKILL);
        let ended = self.process.wait_end(STOP_DEADLINE);
        assert!(ended.is_some(), "the operator survived SIGKILL");
    }

    /// SIGSTOP and, later, SIGCONT: a machine that hangs for a while.
    pub fn signal(&self, signal: libc::c_int) {
        self.process.signal(signal);
    }

    /// The exit status, if it has ended.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.process.ended()
    }

    pub fn cds(&self) -> Cds {
        Cds::new(self.ports.cds)
    }

    pub fn cds_port(&self) -> u16 {
        self.ports.cds
    }

    pub fn cds_tls_port(&self) -> u16 {
        self.ports.cds_tls
    }

    /// Status and body of a path on the health port.
    pub fn health(&self, path: &str) -> std::io::Result<(u16, String)> {
        get(self.ports.health, path)
    }

    /// The Prometheus page.
    pub fn metrics(&self) -> std::io::Result<String> {
        get(self.ports.metrics, "/metrics").map(|(_, body)| body)
    }

    /// The web console; where it is depends on the flags too.
    pub fn console(&self) -> Console {
        Console::new(self.ports.console)
    }

    pub fn id(&self) -> u32 {
        self.process.id()
    }

    pub fn log(&self) -> Vec<String> {
        self.process.log()
    }
}

fn get(port: u16, path: &str) -> std::io::Result<(u16, String)> {
    let answer = interop_tests::http::get(&format!("127.0.0.1:{port}"), path)?;
    Ok((answer.status, answer.body))
}

fn launch(options: &OperatorOptions, kubeconfig: &Path, ports: Ports) -> Process {
    let mut command = Command::new(binary());
    command
        .arg("--kubeconfig")
        .arg(kubeconfig)
        .arg(format!("--controller-name={}", options.controller_name))
        .arg(address("--config-discovery-address", ports.cds))
        .arg(address("--config-discovery-tls-address", ports.cds_tls))
        .arg(address("--health-probe-bind-address", ports.health))
        .arg(address("--metrics-bind-address", ports.metrics))
        .arg(address("--console-address", ports.console))
        .arg("--throttle-timeout=10ms")
        .args(&options.args)
        .env("POD_NAMESPACE", "stunner-system")
        .envs(options.env.iter().map(|(name, value)| (name, value)));
    Process::start("stunner-gateway-operator", command)
        .unwrap_or_else(|error| panic!("cannot start the operator: {error}"))
}

fn address(flag: &str, port: u16) -> String {
    format!("{flag}=127.0.0.1:{port}")
}

/// The binary: `OPERATOR_BIN`, else built with cargo in the profile of the test itself.
pub fn binary() -> &'static Path {
    find(
        "OPERATOR_BIN",
        "stunner-operator",
        "stunner-gateway-operator",
    )
}
