//! etcd, kube-apiserver and, where a test needs it, kube-controller-manager.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::Mutex;
use std::time::Duration;

use interop_tests::ports::free_port;
use interop_tests::process::Process;
use interop_tests::rounds::{Round, Took};
use interop_tests::skip::Missing;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

use crate::audit::{self, Mark, Write};
use crate::binaries;
use crate::crds::{self, GatewayApi};
use crate::credentials;
use crate::eventually::{PATIENCE, eventually_within};
use crate::objects::Objects;
use crate::scratch::Scratch;

/// Several clusters may start at once on a machine that also compiles.
const START_PATIENCE: Duration = Duration::from_secs(90);

/// How many times as long a calm may become where the machine is busy.
const LONGEST_CALM: u32 = 5;

/// Whose rights a client of the API server has; each is its own name in the audit log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum User {
    /// The tests.
    Admin,
    /// The operator, with all rights.
    Operator,
    /// The operator's ServiceAccount, with the rights that the installed roles give it.
    Installed,
}

impl User {
    pub const ALL: [Self; 3] = [Self::Admin, Self::Operator, Self::Installed];

    fn key(self) -> &'static str {
        match self {
            Self::Admin => "admin",
            Self::Operator => "operator",
            Self::Installed => "installed",
        }
    }

    /// The name that the API server knows it by.
    pub fn name(self) -> &'static str {
        match self {
            Self::Admin => "admin",
            Self::Operator => "operator",
            Self::Installed => {
                "system:serviceaccount:stunner-system:stunner-gateway-operator-controller-manager"
            }
        }
    }
}

/// A control plane of its own. Dropping it ends its processes; so does the end of the thread that started it.
#[derive(Debug)]
pub struct Cluster {
    // Dropped in this order: clients before servers, processes before their folder.
    controller_manager: Mutex<Option<Process>>,
    apiserver: Mutex<Option<Process>>,
    _etcd: Process,
    etcd_port: u16,
    api_port: u16,
    audit: audit::Log,
    url: String,
    programs: PathBuf,
    scratch: Scratch,
}

impl Cluster {
    /// Starts etcd and kube-apiserver, installs the CRDs of `api` and ours, and makes the operator's namespace.
    pub async fn start(api: GatewayApi) -> Result<Self, Missing> {
        let cluster = Self::start_empty().await?;
        cluster.install(api).await;
        Ok(cluster)
    }

    /// The same without any CRDs.
    pub async fn start_empty() -> Result<Self, Missing> {
        let programs = binaries::folder()?.to_owned();
        let _ = rustls::crypto::ring::default_provider().install_default();
        let scratch = Scratch::new();
        let dir = scratch.path();
        credentials::write_all(dir);
        credentials::write(dir, "audit-policy.yaml", audit::POLICY);

        let (client_port, peer_port, api_port) = (free_port(), free_port(), free_port());
        let etcd = start("etcd", etcd(&programs, dir, client_port, peer_port), dir);
        let audit = audit::Log::new(dir);
        let url = format!("https://127.0.0.1:{api_port}");
        for user in User::ALL {
            credentials::write(dir, &kubeconfig_name(user), &kubeconfig(&url, user));
        }
        let cluster = Self {
            controller_manager: Mutex::new(None),
            apiserver: Mutex::new(None),
            _etcd: etcd,
            etcd_port: client_port,
            api_port,
            audit,
            url,
            programs,
            scratch,
        };
        cluster.start_apiserver().await;
        let namespace = "{ apiVersion: v1, kind: Namespace, metadata: { name: stunner-system } }";
        cluster.objects().await.apply(namespace).await;
        Ok(cluster)
    }

    /// Installs CRDs into a cluster that [`Self::start_empty`] gave.
    pub async fn install(&self, api: GatewayApi) {
        crds::install(&self.objects().await, &self.programs, api).await;
    }

    /// A cluster that the tests of this binary share.
    pub fn shared(api: GatewayApi) -> Result<&'static Self, Missing> {
        crate::shared::shared(api)
    }

    /// Starts kube-apiserver, again after [`Self::kill_apiserver`], and waits until it is ready.
    pub async fn start_apiserver(&self) {
        let dir = self.scratch.path();
        let (etcd, port) = (self.etcd_port, self.api_port);
        let command = apiserver(&self.programs, dir, etcd, port, &self.audit);
        let process = start("kube-apiserver", command, dir);
        *self.apiserver.lock().expect("lock") = Some(process);
        let client = self.client(User::Admin).await;
        eventually_within(START_PATIENCE, "kube-apiserver is ready", async || {
            if let Some(status) = self.apiserver_ended() {
                panic!("kube-apiserver ended: {status}; see {}", dir.display());
            }
            let request = http_get("/readyz");
            let answer = client.request_text(request).await;
            answer.map_err(|error| error.to_string())
        })
        .await;
    }

    fn apiserver_ended(&self) -> Option<ExitStatus> {
        let mut running = self.apiserver.lock().expect("lock");
        running.as_mut().and_then(Process::ended)
    }

    /// An outage: connections break and new ones are refused until [`Self::start_apiserver`].
    pub fn kill_apiserver(&self) {
        drop(self.apiserver.lock().expect("lock").take());
    }

    /// SIGSTOP and, later, SIGCONT: connections stay open, and nobody answers.
    pub fn signal_apiserver(&self, signal: libc::c_int) {
        let running = self.apiserver.lock().expect("lock");
        running.as_ref().expect("it runs").signal(signal);
    }

    /// Starts kube-controller-manager, for garbage collection, default ServiceAccounts and Deployment rollout.
    pub async fn with_controller_manager(self) -> Self {
        let mut command = Command::new(self.programs.join("kube-controller-manager"));
        let dir = self.scratch.path();
        command
            .arg("--kubeconfig")
            .arg(self.kubeconfig(User::Admin))
            .arg("--service-account-private-key-file")
            .arg(dir.join("service-account.key"))
            .arg("--root-ca-file")
            .arg(dir.join("ca.pem"))
            .args([
                "--leader-elect=false",
                "--use-service-account-credentials=false",
            ])
            .args(["--secure-port", &free_port().to_string()])
            .args(["--bind-address", "127.0.0.1"])
            .args(["--concurrent-gc-syncs", "4"]);
        *self.controller_manager.lock().expect("lock") =
            Some(start("kube-controller-manager", command, dir));
        self
    }

    /// A new client; each test needs its own, as a client lives in the runtime that made it.
    pub async fn client(&self, user: User) -> Client {
        let file = Kubeconfig::read_from(self.kubeconfig(user)).expect("kubeconfig");
        let options = KubeConfigOptions::default();
        let mut config = Config::from_custom_kubeconfig(file, &options)
            .await
            .expect("client configuration");
        config.read_timeout = Some(Duration::from_secs(60));
        Client::try_from(config).expect("client")
    }

    pub async fn objects(&self) -> Objects {
        Objects::new(self.client(User::Admin).await)
    }

    /// A kubeconfig file for programs.
    pub fn kubeconfig(&self, user: User) -> PathBuf {
        self.scratch.path().join(kubeconfig_name(user))
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// The folder with `kubectl` and the other programs.
    pub fn programs(&self) -> &Path {
        &self.programs
    }

    /// A folder that goes with the cluster.
    pub fn folder(&self) -> &Path {
        self.scratch.path()
    }

    pub fn mark(&self) -> Mark {
        self.audit.mark()
    }

    /// Every write that was answered since `mark`.
    pub fn writes_since(&self, mark: Mark) -> Vec<Write> {
        self.audit.since(mark)
    }

    /// Lists and reads of Secrets.
    pub fn secret_reads_since(&self, mark: Mark) -> Vec<Write> {
        self.audit.secret_reads_since(mark)
    }

    /// Those of the operator to the objects of users: its Lease and its Events are not among them.
    pub fn operator_writes_since(&self, mark: Mark) -> Vec<Write> {
        let operators = [User::Operator.name(), User::Installed.name()];
        let mut writes = self.audit.since(mark);
        writes.retain(|write| {
            let resource = write.resource.as_str();
            // Reviews are questions in the form of a write.
            let aside = ["leases", "events"].contains(&resource) || resource.ends_with("reviews");
            operators.contains(&write.user.as_str()) && !aside
        });
        writes
    }

    /// Waits until the operator has written nothing for `calm`; how many writes that took. On a busy machine, where
    /// everything takes longer, so does the calm.
    pub async fn operator_is_calm(&self, calm: Duration) -> usize {
        let patience = PATIENCE + calm * LONGEST_CALM;
        self.operator_is_calm_within(patience, calm).await
    }

    /// The same where there is very much to write.
    pub async fn operator_is_calm_within(&self, patience: Duration, calm: Duration) -> usize {
        let start = self.mark();
        eventually_within(patience, "the operator stops writing", async || {
            let mark = self.mark();
            let round = Round::begin();
            let is_over = |took: Took| {
                let quiet = took.undisturbed().unwrap_or(took.time);
                quiet >= calm || took.time >= calm * LONGEST_CALM
            };
            while !is_over(round.end()) {
                tokio::time::sleep(calm / 5).await;
            }
            match self.operator_writes_since(mark).last() {
                None => Ok(self.operator_writes_since(start).len()),
                Some(write) => Err(write.to_string()),
            }
        })
        .await
    }
}

fn http_get(path: &str) -> http::Request<Vec<u8>> {
    http::Request::get(path).body(Vec::new()).expect("request")
}

/// Starts a component with its log in `NAME.log` of the cluster's folder; on the terminal it would hide the operator's.
fn start(name: &str, command: Command, dir: &Path) -> Process {
    let mut logged = Command::new("sh");
    logged
        .args(["-c", r#"log="$1"; shift; exec "$@" >"$log" 2>&1"#, name])
        .arg(dir.join(format!("{name}.log")))
        .arg(command.get_program())
        .args(command.get_args());
    Process::start(name, logged).unwrap_or_else(|error| panic!("cannot start {name}: {error}"))
}

fn etcd(programs: &Path, dir: &Path, client: u16, peer: u16) -> Command {
    let mut command = Command::new(programs.join("etcd"));
    let (client, peer) = (
        format!("http://127.0.0.1:{client}"),
        format!("http://127.0.0.1:{peer}"),
    );
    command
        .arg("--data-dir")
        .arg(dir.join("etcd"))
        // Nothing here has to survive a power failure.
        .arg("--unsafe-no-fsync")
        .args(["--log-level", "warn"])
        .args([
            "--listen-client-urls",
            &client,
            "--advertise-client-urls",
            &client,
        ])
        .args([
            "--listen-peer-urls",
            &peer,
            "--initial-advertise-peer-urls",
            &peer,
        ])
        .args(["--initial-cluster", &format!("default={peer}")]);
    command
}

fn apiserver(programs: &Path, dir: &Path, etcd: u16, port: u16, audit: &audit::Log) -> Command {
    let mut command = Command::new(programs.join("kube-apiserver"));
    command
        .args(["--etcd-servers", &format!("http://127.0.0.1:{etcd}")])
        .args(["--bind-address", "127.0.0.1"])
        // Endpoints of the Service `kubernetes` must not be loopback addresses, and nobody here uses it.
        .args(["--endpoint-reconciler-type", "none"])
        .args(["--secure-port", &port.to_string()])
        .arg("--tls-cert-file")
        .arg(dir.join("server.crt"))
        .arg("--tls-private-key-file")
        .arg(dir.join("server.key"))
        .arg("--cert-dir")
        .arg(dir)
        .arg("--token-auth-file")
        .arg(dir.join("tokens.csv"))
        .args(["--authorization-mode", "RBAC"])
        .args(["--service-account-issuer", "https://kubernetes.default.svc"])
        .arg("--service-account-key-file")
        .arg(dir.join("service-account.pub"))
        .arg("--service-account-signing-key-file")
        .arg(dir.join("service-account.key"))
        .args(["--service-cluster-ip-range", "10.96.0.0/16"])
        .args(["--service-node-port-range", "30000-32767"])
        // Without kube-controller-manager nobody makes the default ServiceAccounts.
        .args(["--disable-admission-plugins", "ServiceAccount"])
        .arg("--audit-policy-file")
        .arg(dir.join("audit-policy.yaml"))
        .arg("--audit-log-path")
        .arg(audit.path())
        // Each file of the log would start at a new offset; see `audit::Mark`.
        .args(["--audit-log-maxsize", "10000"])
        .args(["--shutdown-delay-duration", "0s"]);
    command
}

fn kubeconfig_name(user: User) -> String {
    format!("{}.kubeconfig", user.key())
}

fn kubeconfig(url: &str, user: User) -> String {
    let user = user.key();
    format!(
        "\
apiVersion: v1
kind: Config
clusters:
- name: test
  cluster: {{ server: '{url}', certificate-authority: ca.pem }}
users:
- name: {user}
  user: {{ token: {user}-token }}
contexts:
- name: test
  context: {{ cluster: test, user: {user} }}
current-context: test
"
    )
}
