//! Live relay ports of all dataplanes of a process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use stunner_config::PeerTransport;
use stunner_config::admission::RelayPorts;

type Port = (PeerTransport, u16);

/// The relay ports of all dataplanes.
#[derive(Debug, Default)]
pub(crate) struct LiveRelays {
    /// What admission asks for every packet.
    ports: Arc<RelayPorts>,
    /// A port may be open on several addresses at once: its bit clears with the last of them.
    open: Mutex<HashMap<Port, u32>>,
}

impl LiveRelays {
    pub fn ports(&self) -> &Arc<RelayPorts> {
        &self.ports
    }

    /// Keeps others from opening or closing relay ports meanwhile.
    pub fn lock(&self) -> OpenRelays<'_> {
        OpenRelays {
            ports: &self.ports,
            open: self.open.lock().unwrap_or_else(PoisonError::into_inner),
        }
    }
}

/// Which relay ports are open, for as long as nobody else may change it.
#[derive(Debug)]
pub(crate) struct OpenRelays<'a> {
    ports: &'a RelayPorts,
    open: MutexGuard<'a, HashMap<Port, u32>>,
}

impl OpenRelays<'_> {
    pub fn contains(&self, transport: PeerTransport, port: u16) -> bool {
        self.open.contains_key(&(transport, port))
    }

    pub fn opened(&mut self, transport: PeerTransport, port: u16) {
        *self.open.entry((transport, port)).or_insert(0) += 1;
        self.ports.set(transport, port);
    }

    pub fn closed(&mut self, transport: PeerTransport, port: u16) {
        let Some(count) = self.open.get_mut(&(transport, port)) else {
            return;
        };
        *count -= 1;
        if *count == 0 {
            self.open.remove(&(transport, port));
            self.ports.clear(transport, port);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relay_port_is_live_until_the_last_socket_on_it_closes() {
        let relays = LiveRelays::default();
        let udp = PeerTransport::Udp;
        relays.lock().opened(udp, 5000);
        relays.lock().opened(udp, 5000);
        relays.lock().closed(udp, 5000);
        assert!(relays.ports().contains(udp, 5000));
        relays.lock().closed(udp, 5000);
        assert!(!relays.ports().contains(udp, 5000));
        relays.lock().closed(udp, 5000);
    }
}
