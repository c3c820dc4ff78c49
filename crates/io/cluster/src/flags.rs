//! The flags that all tools share: how to reach a cluster, as `kubectl` takes it, and how to reach things in it.
//!
//! A program lists them in its own table. The readers below ask for every flag of their group, so that a table has all
//! flags of a group or none.

use std::path::PathBuf;

use stunner_api::names::{env, port};
use stunner_flags::Takes::{Switch, Value, Values};
use stunner_flags::{Flag, Given, UsageError, flag, shared_flags, short, values};

/// Sections of the help.
pub const KUBERNETES: &str = "Kubernetes, as for kubectl";
pub const DISCOVERY: &str = "Config discovery service";
pub const AUTHENTICATION: &str = "Authentication service";
pub const DATAPLANE: &str = "Dataplane";

shared_flags! {
    KUBECONFIG = flag(KUBERNETES, "kubeconfig", Value("FILE"), "KUBECONFIG", "$HOME/.kube/config",
        "Kubeconfig file; the variable may name several, which are merged");
    CONTEXT = flag(KUBERNETES, "context", Value("NAME"), "STUNNER_KUBE_CONTEXT", "",
        "Kubeconfig context to use");
    CLUSTER = flag(KUBERNETES, "cluster", Value("NAME"), "STUNNER_KUBE_CLUSTER", "",
        "Kubeconfig cluster to use");
    USER = flag(KUBERNETES, "user", Value("NAME"), "STUNNER_KUBE_USER", "",
        "Kubeconfig user to use");
    NAMESPACE = short('n', flag(KUBERNETES, "namespace", Value("NAMESPACE"), "STUNNER_KUBE_NAMESPACE", "",
        "Namespace of requests"));
    SERVER = short('s', flag(KUBERNETES, "server", Value("URL"), "STUNNER_KUBE_SERVER", "",
        "Address of the API server"));
    TOKEN = flag(KUBERNETES, "token", Value("TOKEN"), "STUNNER_KUBE_TOKEN", "",
        "Bearer token for the API server");
    AS = flag(KUBERNETES, "as", Value("USER"), "STUNNER_KUBE_AS", "",
        "User to impersonate");
    AS_GROUP = flag(KUBERNETES, "as-group", Values("GROUP"), "STUNNER_KUBE_AS_GROUP", "",
        "Group to impersonate; can be given several times");
    AS_UID = flag(KUBERNETES, "as-uid", Value("UID"), "STUNNER_KUBE_AS_UID", "",
        "UID to impersonate");
    AS_USER_EXTRA = flag(KUBERNETES, "as-user-extra", Values("KEY=VALUE"), "STUNNER_KUBE_AS_USER_EXTRA", "",
        "Extra attribute to impersonate; can be given several times");
    CERTIFICATE_AUTHORITY = flag(KUBERNETES, "certificate-authority", Value("FILE"),
        "STUNNER_KUBE_CERTIFICATE_AUTHORITY", "",
        "CA certificate of the API server");
    CLIENT_CERTIFICATE = flag(KUBERNETES, "client-certificate", Value("FILE"), "STUNNER_KUBE_CLIENT_CERTIFICATE", "",
        "Client certificate for the API server");
    CLIENT_KEY = flag(KUBERNETES, "client-key", Value("FILE"), "STUNNER_KUBE_CLIENT_KEY", "",
        "Key of the client certificate");
    INSECURE_SKIP_TLS_VERIFY = flag(KUBERNETES, "insecure-skip-tls-verify", Switch,
        "STUNNER_KUBE_INSECURE_SKIP_TLS_VERIFY", "",
        "Do not check the API server's certificate");
    TLS_SERVER_NAME = flag(KUBERNETES, "tls-server-name", Value("NAME"), "STUNNER_KUBE_TLS_SERVER_NAME", "",
        "Name to check the API server's certificate against");
    REQUEST_TIMEOUT = flag(KUBERNETES, "request-timeout", Value("DURATION"), "STUNNER_KUBE_REQUEST_TIMEOUT", "0",
        "Deadline of a single request to the API server; 0 is the usual one, 30s");
    CACHE_DIR = flag(KUBERNETES, "cache-dir", Value("DIR"), "STUNNER_KUBE_CACHE_DIR", "$HOME/.kube/cache",
        "Cache of API discovery; accepted for compatibility");
    DISABLE_COMPRESSION = flag(KUBERNETES, "disable-compression", Switch, "STUNNER_KUBE_DISABLE_COMPRESSION", "",
        "Ask the API server for uncompressed answers");

    CDS_SERVER_ADDRESS = flag(DISCOVERY, "cds-server-address", Value("ADDR[:PORT]"), "CDS_SERVER_ADDR", "",
        "Address or URL of the config discovery service, used without asking Kubernetes, or `off`");
    CDS_SERVER_NAMESPACE = flag(DISCOVERY, "cds-server-namespace", Value("NAMESPACE"), "CDS_SERVER_NAMESPACE", "",
        "Namespace in which to look for the config discovery service; all without it");
    CDS_SERVER_PORT = flag(DISCOVERY, "cds-server-port", Value("PORT"), "CDS_SERVER_PORT", "13478",
        "Port of the config discovery service");
    CDS_TOKEN_FILE = flag(DISCOVERY, "cds-token-file", Value("FILE"), env::STUNNER_CDS_TOKEN_FILE, "",
        "File with a token to show to a discovery service at an https URL; read anew for every connection");
    CDS_CA_FILE = flag(DISCOVERY, "cds-ca-file", Value("FILE"), env::STUNNER_CDS_CA_FILE, "",
        "PEM file with further root certificates to check a discovery service against; read anew for every connection");

    AUTH_SERVER_ADDRESS = flag(AUTHENTICATION, "auth-server-address", Value("ADDR[:PORT]"),
        "STUNNER_AUTH_SERVER_ADDRESS", "",
        "Address or URL of the authentication service, used without asking Kubernetes, or `off`");
    AUTH_SERVICE_NAMESPACE = flag(AUTHENTICATION, "auth-service-namespace", Value("NAMESPACE"),
        "STUNNER_AUTH_SERVICE_NAMESPACE", "",
        "Namespace in which to look for the authentication service; all without it");
    AUTH_SERVICE_PORT = flag(AUTHENTICATION, "auth-service-port", Value("PORT"), "STUNNER_AUTH_SERVICE_PORT", "8088",
        "Port of the authentication service");

    ADMIN = flag(DATAPLANE, "admin", Value("ADDR[:PORT]"), "STUNNER_ADMIN", "",
        "Ask the admin API at this address, such as that of a local `stunner run`, instead of the pods of a cluster");
}

/// All flags of how to reach a cluster, in the order of the help.
pub static KUBECTL: &[&Flag] = &[
    &KUBECONFIG,
    &CONTEXT,
    &CLUSTER,
    &USER,
    &NAMESPACE,
    &SERVER,
    &TOKEN,
    &AS,
    &AS_GROUP,
    &AS_UID,
    &AS_USER_EXTRA,
    &CERTIFICATE_AUTHORITY,
    &CLIENT_CERTIFICATE,
    &CLIENT_KEY,
    &INSECURE_SKIP_TLS_VERIFY,
    &TLS_SERVER_NAME,
    &REQUEST_TIMEOUT,
    &CACHE_DIR,
    &DISABLE_COMPRESSION,
];

/// All flags of [`CdsFlags`].
pub static CDS: &[&Flag] = &[
    &CDS_SERVER_ADDRESS,
    &CDS_SERVER_NAMESPACE,
    &CDS_SERVER_PORT,
    &CDS_TOKEN_FILE,
    &CDS_CA_FILE,
];

/// All flags of [`AuthFlags`].
pub static AUTH: &[&Flag] = &[
    &AUTH_SERVER_ADDRESS,
    &AUTH_SERVICE_NAMESPACE,
    &AUTH_SERVICE_PORT,
];

/// Where the config discovery service is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CdsFlags {
    /// Asked without looking into a cluster.
    pub address: Option<String>,
    pub namespace: Option<String>,
    /// `None` for the usual one.
    pub port: Option<u16>,
    pub token_file: Option<PathBuf>,
    pub ca_file: Option<PathBuf>,
}

impl CdsFlags {
    pub fn read(given: &Given<'_>) -> Result<CdsFlags, UsageError> {
        Ok(CdsFlags {
            address: unless_off(given, &CDS_SERVER_ADDRESS),
            namespace: given.text(&CDS_SERVER_NAMESPACE),
            port: given.value(&CDS_SERVER_PORT, values::port)?,
            token_file: given.text(&CDS_TOKEN_FILE).map(PathBuf::from),
            ca_file: given.text(&CDS_CA_FILE).map(PathBuf::from),
        })
    }

    pub fn port(&self) -> u16 {
        self.port.unwrap_or(port::CDS)
    }
}

/// Where the authentication service is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuthFlags {
    /// Asked without looking into a cluster.
    pub address: Option<String>,
    pub namespace: Option<String>,
    /// `None` for the usual one.
    pub port: Option<u16>,
}

impl AuthFlags {
    pub fn read(given: &Given<'_>) -> Result<AuthFlags, UsageError> {
        Ok(AuthFlags {
            address: unless_off(given, &AUTH_SERVER_ADDRESS),
            namespace: given.text(&AUTH_SERVICE_NAMESPACE),
            port: given.value(&AUTH_SERVICE_PORT, values::port)?,
        })
    }

    pub fn port(&self) -> u16 {
        self.port.unwrap_or(port::AUTH)
    }
}

fn unless_off(given: &Given<'_>, flag: &Flag) -> Option<String> {
    given
        .text(flag)
        .filter(|address| !address.eq_ignore_ascii_case("off"))
}
