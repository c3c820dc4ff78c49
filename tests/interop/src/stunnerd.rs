//! The server under test: starting it, changing its config, asking it.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::Duration;

use tempfile::TempDir;

use crate::binary::find;
use crate::config::Config;
use crate::http::{self, Answer};
use crate::ports::free_port;
use crate::process::{Finished, Process, run, wait_until};

/// Generous, because CI machines start it while they compile something else.
const START_PATIENCE: Duration = Duration::from_secs(20);

/// The binary: `STUNNERD_BIN`, else built with cargo in the profile of the test itself.
pub fn binary() -> &'static Path {
    find("STUNNERD_BIN", "stunner-dataplane", "stunnerd")
}

/// How to start it; the defaults suit most tests.
#[derive(Debug, Clone)]
pub struct Options {
    /// Flags after the harness's own.
    pub flags: Vec<String>,
    pub env: Vec<(String, String)>,
    pub watch: bool,
    /// Wait for `/ready` before `start` returns.
    pub wait_ready: bool,
    /// A prefix such as `ip netns exec NAME`.
    pub wrapper: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            flags: Vec::new(),
            env: Vec::new(),
            watch: true,
            wait_ready: true,
            wrapper: Vec::new(),
        }
    }
}

impl Options {
    pub fn with(flags: &[&str]) -> Self {
        Self {
            flags: flags.iter().map(|flag| (*flag).to_owned()).collect(),
            ..Self::default()
        }
    }
}

/// A running `stunnerd` whose config is a file in a folder of its own.
#[derive(Debug)]
pub struct Stunnerd {
    process: Process,
    dir: TempDir,
    config: Config,
    admin: String,
}

impl Stunnerd {
    pub fn start(config: &Config) -> Self {
        Self::start_with(config, &Options::default())
    }

    pub fn start_with(config: &Config, options: &Options) -> Self {
        let dir = TempDir::with_prefix("stunnerd-test-").expect("temporary folder");
        let file = dir.path().join("stunnerd.conf");
        std::fs::write(&file, config.text()).expect("write config");
        let admin = format!("127.0.0.1:{}", free_port());
        let mut command = command(&options.wrapper);
        command
            .arg("--config")
            .arg(&file)
            .args(["--admin-address", &admin])
            .args(&options.flags);
        command.envs(options.env.iter().cloned());
        if options.watch {
            command.arg("--watch");
        }
        let process = Process::start("stunnerd", command).expect("start stunnerd");
        let mut server = Self {
            process,
            dir,
            config: config.clone(),
            admin,
        };
        if options.wait_ready {
            server.expect_ready();
        }
        server
    }

    fn expect_ready(&mut self) {
        let mut ended = None;
        let ready = wait_until(START_PATIENCE, || {
            ended = self.process.ended();
            ended.is_some() || self.ready_status() == Some(200)
        });
        if let Some(status) = ended {
            panic!("stunnerd ended while starting: {status}");
        }
        assert!(ready, "stunnerd is not ready after {START_PATIENCE:?}");
    }

    pub fn config(&self) -> &Config {
        &self.config
    }

    pub fn config_file(&self) -> PathBuf {
        self.dir.path().join("stunnerd.conf")
    }

    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub fn admin_address(&self) -> &str {
        &self.admin
    }

    /// Replaces the config file by renaming a new one over it, and returns at once.
    pub fn write_config(&mut self, config: &Config) {
        let next = self.dir.path().join("next.conf");
        std::fs::write(&next, config.text()).expect("write config");
        std::fs::rename(&next, self.config_file()).expect("rename config");
        self.config = config.clone();
    }

    /// Replaces the config and waits until `/status` shows it: `admin.name` is made unique as a marker.
    pub fn apply(&mut self, config: &Config) {
        static SERIAL: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
        let serial = SERIAL.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let mut marked = config.clone();
        let marker = format!("interop/gateway-{serial}");
        marked.0["admin"]["name"] = marker.clone().into();
        self.write_config(&marked);
        let applied = wait_until(START_PATIENCE, || {
            self.status()
                .is_some_and(|status| status["admin"]["name"] == marker.as_str())
        });
        assert!(
            applied,
            "the config was not applied within {START_PATIENCE:?}"
        );
    }

    pub fn health(&self, path: &str) -> std::io::Result<Answer> {
        let (host, _) = self
            .config
            .endpoint("healthcheck_endpoint")
            .expect("a health endpoint");
        http::get(&host, path)
    }

    pub fn ready_status(&self) -> Option<u16> {
        self.health("/ready").ok().map(|answer| answer.status)
    }

    pub fn status(&self) -> Option<serde_json::Value> {
        let answer = self.health("/status").ok()?;
        serde_json::from_str(&answer.body).ok()
    }

    pub fn allocation_count(&self) -> Option<u64> {
        self.status()?["allocationCount"].as_u64()
    }

    pub fn metrics(&self) -> String {
        let (host, path) = self
            .config
            .endpoint("metrics_endpoint")
            .expect("a metrics endpoint");
        // A new config may have moved them, and their server opens a moment later than that of health.
        let mut metrics = http::get(&host, &path);
        wait_until(START_PATIENCE, || {
            if metrics.is_err() {
                metrics = http::get(&host, &path);
            }
            metrics.is_ok()
        });
        metrics.expect("metrics").body
    }

    /// The sum of all samples of `family` whose label text contains each of `labels`.
    pub fn metric(&self, family: &str, labels: &[&str]) -> f64 {
        sum_metric(&self.metrics(), family, labels)
    }

    /// Waits until the server has refused so many configs since it started, so that what they did not do can be seen.
    #[track_caller]
    pub fn expect_rejected(&self, count: f64) {
        let family = "stunner_config_reconciles_total";
        let rejected = || self.metric(family, &["rejected"]);
        let refused = wait_until(START_PATIENCE, || rejected() >= count);
        assert!(refused, "{} of {count} configs were refused", rejected());
    }

    pub fn terminate(&self) {
        self.process.signal(libc::SIGTERM);
    }

    pub fn interrupt(&self) {
        self.process.signal(libc::SIGINT);
    }

    pub fn is_running(&mut self) -> bool {
        self.process.ended().is_none()
    }

    pub fn wait_end(&mut self, patience: Duration) -> Option<ExitStatus> {
        self.process.wait_end(patience)
    }

    pub fn process(&self) -> &Process {
        &self.process
    }
}

/// Sums samples of one metric family in the text format.
pub fn sum_metric(text: &str, family: &str, labels: &[&str]) -> f64 {
    let samples = text.lines().filter(|line| !line.starts_with('#'));
    samples
        .filter_map(|line| {
            let (series, value) = line.rsplit_once(' ')?;
            let name = series.split('{').next()?;
            (name == family && labels.iter().all(|label| series.contains(label)))
                .then(|| value.parse::<f64>().ok())?
        })
        .sum()
}

fn command(wrapper: &[String]) -> Command {
    match wrapper.split_first() {
        None => Command::new(binary()),
        Some((program, rest)) => {
            let mut command = Command::new(program);
            command.args(rest).arg(binary());
            command
        }
    }
}

/// Runs `stunnerd` with `arguments` to its end; for tests of the command line.
pub fn run_to_end(arguments: &[&str], patience: Duration) -> Finished {
    let mut command = Command::new(binary());
    command.args(arguments);
    run("stunnerd", command, patience)
}
