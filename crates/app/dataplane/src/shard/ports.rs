//! A shard's sockets of the listening ports.

use stunner_net::stream::Listener;
use stunner_net::udp::UdpSocket;
use stunner_turn::ListenerId;

use super::command::{Mode, OpenPort, PortId, PortState, SessionCount, Sockets};

/// One port as this shard serves it.
#[derive(Debug)]
pub struct Port {
    pub number: u16,
    pub sockets: Sockets,
    pub sessions: SessionCount,
    /// Set by the update that opens the port, before any packet is read.
    pub state: Option<PortState>,
}

/// What a packet or connection needs to know about the port it came by.
#[derive(Debug, Clone)]
pub struct Arrival {
    pub number: u16,
    pub listener: ListenerId,
    pub accepting: bool,
    pub mode: Mode,
}

/// Ports by their number in the controller's table.
#[derive(Debug, Default)]
pub struct Ports {
    entries: Vec<Option<Port>>,
}

impl Ports {
    pub fn open(&mut self, open: OpenPort) {
        let index = open.id.0 as usize;
        if self.entries.len() <= index {
            self.entries.resize_with(index + 1, || None);
        }
        self.entries[index] = Some(Port {
            number: open.number,
            sockets: open.sockets,
            sessions: SessionCount::new(open.sessions),
            state: None,
        });
    }

    pub fn set_state(&mut self, state: PortState) {
        if let Some(Some(port)) = self.entries.get_mut(state.id.0 as usize) {
            port.state = Some(state);
        }
    }

    pub fn close(&mut self, id: PortId) {
        if let Some(entry) = self.entries.get_mut(id.0 as usize) {
            *entry = None;
        }
    }

    pub fn get(&self, index: u32) -> Option<&Port> {
        self.entries.get(index as usize)?.as_ref()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Port> {
        self.entries.iter().flatten()
    }

    /// How the port treats newcomers now.
    pub fn arrival(&self, index: u32) -> Option<Arrival> {
        let port = self.get(index)?;
        let state = port.state.as_ref()?;
        Some(Arrival {
            number: port.number,
            listener: state.listener,
            accepting: state.accepting,
            mode: state.mode.clone(),
        })
    }

    /// Whether new allocations are welcome on a port.
    pub fn is_accepting(&self, index: u32) -> bool {
        let state = self.get(index).and_then(|port| port.state.as_ref());
        state.is_some_and(|state| state.accepting)
    }

    pub fn datagram_socket(&self, index: u32, ipv6: bool) -> Option<&UdpSocket> {
        match &self.get(index)?.sockets {
            Sockets::Datagram(sockets) => sockets
                .iter()
                .find(|socket| socket.local_addr().is_ipv6() == ipv6),
            Sockets::Stream(_) => None,
        }
    }

    pub fn stream_socket(&self, index: u32, ipv6: bool) -> Option<&Listener> {
        match &self.get(index)?.sockets {
            Sockets::Stream(sockets) => sockets
                .iter()
                .find(|socket| socket.local_addr().is_ipv6() == ipv6),
            Sockets::Datagram(_) => None,
        }
    }

    /// A session came by this port.
    pub fn session_began(&self, index: u32) {
        if let Some(port) = self.get(index) {
            port.sessions.add();
        }
    }

    /// A session that came by this port is over.
    pub fn session_ended(&self, index: u32) {
        if let Some(port) = self.get(index) {
            port.sessions.remove();
        }
    }
}
