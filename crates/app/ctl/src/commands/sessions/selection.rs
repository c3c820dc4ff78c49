//! Which sessions are meant, and what each of them is called.

use std::net::{IpAddr, SocketAddr};

use stunner_cluster::{Filter, Session};
use stunner_flags::Wrong;

/// An address, with or without a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Address {
    Host(IpAddr),
    Socket(SocketAddr),
}

impl Address {
    pub(super) fn read(text: &str) -> Result<Address, Wrong> {
        if let Ok(socket) = text.parse() {
            return Ok(Address::Socket(socket));
        }
        let bare = text
            .strip_prefix('[')
            .and_then(|text| text.strip_suffix(']'));
        match bare.unwrap_or(text).parse() {
            Ok(host) => Ok(Address::Host(host)),
            Err(_) => Err(Wrong {
                why: "it is no address".to_owned(),
                hint: "give an IP address, with or without a port: `192.0.2.7`, `192.0.2.7:4000`, `[2001:db8::7]:4000`",
            }),
        }
    }

    fn covers(self, other: Address) -> bool {
        let same = |one: IpAddr, other: IpAddr| one.to_canonical() == other.to_canonical();
        match (self, other) {
            (Address::Host(one), Address::Host(other)) => same(one, other),
            (Address::Host(one), Address::Socket(other)) => same(one, other.ip()),
            // A permission is for all ports of its address.
            (Address::Socket(one), Address::Host(other)) => same(one.ip(), other),
            (Address::Socket(one), Address::Socket(other)) => {
                same(one.ip(), other.ip()) && one.port() == other.port()
            }
        }
    }
}

/// All conditions must hold; those left out hold always.
#[derive(Debug, Clone, Default)]
pub(super) struct Selection {
    pub(super) user: Option<String>,
    pub(super) client: Option<Address>,
    pub(super) peer: Option<Address>,
    pub(super) listener: Option<String>,
}

impl Selection {
    pub(super) fn is_empty(&self) -> bool {
        let Selection {
            user,
            client,
            peer,
            listener,
        } = self;
        user.is_none() && client.is_none() && peer.is_none() && listener.is_none()
    }

    /// What the dataplane can leave out by itself.
    pub(super) fn filter(&self) -> Filter {
        Filter {
            user: self.user.clone(),
            ..Filter::default()
        }
    }

    pub(super) fn covers(&self, session: &Session) -> bool {
        let user = |user: &String| *user == session.user;
        let client = |client: &Address| client.covers(Address::Socket(session.client));
        let listener = |wanted: &String| match wanted.contains('/') {
            true => *wanted == session.listener,
            false => session.listener.rsplit('/').next() == Some(wanted),
        };
        let peer = |wanted: &Address| {
            let peers = session.peers.iter();
            let mut peers = peers.filter_map(|peer| Address::read(&peer.peer).ok());
            peers.any(|peer| wanted.covers(peer))
        };
        self.user.as_ref().is_none_or(user)
            && self.client.as_ref().is_none_or(client)
            && self.listener.as_ref().is_none_or(listener)
            && self.peer.as_ref().is_none_or(peer)
    }
}

/// A session somewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    /// `namespace/pod`; `None` in a process that was named by its address.
    pub(super) pod: Option<String>,
    pub(super) session: Session,
}

impl Found {
    /// Says where the session is, so that it can be ended by this alone: `namespace/pod/ID`.
    pub(super) fn id(&self) -> String {
        match &self.pod {
            Some(pod) => format!("{pod}/{}", self.session.id),
            None => self.session.id.clone(),
        }
    }
}

/// An id apart: the pod, where there is one, and what the pod calls the session.
pub(super) fn split_id(id: &str) -> (Option<&str>, &str) {
    match id.rsplit_once('/') {
        Some((pod, id)) => (Some(pod), id),
        None => (None, id),
    }
}
