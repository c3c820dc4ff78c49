//! The program as its help describes it.

use stunner_flags::Program;

use super::flags;

pub(super) static PROGRAM: Program = Program {
    name: "turncat",
    flags: flags::ALL,
    head: "\
Tunnels local connections through a TURN server to a peer behind it

Usage:
  turncat [FLAGS] CLIENT SERVER PEER

CLIENT, where local traffic comes in; each client has an allocation of its own:
  udp://HOST:PORT      a client per address that sends datagrams
  tcp://HOST:PORT      a client per connection
  unix://PATH          the same on a socket in the file system; unix://@NAME is an abstract one
  -                    standard input and output (also file://stdin)

SERVER:
  turn://USER:PASSWORD@HOST:PORT?transport=udp|tcp|tls|dtls
                       also turns: for TLS (transport=tcp) and DTLS (transport=udp), and without //;
                       in USER and PASSWORD write %3A for a colon and %40 for an at sign
  k8s://NAMESPACE/GATEWAY:LISTENER
                       a listener of a Gateway, with its public address and credentials taken from
                       config discovery; k8s:///GATEWAY:LISTENER uses --namespace

PEER:
  udp://HOST:PORT      each datagram, and each read from a stream, is sent as one datagram
  tcp://HOST:PORT      a stream (RFC 6062); the server must be reached by tcp or tls

IPv6 addresses go in brackets. Lost servers are connected to again, and clients keep their sockets.
",
    foot: "
Other environment variables:
      SSL_CERT_FILE, SSL_CERT_DIR
          Root certificates to check the server against, instead of those of the system

Standard output carries data only; messages and the counts at the end go to standard error.
Durations are written as in Go (250ms, 1h30m); a bare number is seconds. Flags that take no value
also take =true or =false. A flag beats its environment variable.
Exit codes: 0 ended by SIGINT, SIGTERM or the end of standard input, 1 problem, 2 wrong usage.

Examples:
  turncat udp://127.0.0.1:9000 turn://user:pass@192.0.2.1:3478 udp://10.0.0.5:5004
  turncat - k8s://stunner/udp-gateway:udp-listener udp://media.default.svc.cluster.local:5004
",
    single_dash: false,
};

/// The text that `--help` prints.
pub fn help() -> String {
    PROGRAM.help()
}

/// The manual page.
pub fn man() -> String {
    PROGRAM.man(crate::VERSION, &["stunnerctl", "stunnerd"])
}
