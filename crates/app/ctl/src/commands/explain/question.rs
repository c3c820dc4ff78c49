//! What is asked.

use std::net::{IpAddr, SocketAddr};

use stunner_config::PeerTransport;
use stunner_flags::Wrong;

use crate::dataplanes::Wanted;

#[derive(Debug, Clone)]
pub(super) struct Question {
    pub(super) peer: IpAddr,
    /// `None` for any port of it.
    pub(super) port: Option<u16>,
    pub(super) client: Option<IpAddr>,
    /// As given: `NAME` or `NAMESPACE/GATEWAY/NAME`.
    pub(super) listener: Option<String>,
    pub(super) transport: PeerTransport,
}

impl Question {
    /// As the admin API takes it.
    pub(super) fn peer_text(&self) -> String {
        match self.port {
            Some(port) => SocketAddr::new(self.peer, port).to_string(),
            None => self.peer.to_string(),
        }
    }

    /// Whether it is about this listener of a gateway that is meant.
    pub(super) fn is_about(&self, wanted: &Wanted, listener: &str) -> bool {
        let named = |asked: &String| match asked.contains('/') {
            true => asked == listener,
            false => listener.rsplit('/').next() == Some(asked),
        };
        wanted.covers_listener(listener) && self.listener.as_ref().is_none_or(named)
    }
}

/// An address with or without a port.
pub(super) fn peer(text: &str) -> Result<(IpAddr, Option<u16>), Wrong> {
    if let Ok(socket) = text.parse::<SocketAddr>() {
        return match socket.port() {
            0 => Err(Wrong {
                why: "0 is no port".to_owned(),
                hint: "leave the port out to ask for any port of the address",
            }),
            port => Ok((socket.ip(), Some(port))),
        };
    }
    let bare = text
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'));
    match bare.unwrap_or(text).parse() {
        Ok(address) => Ok((address, None)),
        Err(_) => Err(Wrong {
            why: "it is no address".to_owned(),
            hint: "give an IP address and a port: `10.0.0.7:5000`, `[2001:db8::7]:5000`; names are resolved by \
                   clients, not by gateways",
        }),
    }
}

pub(super) fn client(text: &str) -> Result<IpAddr, Wrong> {
    text.parse().map_err(|_| Wrong {
        why: "it is no address".to_owned(),
        hint: "give an IP address without a port",
    })
}

pub(super) fn transport(text: &str) -> Result<PeerTransport, Wrong> {
    match text.to_ascii_lowercase().as_str() {
        "udp" => Ok(PeerTransport::Udp),
        "tcp" => Ok(PeerTransport::Tcp),
        _ => Err(Wrong {
            why: "there is no such protocol".to_owned(),
            hint: "peers are reached by `udp` or `tcp`; how the client reaches the gateway is the listener's",
        }),
    }
}
