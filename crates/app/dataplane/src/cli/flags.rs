//! Every flag of `stunnerd`: with [`serving`], the one place for names, environment variables, defaults and their
//! description.

use stunner_flags::Takes::{Switch, Value, Values};
use stunner_flags::{flag, flags, short};

use super::serving::{self, LIFE, LOGS, SERVING};

const CONFIG: &str = "Configuration";
const OTHER: &str = "Other";
const CDS: &str = "Config discovery through Kubernetes (only for the origin `k8s`)";

flags! {
    CONFIG_ORIGIN = short('c', flag(CONFIG, "config", Value("ORIGIN"), "STUNNER_CONFIG_ORIGIN", ":13478",
        "Where the config comes from: a path or file:// URL, HOST:PORT or an http, https, ws or wss URL of a \
         config discovery service (CDS), or `k8s`"));
    WATCH = short('w', flag(CONFIG, "watch", Switch, "STUNNER_WATCH", "",
        "Follow the origin and apply every change; without it the config is loaded once"));
    ID = short('i', flag(CONFIG, "id", Value("NAMESPACE/NAME"), "", "$STUNNER_NAMESPACE/$STUNNER_NAME, else default/stunnerd-HOSTNAME",
        "Which config to ask a discovery service for"));
    CONFIG_CACHE = flag(CONFIG, "config-cache", Value("DIR"), "STUNNER_CONFIG_CACHE", "",
        "Keep the last good config from a discovery service here, and start with it when the service is away");
    CDS_TOKEN_FILE = flag(CONFIG, "cds-token-file", Value("FILE"), "STUNNER_CDS_TOKEN_FILE", "",
        "File with a token to show to a discovery service, over TLS only; read anew for every connection");
    CDS_CA_FILE = flag(CONFIG, "cds-ca-file", Value("FILE"), "STUNNER_CDS_CA_FILE", "",
        "PEM file with further root certificates to check a discovery service against; read anew for every connection");
    DRY_RUN = short('d', flag(CONFIG, "dry-run", Switch, "STUNNER_DRY_RUN", "",
        "Load and apply configs without opening any socket"));

    UDP_THREAD_NUM = serving::UDP_THREAD_NUM;
    RELAY_PORT_RANGE = flag(SERVING, "relay-port-range", Value("LO-HI"), "STUNNER_RELAY_PORT_RANGE", "",
        "Take relay ports from this range only; overrides the config");
    ALLOW_LOOPBACK_PEERS = flag(SERVING, "allow-loopback-peers", Switch, "STUNNER_ALLOW_LOOPBACK_PEERS", "",
        "Let clusters of any width admit loopback peers and this host's own addresses");
    CREDENTIAL_GRACE = serving::CREDENTIAL_GRACE;
    MAX_EPHEMERAL_LIFETIME = serving::MAX_EPHEMERAL_LIFETIME;

    UNAUTH_RATE_LIMIT = serving::UNAUTH_RATE_LIMIT;
    MAX_CONNECTIONS_PER_SOURCE = serving::MAX_CONNECTIONS_PER_SOURCE;
    MAX_HANDSHAKES = serving::MAX_HANDSHAKES;

    ADMIN_ADDRESS = serving::ADMIN_ADDRESS;
    DRAIN_TIMEOUT = flag(LIFE, "drain-timeout", Value("DURATION"), "STUNNER_DRAIN_TIMEOUT", "3600s",
        "After SIGTERM, exit at the latest after this long");
    STALE_ALLOCATION_TIMEOUT = serving::STALE_ALLOCATION_TIMEOUT;
    ALTERNATE_SERVER = flag(LIFE, "alternate-server", Value("ADDR:PORT"), "STUNNER_ALTERNATE_SERVER", "",
        "While draining, send new clients here (300 Try Alternate) instead of refusing them, or `off`");
    READY_WHILE_DRAINING = flag(LIFE, "ready-while-draining", Switch, "STUNNER_READY_WHILE_DRAINING", "",
        "Keep /ready at 200 while draining");
    FORCE_READY_STATUS = flag(LIFE, "force-ready-status", Switch, "STUNNER_FORCE_READY_STATUS", "",
        "Keep /ready at 200 always, also before the first config");

    LOG = short('l', flag(LOGS, "log", Value("SPEC"), "STUNNER_LOG", "all:INFO",
        "Log levels by scope, such as `all:WARN,turn:DEBUG`; overrides the config"));
    VERBOSE = serving::VERBOSE;
    LOG_FORMAT = serving::LOG_FORMAT;

    HELP = short('h', flag(OTHER, "help", Switch, "", "", "Print this help"));
    VERSION = flag(OTHER, "version", Switch, "", "", "Print the version");

    CDS_SERVER_ADDRESS = flag(CDS, "cds-server-address", Value("ADDR[:PORT]"), "CDS_SERVER_ADDR", "",
        "Address of the discovery service, used without asking Kubernetes, or `off`");
    CDS_SERVER_NAMESPACE = flag(CDS, "cds-server-namespace", Value("NAMESPACE"), "CDS_SERVER_NAMESPACE", "",
        "Namespace in which to look for the discovery service");
    CDS_SERVER_PORT = flag(CDS, "cds-server-port", Value("PORT"), "CDS_SERVER_PORT", "13478",
        "Port of the discovery service");
    KUBECONFIG = flag(CDS, "kubeconfig", Value("FILE"), "KUBECONFIG", "",
        "Kubeconfig file");
    CONTEXT = flag(CDS, "context", Value("NAME"), "STUNNER_KUBE_CONTEXT", "",
        "Kubeconfig context to use");
    CLUSTER = flag(CDS, "cluster", Value("NAME"), "STUNNER_KUBE_CLUSTER", "",
        "Kubeconfig cluster to use");
    USER = flag(CDS, "user", Value("NAME"), "STUNNER_KUBE_USER", "",
        "Kubeconfig user to use");
    NAMESPACE = short('n', flag(CDS, "namespace", Value("NAMESPACE"), "STUNNER_KUBE_NAMESPACE", "",
        "Namespace of requests"));
    SERVER = short('s', flag(CDS, "server", Value("URL"), "STUNNER_KUBE_SERVER", "",
        "Address of the API server"));
    TOKEN = flag(CDS, "token", Value("TOKEN"), "STUNNER_KUBE_TOKEN", "",
        "Bearer token for the API server");
    AS = flag(CDS, "as", Value("USER"), "STUNNER_KUBE_AS", "",
        "User to impersonate");
    AS_GROUP = flag(CDS, "as-group", Values("GROUP"), "STUNNER_KUBE_AS_GROUP", "",
        "Group to impersonate; can be given several times");
    AS_UID = flag(CDS, "as-uid", Value("UID"), "STUNNER_KUBE_AS_UID", "",
        "UID to impersonate");
    AS_USER_EXTRA = flag(CDS, "as-user-extra", Values("KEY=VALUE"), "STUNNER_KUBE_AS_USER_EXTRA", "",
        "Extra attribute to impersonate; can be given several times");
    CERTIFICATE_AUTHORITY = flag(CDS, "certificate-authority", Value("FILE"), "STUNNER_KUBE_CERTIFICATE_AUTHORITY", "",
        "CA certificate of the API server");
    CLIENT_CERTIFICATE = flag(CDS, "client-certificate", Value("FILE"), "STUNNER_KUBE_CLIENT_CERTIFICATE", "",
        "Client certificate for the API server");
    CLIENT_KEY = flag(CDS, "client-key", Value("FILE"), "STUNNER_KUBE_CLIENT_KEY", "",
        "Key of the client certificate");
    INSECURE_SKIP_TLS_VERIFY = flag(CDS, "insecure-skip-tls-verify", Switch, "STUNNER_KUBE_INSECURE_SKIP_TLS_VERIFY", "",
        "Do not check the API server's certificate");
    TLS_SERVER_NAME = flag(CDS, "tls-server-name", Value("NAME"), "STUNNER_KUBE_TLS_SERVER_NAME", "",
        "Name to check the API server's certificate against");
    REQUEST_TIMEOUT = flag(CDS, "request-timeout", Value("DURATION"), "STUNNER_KUBE_REQUEST_TIMEOUT", "0",
        "Deadline of a single request; 0 is none");
    CACHE_DIR = flag(CDS, "cache-dir", Value("DIR"), "STUNNER_KUBE_CACHE_DIR", "$HOME/.kube/cache",
        "Cache of API discovery; accepted for compatibility");
    DISABLE_COMPRESSION = flag(CDS, "disable-compression", Switch, "STUNNER_KUBE_DISABLE_COMPRESSION", "",
        "Ask the API server for uncompressed answers");
}
