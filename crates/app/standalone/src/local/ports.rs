//! Who gets a port of this host.

use std::collections::BTreeMap;

use stunner_api::NamespacedName;
use stunner_config::{Listener, PeerTransport, Protocol};

/// A port of one transport.
pub type Socket = (PeerTransport, u16);

/// Why a listener does not listen where its Gateway says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// Another Gateway has the port.
    TakenBy {
        gateway: NamespacedName,
        protocol: Protocol,
        port: u16,
        /// Where it listens meanwhile.
        stays_at: Option<u16>,
    },
    /// Another Gateway is to let go of the port and has not done so yet.
    Held {
        by: String,
        /// The Gateway is gone, and its sessions may go on for a while.
        is_by_sessions: bool,
        protocol: Protocol,
        port: u16,
        /// Where it listens meanwhile.
        stays_at: Option<u16>,
    },
    /// The operating system does not give it.
    Refused {
        protocol: Protocol,
        port: u16,
        /// What it says, and what to do about it.
        why: String,
        hint: String,
        /// Where it listens meanwhile.
        stays_at: Option<u16>,
    },
    /// The offset moves it beyond the numbers that ports have.
    OutOfRange { port: i32, offset: i32 },
    /// The dataplane cannot use what belongs to it, its certificate.
    Unusable { why: String, hint: String },
    /// The whole dataplane could not be started.
    NotStarted { why: String },
}

impl Trouble {
    /// Whether it may pass without anybody changing a manifest.
    pub fn may_pass(&self) -> bool {
        matches!(
            self,
            Trouble::Held { .. } | Trouble::Refused { .. } | Trouble::NotStarted { .. }
        )
    }
}

/// A listener and the port that it wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Want {
    pub listener: String,
    pub socket: Socket,
}

/// The port of a listener.
pub fn socket(listener: &Listener) -> Socket {
    (listener.protocol.socket(), listener.port)
}

/// Gives each port to one Gateway: to the one that has it, as long as it wants it, else to the first by namespace and
/// name. A Gateway that serves does not lose its port to one that comes later.
pub fn decide<'a>(
    wants: &BTreeMap<&'a NamespacedName, Vec<Want>>,
    holders: &BTreeMap<Socket, NamespacedName>,
) -> BTreeMap<Socket, &'a NamespacedName> {
    let mut given: BTreeMap<Socket, &'a NamespacedName> = BTreeMap::new();
    for (&gateway, wanted) in wants {
        for want in wanted {
            let current = given.entry(want.socket).or_insert(gateway);
            if holders.get(&want.socket) == Some(gateway) {
                *current = gateway;
            }
        }
    }
    given
}
