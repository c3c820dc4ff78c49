//! What can be said to `stunner bench`.

use stunner_flags::Takes::{Switch, Value};
use stunner_flags::{flag, flags, short};

const LOAD: &str = "Load";
const PEER: &str = "Peer";
const ACCESS: &str = "Access to the server";
const RESULT: &str = "Result";

flags! {
    SESSIONS = short('n', flag(LOAD, "sessions", Value("N"), "STUNNER_BENCH_SESSIONS", "10",
        "Clients, each with a connection, an allocation and a channel of its own"));
    RATE = short('r', flag(LOAD, "rate", Value("N|max"), "STUNNER_BENCH_RATE", "50",
        "Packets per second of each client in each direction; `max` sends as fast as packets arrive"));
    SIZE = short('s', flag(LOAD, "size", Value("BYTES"), "STUNNER_BENCH_SIZE", "160",
        "Bytes of each packet, without headers: 24 to 65503, over DTLS to 16380"));
    DIRECTION = short('d', flag(LOAD, "direction", Value("both|to-peer|to-client"), "STUNNER_BENCH_DIRECTION", "both",
        "Which way packets go; with --echo they go to the peer and back"));
    DURATION = short('t', flag(LOAD, "duration", Value("DURATION"), "STUNNER_BENCH_DURATION", "10s",
        "How long to measure, once all clients are connected"));
    RAMP = flag(LOAD, "ramp", Value("DURATION"), "STUNNER_BENCH_RAMP", "0s",
        "Connect the clients one after the other over this time; what passes meanwhile is shown but not counted");
    WINDOW = flag(LOAD, "window", Value("N"), "STUNNER_BENCH_WINDOW", "8",
        "With --rate max: packets of each client that may be under way");
    THREADS = flag(LOAD, "threads", Value("N"), "STUNNER_BENCH_THREADS", "1",
        "Threads that send and receive; each is busy all the time at high rates");

    PEER_ADDRESS = flag(PEER, "peer-address", Value("IP"), "STUNNER_BENCH_PEER_ADDRESS", "that towards the server",
        "Address of this host at which packets come out of the server; the server must reach and admit it");
    ECHO = flag(PEER, "echo", Value("HOST:PORT"), "STUNNER_BENCH_ECHO", "",
        "Send to this peer instead, which sends every UDP packet back; latencies are then round trips");

    USERNAME = short('u', flag(ACCESS, "username", Value("NAME"), "STUNNER_BENCH_USERNAME", "that of the URI",
        "User name for the server"));
    PASSWORD = flag(ACCESS, "password", Value("TEXT"), "STUNNER_BENCH_PASSWORD", "that of the URI",
        "Its password; better in the environment, where no list of processes shows it");
    SECRET = flag(ACCESS, "secret", Value("TEXT"), "STUNNER_BENCH_SECRET", "",
        "Shared secret of a server with ephemeral credentials; the credential is made from it");
    SNI = flag(ACCESS, "sni", Value("NAME"), "STUNNER_BENCH_SNI", "the host of the URI",
        "Name that the certificate of a TLS or DTLS server must have");
    INSECURE = short('i', flag(ACCESS, "insecure", Switch, "STUNNER_BENCH_INSECURE", "",
        "Accept any certificate"));

    JSON = flag(RESULT, "json", Switch, "STUNNER_BENCH_JSON", "",
        "Print the result as one JSON object on standard output");
    MAX_LOSS = flag(RESULT, "max-loss", Value("PERCENT"), "STUNNER_BENCH_MAX_LOSS", "",
        "Exit with 1 when more packets than this get lost");
    QUIET = short('q', flag(RESULT, "quiet", Switch, "STUNNER_BENCH_QUIET", "",
        "Show no progress"));
    HELP = super::HELP;
}
