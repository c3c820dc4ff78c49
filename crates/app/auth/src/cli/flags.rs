//! Every flag of the auth service: the one place for names, environment variables, defaults and their description.

use stunner_cluster::flags as cluster;
use stunner_flags::Takes::{Switch, Value, Values};
use stunner_flags::{flag, flags, short};

const GATEWAYS: &str = "Gateways";
const ANSWERS: &str = "Answers";
const CALLERS: &str = "Callers";
const LOGS: &str = "Logs";
const OTHER: &str = "Other";

flags! {
    CONFIG = flag(GATEWAYS, "config", Value("PATH"), "STUNNER_AUTH_CONFIG", "",
        "Read dataplane configs from this file or folder, also as file://PATH, and follow it, instead of asking a config \
         discovery service");

    ADDRESS = flag(ANSWERS, "address", Value("IP"), "STUNNER_AUTH_ADDRESS", "",
        "Listen at this address only; at all addresses without it");
    PORT = short('p', flag(ANSWERS, "port", Value("PORT"), "STUNNER_AUTH_PORT", "8088",
        "Port to listen at"));
    PUBLIC_ADDRESS = flag(ANSWERS, "public-address", Value("HOST"), "STUNNER_PUBLIC_ADDR", "",
        "Tell this IP address or DNS name in URIs instead of those in configs; a request may still say another");
    MAX_TTL = flag(ANSWERS, "max-ttl", Value("DURATION"), "STUNNER_AUTH_MAX_TTL", "720h",
        "No credential is good for longer; a request for more gets this much");

    TOKEN_FILE = flag(CALLERS, "token-file", Value("FILE"), "STUNNER_AUTH_TOKEN_FILE", "",
        "Answer only those who send one of the tokens in this file, one on each line, as `Authorization: Bearer`; a \
         line that begins with `#` is a comment. Read anew for every request: emptied it lets nobody in, removed its last tokens stay good");
    TOKEN_REVIEW = flag(CALLERS, "token-review", Switch, "STUNNER_AUTH_TOKEN_REVIEW", "",
        "Answer those who send the token of a ServiceAccount, which the API server is asked about; it takes the right to \
         create TokenReviews");
    TOKEN_AUDIENCE = flag(CALLERS, "token-audience", Values("AUDIENCE"), "STUNNER_AUTH_TOKEN_AUDIENCE", "that of the API server",
        "With --token-review: audience that tokens must be for; can be given several times");
    TOKEN_ACCOUNTS = flag(CALLERS, "token-accounts", Value("NAMESPACE/NAME,..."), "STUNNER_AUTH_TOKEN_ACCOUNTS", "all",
        "With --token-review: ServiceAccounts that may ask");
    RATE_LIMIT = flag(CALLERS, "rate-limit", Value("N"), "STUNNER_AUTH_RATE_LIMIT", "0",
        "Answer so many requests a second from one address, and 429 to others; 0 is no limit");
    CORS_ORIGIN = flag(CALLERS, "cors-origin", Values("ORIGIN"), "STUNNER_AUTH_CORS_ORIGIN", "",
        "Let web pages of this origin, such as https://app.example, read the answers, or `*` for all; can be given \
         several times");

    CDS_SERVER_ADDRESS = cluster::CDS_SERVER_ADDRESS;
    CDS_SERVER_NAMESPACE = cluster::CDS_SERVER_NAMESPACE;
    CDS_SERVER_PORT = cluster::CDS_SERVER_PORT;
    CDS_TOKEN_FILE = cluster::CDS_TOKEN_FILE;
    CDS_CA_FILE = cluster::CDS_CA_FILE;

    KUBECONFIG = cluster::KUBECONFIG;
    CONTEXT = cluster::CONTEXT;
    CLUSTER = cluster::CLUSTER;
    USER = cluster::USER;
    NAMESPACE = cluster::NAMESPACE;
    SERVER = cluster::SERVER;
    TOKEN = cluster::TOKEN;
    AS = cluster::AS;
    AS_GROUP = cluster::AS_GROUP;
    AS_UID = cluster::AS_UID;
    AS_USER_EXTRA = cluster::AS_USER_EXTRA;
    CERTIFICATE_AUTHORITY = cluster::CERTIFICATE_AUTHORITY;
    CLIENT_CERTIFICATE = cluster::CLIENT_CERTIFICATE;
    CLIENT_KEY = cluster::CLIENT_KEY;
    INSECURE_SKIP_TLS_VERIFY = cluster::INSECURE_SKIP_TLS_VERIFY;
    TLS_SERVER_NAME = cluster::TLS_SERVER_NAME;
    REQUEST_TIMEOUT = cluster::REQUEST_TIMEOUT;
    CACHE_DIR = cluster::CACHE_DIR;
    DISABLE_COMPRESSION = cluster::DISABLE_COMPRESSION;

    LOG = short('l', flag(LOGS, "log", Value("SPEC"), "STUNNER_LOG", "all:INFO",
        "Log levels by scope, such as `all:WARN,auth:DEBUG`"));
    VERBOSE = short('v', flag(LOGS, "verbose", Switch, "STUNNER_VERBOSE", "",
        "The same as `--log all:DEBUG`, unless --log is given"));
    LOG_FORMAT = flag(LOGS, "log-format", Value("text|json"), "STUNNER_LOG_FORMAT", "text",
        "How log lines are written");

    HELP = short('h', flag(OTHER, "help", Switch, "", "", "Print this help"));
    VERSION = flag(OTHER, "version", Switch, "", "", "Print the version");
}
