//! The floor: a relay without TURN. It moves the same packets between the same sockets with the
//! same system calls, strips and adds the four bytes of ChannelData, and checks nothing.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};

use stunner_net::poll::{Events, Interest, Poller, Token};
use stunner_net::udp::{RecvBatch, SendBatch, UdpOptions, UdpSocket};
use stunner_stun::channel_data::{self, HEADER_LEN};

use crate::server::Forwarding;

const LISTENER: Token = Token(u64::MAX);
const CHANNEL: u16 = 0x4000;
const SLOTS: usize = 64;

/// A client and the socket that stands for it towards the peer.
struct Flow {
    client: SocketAddr,
    relay: UdpSocket,
}

/// Forwards until killed.
pub fn run(mode: Forwarding, listen: SocketAddr, peer: SocketAddr) -> io::Result<()> {
    Forwarder::new(mode, listen, peer)?.run()
}

struct Forwarder {
    mode: Forwarding,
    peer: SocketAddr,
    listener: UdpSocket,
    relay_ip: IpAddr,
    poller: Poller,
    flows: Vec<Flow>,
    flow_by_client: HashMap<SocketAddr, usize>,
    received: RecvBatch,
    storage: SendBatch,
}

impl Forwarder {
    fn new(mode: Forwarding, listen: SocketAddr, peer: SocketAddr) -> io::Result<Self> {
        let options = UdpOptions {
            reuse_port: false,
            packet_info: false,
            gro: mode == Forwarding::Offload,
            ..UdpOptions::listener()
        };
        let listener = UdpSocket::bind(listen, &options)?;
        listener.set_segmentation(mode == Forwarding::Offload);
        let poller = Poller::new()?;
        poller.add(&listener, LISTENER, Interest::Readable)?;
        Ok(Forwarder {
            mode,
            peer,
            listener,
            relay_ip: listen.ip(),
            poller,
            flows: Vec::new(),
            flow_by_client: HashMap::new(),
            received: RecvBatch::new(SLOTS)?,
            storage: SendBatch::new(),
        })
    }

    fn run(mut self) -> io::Result<()> {
        let mut events = Events::with_capacity(256);
        // What was not read to its end comes again without a new edge.
        let mut ready: Vec<usize> = Vec::new();
        loop {
            self.poller.wait(&mut events, None)?;
            ready.extend(
                events
                    .iter()
                    .filter(|event| event.token != LISTENER)
                    .map(|event| event.token.0 as usize),
            );
            if events.iter().any(|event| event.token == LISTENER) {
                while self.relay_clients()? {}
            }
            while !ready.is_empty() {
                self.relay_peers(&mut ready)?;
            }
        }
    }

    fn batch(&self) -> usize {
        if self.mode == Forwarding::Single {
            1
        } else {
            SLOTS
        }
    }

    /// One batch of clients' packets; whether more may wait.
    fn relay_clients(&mut self) -> io::Result<bool> {
        let room = self.batch();
        let count = self.received.recv(&self.listener, 0, room)?;
        let mut slot = 0;
        while slot < count {
            let client = self.received.get(slot).from;
            let flow = self.flow(client)?;
            let run = (slot..count)
                .take_while(|slot| self.received.get(*slot).from == client)
                .count();
            let payloads = (slot..slot + run)
                .flat_map(|slot| self.received.get(slot).datagrams())
                .filter_map(|datagram| datagram.get(HEADER_LEN..));
            let relay = &self.flows[flow].relay;
            if self.mode == Forwarding::Single {
                for payload in payloads {
                    let _ = relay.send_to(self.peer, payload);
                }
            } else {
                let mut out = self.storage.begin();
                for payload in payloads {
                    let _ = out.push(self.peer, None, &[], payload, 0);
                }
                out.flush(relay);
            }
            slot += run;
        }
        Ok(count == room)
    }

    /// One batch of the peer's packets, from as many relay sockets as fit.
    fn relay_peers(&mut self, ready: &mut Vec<usize>) -> io::Result<()> {
        let room = self.batch();
        let mut filled: Vec<(usize, usize)> = Vec::with_capacity(room);
        let mut used = 0;
        while used < room
            && let Some(&flow) = ready.last()
        {
            let count = self
                .received
                .recv(&self.flows[flow].relay, used, room - used)?;
            if count < room - used {
                ready.pop();
            }
            filled.push((flow, count));
            used += count;
        }
        let mut packet = Vec::new();
        let mut out = self.storage.begin();
        let mut slot = 0;
        for (flow, count) in filled {
            let client = self.flows[flow].client;
            for group in (slot..slot + count).map(|slot| self.received.get(slot)) {
                for datagram in group.datagrams() {
                    let header = channel_data::header(CHANNEL, datagram.len() as u16);
                    if self.mode == Forwarding::Single {
                        packet.clear();
                        packet.extend_from_slice(&header);
                        packet.extend_from_slice(datagram);
                        let _ = self.listener.send_to(client, &packet);
                    } else {
                        let _ = out.push(client, None, &header, datagram, 0);
                    }
                }
            }
            slot += count;
        }
        out.flush(&self.listener);
        Ok(())
    }

    fn flow(&mut self, client: SocketAddr) -> io::Result<usize> {
        if let Some(&flow) = self.flow_by_client.get(&client) {
            return Ok(flow);
        }
        let options = UdpOptions {
            gro: self.mode == Forwarding::Offload,
            ..UdpOptions::relay()
        };
        let relay = UdpSocket::bind(SocketAddr::new(self.relay_ip, 0), &options)?;
        relay.set_segmentation(self.mode == Forwarding::Offload);
        let flow = self.flows.len();
        self.poller
            .add(&relay, Token(flow as u64), Interest::Readable)?;
        self.flows.push(Flow { client, relay });
        self.flow_by_client.insert(client, flow);
        Ok(flow)
    }
}
