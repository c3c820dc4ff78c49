//! What a `stunnerd` is to do, in types.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use stunner_cds::{Origin, OriginError};
use stunner_flags::{Given, UsageError, values};

use super::{flags, serving};

/// How log lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogFormat {
    #[default]
    Text,
    Json,
}

/// Everything that flags and environment say, with defaults filled in.
#[derive(Clone, PartialEq)]
pub struct Options {
    /// Serve this instead of a config from `origin`. Not checked yet; it holds a password.
    pub turn_uri: Option<String>,
    /// Not checked yet: a malformed origin is a problem of loading, not of usage.
    pub origin: String,
    pub watch: bool,
    pub id: String,
    /// Name of the node this pod runs on (`STUNNER_NODENAME`).
    pub node: Option<String>,
    pub config_cache: Option<PathBuf>,
    pub cds_token_file: Option<PathBuf>,
    pub cds_ca_file: Option<PathBuf>,
    pub dry_run: bool,
    /// 0 means as many as CPUs are granted.
    pub udp_thread_num: u32,
    pub relay_port_range: Option<(u16, u16)>,
    pub allow_loopback_peers: bool,
    pub credential_grace: Duration,
    pub max_ephemeral_lifetime: Option<Duration>,
    /// For this and the following two, `None` means no limit.
    pub unauth_rate_limit: Option<u32>,
    pub max_connections_per_source: Option<u32>,
    pub max_handshakes: Option<u32>,
    /// `None` means off.
    pub admin_address: Option<SocketAddr>,
    pub drain_timeout: Duration,
    pub stale_allocation_timeout: Duration,
    pub alternate_server: Option<SocketAddr>,
    pub ready_while_draining: bool,
    pub force_ready_status: bool,
    /// Log levels that override those of the config.
    pub log: Option<String>,
    pub log_format: LogFormat,
    pub cds_server_address: Option<String>,
    pub cds_server_namespace: Option<String>,
    pub cds_server_port: u16,
    pub kubernetes: KubernetesFlags,
    /// Things to warn about once logging works.
    pub warnings: Vec<String>,
}

/// The flags of `kubectl` that say how to reach a cluster; they matter only for the origin `k8s`.
#[derive(Clone, PartialEq, Default)]
pub struct KubernetesFlags {
    pub kubeconfig: Option<PathBuf>,
    pub context: Option<String>,
    pub cluster: Option<String>,
    pub user: Option<String>,
    pub namespace: Option<String>,
    pub server: Option<String>,
    pub token: Option<String>,
    pub impersonate_user: Option<String>,
    pub impersonate_groups: Vec<String>,
    pub impersonate_uid: Option<String>,
    pub impersonate_extra: Vec<String>,
    pub certificate_authority: Option<PathBuf>,
    pub client_certificate: Option<PathBuf>,
    pub client_key: Option<PathBuf>,
    pub insecure_skip_tls_verify: bool,
    pub tls_server_name: Option<String>,
    /// `None` means no deadline.
    pub request_timeout: Option<Duration>,
    pub cache_dir: Option<PathBuf>,
    pub disable_compression: bool,
}

const DEFAULT_ORIGIN: &str = ":13478";

impl Options {
    pub(super) fn from_given(
        given: &Given<'_>,
        turn_uri: Option<String>,
    ) -> Result<Options, UsageError> {
        let mut warnings = Vec::new();
        if turn_uri.is_some() && given.on_command_line(&flags::CONFIG_ORIGIN) {
            warnings.push("--config is ignored, because a TURN URI is given".to_owned());
        }
        Ok(Options {
            turn_uri,
            origin: given
                .text(&flags::CONFIG_ORIGIN)
                .unwrap_or_else(|| DEFAULT_ORIGIN.to_owned()),
            watch: given.switch(&flags::WATCH)?,
            id: given.text(&flags::ID).unwrap_or_else(|| {
                let hostname = stunner_cds::hostname();
                stunner_cds::default_id(&|name| given.variable(name), hostname.as_deref())
            }),
            node: given.variable("STUNNER_NODENAME"),
            config_cache: given.text(&flags::CONFIG_CACHE).map(PathBuf::from),
            cds_token_file: given.text(&flags::CDS_TOKEN_FILE).map(PathBuf::from),
            cds_ca_file: given.text(&flags::CDS_CA_FILE).map(PathBuf::from),
            dry_run: given.switch(&flags::DRY_RUN)?,
            udp_thread_num: serving::udp_thread_num(given)?,
            relay_port_range: given.value(&flags::RELAY_PORT_RANGE, values::port_range)?,
            allow_loopback_peers: given.switch(&flags::ALLOW_LOOPBACK_PEERS)?,
            credential_grace: serving::credential_grace(given)?,
            max_ephemeral_lifetime: serving::max_ephemeral_lifetime(given)?,
            unauth_rate_limit: serving::unauth_rate_limit(given)?,
            max_connections_per_source: serving::max_connections_per_source(given)?,
            max_handshakes: serving::max_handshakes(given)?,
            admin_address: serving::admin_address(given)?,
            drain_timeout: given
                .value(&flags::DRAIN_TIMEOUT, values::duration)?
                .unwrap_or(Duration::from_secs(3600)),
            stale_allocation_timeout: serving::stale_allocation_timeout(given)?,
            alternate_server: given
                .value(&flags::ALTERNATE_SERVER, |text| {
                    values::unless_off(text, values::socket_address)
                })?
                .flatten(),
            ready_while_draining: given.switch(&flags::READY_WHILE_DRAINING)?,
            force_ready_status: given.switch(&flags::FORCE_READY_STATUS)?,
            log: serving::log_spec(given, &flags::LOG)?,
            log_format: log_format(given, &mut warnings),
            cds_server_address: given
                .value(&flags::CDS_SERVER_ADDRESS, |text| {
                    values::unless_off(text, |text| Ok(text.to_owned()))
                })?
                .flatten(),
            cds_server_namespace: given.text(&flags::CDS_SERVER_NAMESPACE),
            cds_server_port: given
                .value(&flags::CDS_SERVER_PORT, values::port)?
                .unwrap_or(stunner_cds::DEFAULT_CDS_PORT),
            kubernetes: KubernetesFlags::from_given(given)?,
            warnings,
        })
    }
}

impl Options {
    /// Where the config comes from. `--cds-server-address` stands in for discovery through Kubernetes.
    pub fn config_origin(&self) -> Result<Origin, OriginError> {
        self.resolve(&self.origin)
    }

    /// Reads an origin that was not given by `--config`.
    pub(super) fn resolve(&self, origin: &str) -> Result<Origin, OriginError> {
        let address = self.cds_server_address.as_deref();
        Origin::parse(origin)?.with_cds_server(address, self.cds_server_port)
    }

    /// How to read from the origin, with the environment of this process.
    pub fn cds_options(&self) -> stunner_cds::Options {
        stunner_cds::Options {
            cache_dir: self.config_cache.clone(),
            token_file: self.cds_token_file.clone(),
            ca_file: self.cds_ca_file.clone(),
            ..stunner_cds::Options::default()
        }
    }
}

/// An unknown format means text, as it always did: a typing error must not keep a gateway from starting.
fn log_format(given: &Given<'_>, warnings: &mut Vec<String>) -> LogFormat {
    match given.text(&flags::LOG_FORMAT).as_deref().map(str::trim) {
        Some("json") => LogFormat::Json,
        Some("text") | None => LogFormat::Text,
        Some(other) => {
            warnings.push(format!(
                "unknown log format `{other}`, writing text; the formats are text and json"
            ));
            LogFormat::Text
        }
    }
}

impl KubernetesFlags {
    fn from_given(given: &Given<'_>) -> Result<KubernetesFlags, UsageError> {
        let path = |flag| given.text(flag).map(PathBuf::from);
        Ok(KubernetesFlags {
            kubeconfig: path(&flags::KUBECONFIG),
            context: given.text(&flags::CONTEXT),
            cluster: given.text(&flags::CLUSTER),
            user: given.text(&flags::USER),
            namespace: given.text(&flags::NAMESPACE),
            server: given.text(&flags::SERVER),
            token: given.text(&flags::TOKEN),
            impersonate_user: given.text(&flags::AS),
            impersonate_groups: given.texts(&flags::AS_GROUP),
            impersonate_uid: given.text(&flags::AS_UID),
            impersonate_extra: given.texts(&flags::AS_USER_EXTRA),
            certificate_authority: path(&flags::CERTIFICATE_AUTHORITY),
            client_certificate: path(&flags::CLIENT_CERTIFICATE),
            client_key: path(&flags::CLIENT_KEY),
            insecure_skip_tls_verify: given.switch(&flags::INSECURE_SKIP_TLS_VERIFY)?,
            tls_server_name: given.text(&flags::TLS_SERVER_NAME),
            request_timeout: given
                .value(&flags::REQUEST_TIMEOUT, values::duration)?
                .filter(|timeout| !timeout.is_zero()),
            cache_dir: path(&flags::CACHE_DIR),
            disable_compression: given.switch(&flags::DISABLE_COMPRESSION)?,
        })
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("turn_uri", &self.turn_uri.as_ref().map(|_| "<SECRET>"))
            .field("origin", &self.origin)
            .field("watch", &self.watch)
            .field("id", &self.id)
            .field("dry_run", &self.dry_run)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for KubernetesFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KubernetesFlags")
            .field("kubeconfig", &self.kubeconfig)
            .field("context", &self.context)
            .field("server", &self.server)
            .field("token", &self.token.as_ref().map(|_| "<SECRET>"))
            .finish_non_exhaustive()
    }
}
