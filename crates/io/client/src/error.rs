//! What can go wrong, and what to do about it.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;

use crate::{CertificateFault, Connect, Lost, ServerTransport};

/// Where a server stopped answering.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Opening the TCP connection.
    Connecting,
    /// The TLS or DTLS handshake.
    Handshake,
    /// A request.
    Request,
}

/// Why something was not done.
#[derive(Debug, Error)]
pub enum ClientError {
    /// The server's name has no address.
    #[error("cannot resolve `{host}`: {source}")]
    Resolve {
        /// The name.
        host: String,
        /// What the resolver said.
        source: io::Error,
    },
    /// The server's host refuses: a TCP reset or an ICMP port unreachable.
    #[error("nothing listens at {server} for {transport}")]
    NothingListens {
        /// The server.
        server: SocketAddr,
        /// By which transport it was tried.
        transport: ServerTransport,
    },
    /// The server cannot be reached from here.
    #[error("cannot reach {server} over {transport}: {source}")]
    Unreachable {
        /// The server.
        server: SocketAddr,
        /// By which transport it was tried.
        transport: ServerTransport,
        /// What the system said.
        source: io::Error,
    },
    /// Nothing came back in time.
    #[error("no answer from {server} over {transport} within {} s", .waited.as_secs_f32())]
    Timeout {
        /// The server.
        server: SocketAddr,
        /// By which transport it was tried.
        transport: ServerTransport,
        /// How far we got.
        step: Step,
        /// How long we waited.
        waited: Duration,
    },
    /// The server's certificate is not to be trusted.
    #[error("the certificate of {server} is not valid: {fault}{}", also(.more))]
    Certificate {
        /// The server.
        server: SocketAddr,
        /// The most telling of the checks that failed.
        fault: CertificateFault,
        /// The others.
        more: Vec<CertificateFault>,
    },
    /// The file of `SSL_CERT_FILE` cannot be read.
    #[error("cannot read the trusted certificates in `{}`: {why}", .path.display())]
    Roots {
        /// The file.
        path: PathBuf,
        /// What the system said.
        why: String,
    },
    /// The server hung up before it answered.
    #[error("{server} closed the {transport} connection without an answer")]
    Closed {
        /// The server.
        server: SocketAddr,
        /// By which transport it was tried.
        transport: ServerTransport,
    },
    /// The TLS or DTLS handshake failed for another reason.
    #[error("the {transport} handshake with {server} failed: {why}")]
    Tls {
        /// The server.
        server: SocketAddr,
        /// TLS or DTLS.
        transport: ServerTransport,
        /// What OpenSSL said.
        why: String,
    },
    /// 401 for a signed request, or for one that we have no credential for.
    #[error("{server} does not accept {}", credential(.username))]
    Unauthorized {
        /// The server.
        server: SocketAddr,
        /// The user name that was refused, if there was one.
        username: Option<String>,
    },
    /// The server refused a request.
    #[error("{server} refused {request}: {code} {reason}")]
    Refused {
        /// The server.
        server: SocketAddr,
        /// The request's method, as in the RFC.
        request: &'static str,
        /// ERROR-CODE.
        code: u16,
        /// The server's reason phrase.
        reason: String,
    },
    /// One server names another, and that one another, and so on.
    #[error("redirected too often, last to {last}")]
    TooManyRedirects {
        /// The last server named.
        last: SocketAddr,
    },
    /// A payload that the way to the server does not carry.
    #[error("a datagram of {size} bytes is too large; {limit} bytes fit")]
    TooLarge {
        /// Bytes of the payload.
        size: usize,
        /// What fits.
        limit: usize,
    },
    /// The server would drop the packet.
    #[error("there is no permission for {peer}")]
    NoPermission {
        /// The peer.
        peer: SocketAddr,
    },
    /// The request makes no sense here.
    #[error("{0}")]
    Misuse(#[from] stunner_turn::client::ClientError),
    /// The allocation is over.
    #[error("{0}")]
    Lost(#[from] Lost),
    /// The server's bytes are not TURN.
    #[error("{server} does not speak TURN over {transport}")]
    NotTurn {
        /// The server.
        server: SocketAddr,
        /// The transport.
        transport: ServerTransport,
    },
    /// A local socket could not be made or used.
    #[error("socket: {0}")]
    Socket(io::Error),
}

fn credential(username: &Option<String>) -> String {
    match username {
        Some(name) => format!("the user name `{name}` with this password"),
        None => "requests without a user name and password".to_owned(),
    }
}

fn also(more: &[CertificateFault]) -> String {
    more.iter().map(|fault| format!("; {fault}")).collect()
}

/// The first error that a socket reports of the way to the server.
pub(crate) fn unreachable(connect: &Connect, source: io::Error) -> ClientError {
    let (server, transport) = (connect.server, connect.transport);
    match source.kind() {
        io::ErrorKind::ConnectionRefused => ClientError::NothingListens { server, transport },
        io::ErrorKind::ConnectionReset => ClientError::Closed { server, transport },
        // EPERM: a local firewall. EADDRNOTAVAIL: a local address that cannot reach the server.
        _ => ClientError::Unreachable {
            server,
            transport,
            source,
        },
    }
}

impl ClientError {
    pub(crate) fn certificate(server: SocketAddr, mut faults: Vec<CertificateFault>) -> Self {
        faults.sort();
        let fault = match faults.is_empty() {
            true => CertificateFault::Other("it was not checked".to_owned()),
            false => faults.remove(0),
        };
        ClientError::Certificate {
            server,
            fault,
            more: faults,
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> String {
        let text = match self {
            ClientError::Resolve { .. } => {
                "check the spelling of the name and your DNS, or use the IP address"
            }
            ClientError::NothingListens { .. } => {
                "check the port and the transport; the host is up, but no server has this port open"
            }
            ClientError::Unreachable { .. } => "check the address and the route to it",
            ClientError::Timeout {
                step, transport, ..
            } => return silence(*step, *transport),
            ClientError::Certificate { fault, .. } => return fault.hint(),
            ClientError::Roots { .. } => {
                "set SSL_CERT_FILE to a readable file of certificates in PEM, or unset it"
            }
            ClientError::Closed { .. } => {
                "check that the port is the one for this transport; a server at its limit of connections also hangs up"
            }
            ClientError::Tls { .. } => {
                "check that the port is the one for this transport; a plain TURN port does not answer a handshake"
            }
            ClientError::Unauthorized { username: None, .. } => "give a user name and password",
            ClientError::Unauthorized { .. } => {
                "check the user name and password; ephemeral credentials may have expired, or be minted with another secret"
            }
            ClientError::Refused { request, code, .. } => return refusal(request, *code),
            ClientError::TooManyRedirects { .. } => {
                "check the alternate servers that the servers name"
            }
            ClientError::TooLarge { .. } => "send smaller datagrams",
            ClientError::NoPermission { .. } => {
                "ask for a permission or a channel for the peer first"
            }
            ClientError::Misuse(_) => {
                "peers over TCP need a server connection over TCP or TLS, and a relay for TCP"
            }
            ClientError::Lost(_) => "make a new allocation",
            ClientError::NotTurn { .. } => "check the port; another service answers there",
            ClientError::Socket(_) => "check the local address and the limits of the system",
        };
        text.to_owned()
    }
}

fn silence(step: Step, transport: ServerTransport) -> String {
    match (step, transport) {
        (Step::Connecting, _) => "check the address, and that firewalls on the way let TCP to this port pass",
        (Step::Handshake, ServerTransport::Dtls) | (Step::Request, ServerTransport::Udp) => {
            "check the address, port and transport, and that firewalls and the load balancer let UDP to this port pass"
        }
        (Step::Handshake, _) => "the port is open but does not answer the handshake: check that it is a TLS port",
        (Step::Request, _) => "the port is open but the server does not answer: check that it is a TURN server",
    }
    .to_owned()
}

fn refusal(request: &str, code: u16) -> String {
    let text = match code {
        403 => {
            "no route admits this peer: attach a UDPRoute or TCPRoute whose backends have its address and port"
        }
        420 => "the server does not know an attribute of the request; it may be too old for this",
        437 => "the local port is still in use by an earlier allocation: try again",
        440 => "the server has no relay address of this IP family",
        441 => "the allocation belongs to another user name",
        442 => "the server does not relay this transport to peers",
        443 => "the peer's IP family is not the relay's: ask for a relay of the other family",
        446 => "there is a connection to this peer already",
        447 => "the server could not connect to the peer: check that it listens there",
        486 => "the user's quota of allocations is reached: end others, or raise the quota",
        508 => "the server is at its limit: try again later, or add replicas",
        500..600 => "the server has a problem: see its log",
        _ => return format!("see the server's log for why it refused {request}"),
    };
    text.to_owned()
}
