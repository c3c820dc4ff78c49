//! Why a client could not reach a peer, in a sentence.

use std::net::SocketAddr;

use stunner_config::admission::DenyReason;

use super::NearestBackend;

/// A refused peer.
#[derive(Debug, Clone, Copy)]
pub struct Denial<'a> {
    /// `namespace/gateway/listener`.
    pub listener: &'a str,
    pub client: SocketAddr,
    /// With port 0 where the client asked for an address as a whole.
    pub peer: SocketAddr,
    /// As in the label of `stunner_denials_total`. Dataplanes of other versions may have reasons that are not known
    /// here.
    pub reason: &'a str,
    pub nearest: Option<&'a NearestBackend>,
}

/// What happened, why, and which backend may have been meant.
pub fn denial_sentence(denial: &Denial<'_>) -> String {
    let Denial {
        listener, client, ..
    } = denial;
    let peer = match denial.peer.port() {
        0 => denial.peer.ip().to_string(),
        _ => denial.peer.to_string(),
    };
    let reason = known(denial.reason);
    let why = denial_reason(denial.reason, listener, denial.peer.port());
    let mut sentence = format!("client {client} was refused peer {peer}: {why}");
    // What is refused whatever the routes say has no backend that was meant.
    let is_about_routes = matches!(
        reason,
        None | Some(DenyReason::NoRoute | DenyReason::Port | DenyReason::Transport)
    );
    if let Some(nearest) = denial.nearest.filter(|_| is_about_routes) {
        sentence.push_str(&format!("; nearest: {nearest}"));
    }
    sentence
}

/// Why a listener refuses a peer at a port, 0 for its address as a whole.
pub fn denial_reason(reason: &str, listener: &str, port: u16) -> String {
    match known(reason) {
        Some(reason) => why(reason, listener, port),
        None => format!("`{listener}` says `{reason}`"),
    }
}

fn known(reason: &str) -> Option<DenyReason> {
    DenyReason::ALL
        .into_iter()
        .find(|known| known.as_str() == reason)
}

fn why(reason: DenyReason, listener: &str, port: u16) -> String {
    let named = |what: &str, range: &str| {
        format!(
            "{what} is reached only where a backend in a route of `{listener}` names it by a prefix inside {range}"
        )
    };
    match reason {
        DenyReason::NoRoute => format!("not in any route of `{listener}`"),
        DenyReason::Port if port == 0 => {
            format!("the routes of `{listener}` have the address for some ports only")
        }
        DenyReason::Port => {
            format!(
                "the routes of `{listener}` have the address, but port {port} is outside their ranges"
            )
        }
        DenyReason::Transport => format!(
            "the routes of `{listener}` have it for the other transport only: a UDPRoute admits UDP, a TCPRoute TCP"
        ),
        DenyReason::Loopback => named("a loopback address", "127.0.0.0/8 or ::1/128"),
        DenyReason::LinkLocal => named(
            "a link-local or metadata address",
            "169.254.0.0/16 or fe80::/10",
        ),
        DenyReason::Multicast => named("a multicast address", "224.0.0.0/4 or ff00::/8"),
        DenyReason::Unspecified => named("the unspecified address", "0.0.0.0/8 or ::/128"),
        DenyReason::Broadcast => named("the broadcast address", "255.255.255.255/32"),
        DenyReason::OwnAddress => format!(
            "it is an address of the gateway itself, which no backend in a route of `{listener}` names"
        ),
        DenyReason::OwnListener => {
            "it is a listener of the gateway itself, which is never a peer".to_owned()
        }
    }
}
