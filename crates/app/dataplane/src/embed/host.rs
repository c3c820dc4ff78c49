//! What the dataplanes of one process share, because the host has it only once.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use stunner_config::PeerTransport;
use stunner_net::host;
use tokio::sync::watch;

use super::LiveRelays;

/// Listening ports, live relay ports and open files. Cloning gives another handle to the same.
///
/// Dataplanes must know each other's listening ports: they are sockets of the gateway's own host, which no client may
/// reach as a peer, whichever dataplane it came by. A relay port is an ordinary peer to all of them.
#[derive(Clone)]
pub struct Host {
    shared: Arc<Shared>,
}

struct Shared {
    open_files: u64,
    relays: LiveRelays,
    joined: AtomicU64,
    members: watch::Sender<Members>,
}

type Members = BTreeMap<u64, Presence>;
type Port = (PeerTransport, u16);

/// What one dataplane has of the host.
#[derive(Debug, Default)]
struct Presence {
    name: Arc<str>,
    /// How often each port is claimed.
    ports: BTreeMap<Port, u32>,
    addresses: BTreeSet<IpAddr>,
}

/// What all other dataplanes have of the host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Neighbours {
    pub ports: BTreeSet<(PeerTransport, u16)>,
    /// Addresses that they advertise.
    pub addresses: BTreeSet<IpAddr>,
}

impl Host {
    /// Raises the limit of open files of this process and takes it as the budget of all dataplanes.
    pub fn new() -> Self {
        Self::with_open_files(host::raise_open_files().unwrap_or_else(|error| {
            tracing::warn!(
                scope = "stunnerd",
                "cannot raise the limit of open files: {error}"
            );
            u64::MAX
        }))
    }

    pub(crate) fn with_open_files(open_files: u64) -> Self {
        Self {
            shared: Arc::new(Shared {
                open_files,
                relays: LiveRelays::default(),
                joined: AtomicU64::new(0),
                members: watch::Sender::new(Members::new()),
            }),
        }
    }

    pub(crate) fn open_files(&self) -> u64 {
        self.shared.open_files
    }

    pub(crate) fn relays(&self) -> &LiveRelays {
        &self.shared.relays
    }

    /// Whether some dataplane listens there.
    pub fn is_listening(&self, transport: PeerTransport, port: u16) -> bool {
        let members = self.shared.members.borrow();
        members
            .values()
            .any(|member| member.ports.contains_key(&(transport, port)))
    }

    /// Takes a dataplane in.
    pub(crate) fn join(&self, name: &str) -> Member {
        let number = self.shared.joined.fetch_add(1, Ordering::Relaxed);
        let presence = Presence {
            name: name.into(),
            ..Presence::default()
        };
        self.shared.members.send_modify(|members| {
            members.insert(number, presence);
        });
        Member {
            host: self.clone(),
            number,
        }
    }
}

impl Default for Host {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host")
            .field("open_files", &self.shared.open_files)
            .field("members", &*self.shared.members.borrow())
            .finish_non_exhaustive()
    }
}

/// A dataplane's place in its host; given up when dropped.
#[derive(Debug)]
pub(crate) struct Member {
    host: Host,
    number: u64,
}

impl Member {
    /// How many dataplanes of the process came before: no two have the same.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Claims a listening port before it is bound: sockets that allow SO_REUSEPORT would otherwise share it with
    /// another dataplane of this process without a word. Fails with the name of the one that has it.
    pub fn claim(&self, transport: PeerTransport, port: u16) -> Result<Claim, Arc<str>> {
        let port = (transport, port);
        let mut holder = None;
        self.host.shared.members.send_if_modified(|members| {
            holder = members
                .iter()
                .find(|(number, other)| **number != self.number && other.ports.contains_key(&port))
                .map(|(_, other)| Arc::clone(&other.name));
            if holder.is_some() {
                return false;
            }
            let claims = members.entry(self.number).or_default();
            let count = claims.ports.entry(port).or_insert(0);
            *count += 1;
            *count == 1
        });
        match holder {
            Some(holder) => Err(holder),
            None => Ok(Claim {
                host: self.host.clone(),
                number: self.number,
                port,
            }),
        }
    }

    /// Tells the others which addresses this dataplane advertises.
    pub fn set_addresses(&self, addresses: BTreeSet<IpAddr>) {
        self.host.shared.members.send_if_modified(|members| {
            let presence = members.entry(self.number).or_default();
            let changed = presence.addresses != addresses;
            presence.addresses = addresses;
            changed
        });
    }

    pub fn neighbours(&self) -> Neighbours {
        let mut all = Neighbours::default();
        for (number, other) in self.host.shared.members.borrow().iter() {
            if *number != self.number {
                all.ports.extend(other.ports.keys());
                all.addresses.extend(&other.addresses);
            }
        }
        all
    }

    /// Wakes whenever some dataplane has other ports or addresses than before.
    pub fn watch(&self) -> Watch {
        Watch(self.host.shared.members.subscribe())
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.host.shared.members.send_modify(|members| {
            members.remove(&self.number);
        });
    }
}

pub(crate) struct Watch(watch::Receiver<Members>);

impl Watch {
    pub async fn changed(&mut self) {
        if self.0.changed().await.is_err() {
            std::future::pending().await
        }
    }
}

/// A listening port that is this dataplane's; given back when dropped.
#[derive(Debug)]
pub(crate) struct Claim {
    host: Host,
    number: u64,
    port: Port,
}

impl Claim {
    pub fn transport(&self) -> PeerTransport {
        self.port.0
    }

    pub fn number(&self) -> u16 {
        self.port.1
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.host.shared.members.send_if_modified(|members| {
            let Some(presence) = members.get_mut(&self.number) else {
                return false;
            };
            let Some(count) = presence.ports.get_mut(&self.port) else {
                return false;
            };
            *count -= 1;
            let last = *count == 0;
            if last {
                presence.ports.remove(&self.port);
            }
            last
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claimed_port_is_refused_to_others_and_known_to_them_until_it_is_given_back() {
        let host = Host::with_open_files(1000);
        let (first, second) = (host.join("ns/a"), host.join("ns/b"));
        let claim = first.claim(PeerTransport::Udp, 3478).unwrap();
        assert_eq!(
            second
                .claim(PeerTransport::Udp, 3478)
                .unwrap_err()
                .to_string(),
            "ns/a"
        );
        assert!(second.claim(PeerTransport::Tcp, 3478).is_ok());
        assert!(
            second
                .neighbours()
                .ports
                .contains(&(PeerTransport::Udp, 3478))
        );
        assert_eq!(first.neighbours(), Neighbours::default(), "its own are not");
        drop(claim);
        assert_eq!(second.neighbours(), Neighbours::default());
        assert!(second.claim(PeerTransport::Udp, 3478).is_ok());
    }

    #[test]
    fn a_dataplane_that_leaves_takes_everything_along() {
        let host = Host::with_open_files(1000);
        let (first, second) = (host.join("ns/a"), host.join("ns/b"));
        let claim = first.claim(PeerTransport::Tcp, 443).unwrap();
        first.set_addresses(BTreeSet::from([IpAddr::from([192, 0, 2, 1])]));
        assert_eq!(second.neighbours().addresses.len(), 1);
        drop(first);
        drop(claim);
        assert_eq!(second.neighbours(), Neighbours::default());
        assert_ne!(host.join("ns/a").number(), 0, "numbers are not used again");
    }
}
