//! What can be said to `stunner run`.

use stunner_dataplane::cli::serving::{self, SERVING};
use stunner_flags::Takes::{Switch, Value};
use stunner_flags::{flag, flags, short, under};

const MANIFESTS: &str = "Manifests";
const HOST: &str = "This host";
const SERVERS: &str = "Servers beside the gateways";
const LIFE: &str = "Output and end";

flags! {
    RECURSIVE = under(MANIFESTS, super::RECURSIVE);

    ADDRESS = flag(HOST, "address", Value("IP[,IP]"), "STUNNER_ADDRESS", "those of the host, else loopback",
        "Address of this host that clients are told; one of each family where it has both. Listeners are open on every \
         address of the host, but on loopback only when nothing else is given here");
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
    ADMIN_ADDRESS = under(SERVERS, serving::ADMIN_ADDRESS);

    UDP_THREAD_NUM = serving::UDP_THREAD_NUM;
    RELAY_PORT_RANGE = flag(SERVING, "relay-port-range", Value("LO-HI"), "STUNNER_RELAY_PORT_RANGE", "",
        "Take relay ports from this range only; overrides the manifests");
    ALLOW_LOOPBACK_PEERS = flag(SERVING, "allow-loopback-peers", Switch, "STUNNER_ALLOW_LOOPBACK_PEERS", "",
        "Let routes of any width admit loopback peers and this host's own addresses");
    CREDENTIAL_GRACE = serving::CREDENTIAL_GRACE;
    MAX_EPHEMERAL_LIFETIME = serving::MAX_EPHEMERAL_LIFETIME;

    UNAUTH_RATE_LIMIT = serving::UNAUTH_RATE_LIMIT;
    MAX_CONNECTIONS_PER_SOURCE = serving::MAX_CONNECTIONS_PER_SOURCE;
    MAX_HANDSHAKES = serving::MAX_HANDSHAKES;

    OUTPUT = short('o', flag(LIFE, "output", Value("text|json"), "STUNNER_OUTPUT", "text",
        "Tell what happens in sentences, or as one JSON object per line on standard output"));
    DRAIN_TIMEOUT = flag(LIFE, "drain-timeout", Value("DURATION"), "STUNNER_DRAIN_TIMEOUT", "10s",
        "After SIGTERM, let sessions go on for at most this long; SIGINT stops at once");
    STALE_ALLOCATION_TIMEOUT = under(LIFE, serving::STALE_ALLOCATION_TIMEOUT);
    LOG = short('l', flag(LIFE, "log", Value("SPEC"), "STUNNER_LOG", "all:WARN",
        "Log levels by scope on standard error, such as `all:INFO,turn:DEBUG`"));
    VERBOSE = under(LIFE, serving::VERBOSE);
    LOG_FORMAT = under(LIFE, serving::LOG_FORMAT);

    HELP = super::HELP;
}
