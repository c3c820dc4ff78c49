//! Every flag of `turncat`; those of kubectl and of config discovery are described in `stunner-cluster`.

use stunner_cluster::flags::{CDS, KUBECTL};
use stunner_flags::{Flag, joined};

pub(crate) use first::*;
pub(crate) use last::*;

/// All of them, in the order of the help.
pub(crate) static ALL: &[&Flag] = joined!(joined!(first::ALL, joined!(KUBECTL, CDS)), last::ALL);

mod first {
    use stunner_flags::Takes::{Switch, Value};
    use stunner_flags::{flag, flags, short};

    const SERVER: &str = "TURN server";
    const TUNNEL: &str = "Tunnel";

    flags! {
        SECRET = flag(SERVER, "secret", Value("SECRET"), "STUNNER_SECRET", "",
            "Shared secret of ephemeral authentication: log in with credentials minted from it, good for an hour and \
             minted anew for every connection, for the user of the URI if it has one. The variable keeps it out of the \
             process list");
        SNI = flag(SERVER, "sni", Value("NAME"), "STUNNER_SNI", "the host of the server",
            "Name to ask for in TLS and DTLS handshakes, and to check the certificate against");
        INSECURE = short('i', flag(SERVER, "insecure", Switch, "STUNNER_INSECURE", "",
            "Take any certificate of the server"));
        CONNECT_TIMEOUT = flag(SERVER, "connect-timeout", Value("DURATION"), "STUNNER_CONNECT_TIMEOUT", "8s",
            "How long a server may take to answer");
        NO_CHECK = flag(SERVER, "no-check", Switch, "STUNNER_NO_CHECK", "",
            "Wait for clients without having tried the server first");

        IDLE_TIMEOUT = flag(TUNNEL, "idle-timeout", Value("DURATION"), "STUNNER_IDLE_TIMEOUT", "5m",
            "Forget a UDP client when this long nothing went either way; 0 is never");
        RECONNECT_TIMEOUT = flag(TUNNEL, "reconnect-timeout", Value("DURATION"), "STUNNER_RECONNECT_TIMEOUT", "1m",
            "How long to try to reach a server again that was lost before its clients are let go; 0 lets go at once");
        LINGER = flag(TUNNEL, "linger", Value("DURATION"), "STUNNER_LINGER", "1s, or 10s for tcp:// peers",
            "After the end of standard input, exit when this long no answer came");
        MAX_DATAGRAM = flag(TUNNEL, "max-datagram", Value("BYTES"), "STUNNER_MAX_DATAGRAM", "what the server's transport carries",
            "Cut what is read from streams for a udp:// peer into datagrams of at most this size");
    }
}

mod last {
    use stunner_flags::Takes::{Switch, Value};
    use stunner_flags::{flag, flags, short};

    const OTHER: &str = "Logs and help";

    flags! {
        LOG = short('l', flag(OTHER, "log", Value("SPEC"), "STUNNER_LOG", "all:WARN",
            "Log levels by scope on standard error, such as `all:INFO` or `all:WARN,turncat:DEBUG`"));
        VERBOSE = short('v', flag(OTHER, "verbose", Switch, "STUNNER_VERBOSE", "",
            "The same as `--log all:DEBUG`, unless --log is given"));
        VERSION = flag(OTHER, "version", Switch, "", "", "Print the version");
        HELP = short('h', flag(OTHER, "help", Switch, "", "", "Print this help"));
    }
}
