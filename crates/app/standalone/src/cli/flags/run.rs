//! What can be said to `stunner run`.

use stunner_flags::Takes::{Switch, Value};
use stunner_flags::{flag, flags, short};

use super::OTHER;

const MANIFESTS: &str = "Manifests";
const HOST: &str = "This host";
const SERVERS: &str = "Servers beside the gateways";
const SERVING: &str = "Serving";
const LIMITS: &str = "Limits";
const LIFE: &str = "Output and end";

flags! {
    RECURSIVE = short('R', flag(MANIFESTS, "recursive", Switch, "STUNNER_RECURSIVE", "",
        "Look into the folders below the given ones too"));

    ADDRESS = flag(HOST, "address", Value("IP[,IP]"), "STUNNER_ADDRESS", "those of the host, else loopback",
        "Address of this host that listeners bind and clients are told; one of each family where it has both");
    PORT_OFFSET = flag(HOST, "port-offset", Value("N"), "STUNNER_PORT_OFFSET", "0",
        "Add this to the port of every TURN listener; may be negative");

    HEALTH_ADDRESS = flag(SERVERS, "health-address", Value("HOST:PORT"), "STUNNER_HEALTH_ADDRESS", "127.0.0.1:8086",
        "Where to serve /live, /ready and /status, or `off`");
    METRICS_ADDRESS = flag(SERVERS, "metrics-address", Value("HOST:PORT"), "STUNNER_METRICS_ADDRESS", "127.0.0.1:8080",
        "Where to serve Prometheus metrics, or `off`");
    CONSOLE_ADDRESS = flag(SERVERS, "console-address", Value("HOST:PORT"), "STUNNER_CONSOLE_ADDRESS", "127.0.0.1:8090",
        "Where to serve the web console, or `off`");
    CONSOLE_HOST = flag(SERVERS, "console-host", Value("NAME,..."), "STUNNER_CONSOLE_HOST", "",
        "Names by which browsers may call the console, beside its address and localhost");
    ADMIN_ADDRESS = flag(SERVERS, "admin-address", Value("ADDR:PORT"), "STUNNER_ADMIN_ADDRESS", "127.0.0.1:8087",
        "Loopback address of the admin API, or `off`");

    UDP_THREAD_NUM = short('u', flag(SERVING, "udp-thread-num", Value("N"), "STUNNER_UDP_THREAD_NUM", "0",
        "Number of shards, at most the CPUs granted; 0 is all of them"));
    RELAY_PORT_RANGE = flag(SERVING, "relay-port-range", Value("LO-HI"), "STUNNER_RELAY_PORT_RANGE", "",
        "Take relay ports from this range only; overrides the manifests");
    ALLOW_LOOPBACK_PEERS = flag(SERVING, "allow-loopback-peers", Switch, "STUNNER_ALLOW_LOOPBACK_PEERS", "",
        "Let routes of any width admit loopback peers and this host's own addresses");
    CREDENTIAL_GRACE = flag(SERVING, "credential-grace", Value("DURATION"), "STUNNER_CREDENTIAL_GRACE", "0",
        "How long new allocations may still use the previous credential after a change");
    MAX_EPHEMERAL_LIFETIME = flag(SERVING, "max-ephemeral-lifetime", Value("DURATION"), "STUNNER_MAX_EPHEMERAL_LIFETIME", "",
        "Refuse ephemeral credentials that expire later than this from now; 0 is no limit");

    UNAUTH_RATE_LIMIT = flag(LIMITS, "unauth-rate-limit", Value("N"), "STUNNER_UNAUTH_RATE_LIMIT", "1000",
        "Challenges per second and source address (IPv6: /64), the excess is dropped; 0 is no limit");
    MAX_CONNECTIONS_PER_SOURCE = flag(LIMITS, "max-connections-per-source", Value("N"), "STUNNER_MAX_CONNECTIONS_PER_SOURCE", "4096",
        "TCP and TLS connections and DTLS sessions per source address; 0 is no limit");
    MAX_HANDSHAKES = flag(LIMITS, "max-handshakes", Value("N"), "STUNNER_MAX_HANDSHAKES", "100",
        "Unfinished TLS and DTLS handshakes per source address; 0 is no limit");

    OUTPUT = short('o', flag(LIFE, "output", Value("text|json"), "STUNNER_OUTPUT", "text",
        "Tell what happens in sentences, or as one JSON object per line on standard output"));
    DRAIN_TIMEOUT = flag(LIFE, "drain-timeout", Value("DURATION"), "STUNNER_DRAIN_TIMEOUT", "10s",
        "After SIGTERM, let sessions go on for at most this long; SIGINT stops at once");
    STALE_ALLOCATION_TIMEOUT = flag(LIFE, "stale-allocation-timeout", Value("DURATION"), "STUNNER_STALE_ALLOCATION_TIMEOUT", "60s",
        "An allocation without traffic for this long does not hold up a drain");
    LOG = short('l', flag(LIFE, "log", Value("SPEC"), "STUNNER_LOG", "all:WARN",
        "Log levels by scope on standard error, such as `all:INFO,turn:DEBUG`"));
    VERBOSE = short('v', flag(LIFE, "verbose", Switch, "STUNNER_VERBOSE", "",
        "The same as `--log all:DEBUG`, unless --log is given"));
    LOG_FORMAT = flag(LIFE, "log-format", Value("text|json"), "STUNNER_LOG_FORMAT", "text",
        "How log lines are written");

    HELP = short('h', flag(OTHER, "help", Switch, "", "", "Print this help"));
}
