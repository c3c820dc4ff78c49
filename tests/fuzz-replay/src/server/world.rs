//! The server with everything around it, and what must hold after every step.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use stunner_config::PeerTransport;
use stunner_stun::{
    Class, Icmp, Message, MessageWriter, Method, TransactionId, attr, channel_data,
};
use stunner_turn::server::{
    ConnectionId, Effect, EndReason, FromClient, FromPeer, Policy, RelayGrant, RelayHeader,
    RelayRefusal, RelayRequest, RequestId, Server, Settings, Shared,
};
use stunner_turn::{AllocationId, ClientPath, ClientTransport, FiveTuple, LinkId, Now};

use super::input::Input;
use super::request::{Terms, request};
use super::rules::{LISTENERS, policy};

/// What one step may cause at most: an end with all permissions, channels and connections.
const MAX_EFFECTS_PER_STEP: usize = 10_000;
/// The longest answer: two relayed addresses, realm, nonce and the rest are far below.
const MAX_ANSWER: usize = 700;

const TRANSPORTS: [ClientTransport; 6] = [
    ClientTransport::Udp,
    ClientTransport::Udp,
    ClientTransport::Tcp,
    ClientTransport::Tls,
    ClientTransport::Dtls,
    ClientTransport::Tcp,
];

struct Client {
    path: ClientPath,
    terms: Terms,
}

pub struct World {
    server: Server,
    policy: Arc<Policy>,
    now: Now,
    clients: Vec<Client>,
    counter: u64,
    /// Relay requests that have no answer yet.
    waiting: VecDeque<RelayRequest>,
    /// Requests whose sockets were granted and not yet taken or abandoned.
    granted: BTreeSet<RequestId>,
    live: BTreeMap<AllocationId, ClientPath>,
    /// Peer connections, and whether the runtime still has to say how connecting went.
    connections: BTreeMap<ConnectionId, bool>,
    next_port: u16,
}

impl World {
    pub fn new() -> Self {
        let policy = Arc::new(policy(1, 0));
        let settings = Settings {
            software: "fuzz".to_owned(),
            max_permissions: 16,
            max_channels: 16,
            max_connections: 4,
            ..Settings::default()
        };
        let shared = Arc::new(Shared::new([7; 32], 1000));
        let server = Server::new(settings, shared, Arc::clone(&policy), [9; 32], 0);
        let client = |(number, transport): (usize, &ClientTransport)| {
            let ip: IpAddr = match number {
                1 => [0x2001, 0xdb8, 0xff, 0, 0, 0, 0, 1].into(),
                _ => [203, 0, 113, number as u8].into(),
            };
            let local: IpAddr = match number {
                1 => [0x2001, 0xdb8, 0, 0, 0, 0, 0, 1].into(),
                _ => [192, 0, 2, 1].into(),
            };
            let path = ClientPath {
                tuple: FiveTuple {
                    transport: *transport,
                    client: SocketAddr::new(ip, 5000),
                    local: SocketAddr::new(local, 3478),
                },
                listener: LISTENERS[number % 2],
                link: LinkId(number as u64),
                accepting: true,
            };
            Client {
                path,
                terms: Terms::default(),
            }
        };
        World {
            server,
            policy,
            now: Now {
                millis: 1_000_000,
                unix: 1_700_000_000,
            },
            clients: TRANSPORTS.iter().enumerate().map(client).collect(),
            counter: 0,
            waiting: VecDeque::new(),
            granted: BTreeSet::new(),
            live: BTreeMap::new(),
            connections: BTreeMap::new(),
            next_port: 50_000,
        }
    }

    pub fn raw_bytes(&mut self, input: &mut Input<'_>) {
        let client = self.client(input);
        let len = usize::from(input.byte());
        self.deliver(client, input.bytes(len));
    }

    pub fn request(&mut self, input: &mut Input<'_>) {
        let (client, bytes) = self.make_request(input);
        self.deliver(client, &bytes);
    }

    pub fn damaged_request(&mut self, input: &mut Input<'_>) {
        let (client, mut bytes) = self.make_request(input);
        let (at, xor) = (usize::from(input.byte()), input.byte());
        if let Some(byte) = bytes.get_mut(at) {
            *byte ^= xor;
        }
        self.deliver(client, &bytes);
    }

    pub fn send_indication(&mut self, input: &mut Input<'_>) {
        let client = self.client(input);
        let mut buffer = [0; 512];
        let id = TransactionId([0xEE; 12]);
        let mut writer = MessageWriter::new(&mut buffer, Class::Indication, Method::SEND, id);
        let peer = input.peer();
        writer.xor_address(attr::XOR_PEER_ADDRESS, peer);
        let flags = input.byte();
        if flags & 0x80 != 0 {
            writer.dont_fragment();
        }
        writer.data(&[0x55; 64][..usize::from(flags & 0x3F)]);
        let len = writer.finish().expect("fits");
        self.deliver(client, &buffer[..len]);
    }

    pub fn channel_data(&mut self, input: &mut Input<'_>) {
        let client = self.client(input);
        let number = 0x4000 + u16::from(input.byte() & 0x07);
        let len = usize::from(input.byte() & 0x1F);
        let payload = input.bytes(len);
        let mut bytes = channel_data::header(number, payload.len() as u16).to_vec();
        bytes.extend(payload);
        self.deliver(client, &bytes);
    }

    /// The runtime answers a relay request, or one that does not exist.
    pub fn answer_relay(&mut self, input: &mut Input<'_>) {
        let choice = input.byte();
        let Some(asked) = self.waiting.pop_front() else {
            let refusal = Err(RelayRefusal::NoPort);
            let request = RequestId(u64::MAX - u64::from(choice));
            self.server.relay_opened(self.now, request, refusal);
            return;
        };
        let result = match choice {
            0xF0..=0xF3 => Err(RelayRefusal::NoPort),
            0xF4..=0xF7 => Err(RelayRefusal::Quota),
            0xF8..=0xFB => Err(RelayRefusal::FamilyUnsupported),
            0xFC..=0xFF => Err(RelayRefusal::BadReservation),
            _ => Ok(self.grant(&asked, choice & 0x0F)),
        };
        if result.is_ok() {
            self.granted.insert(asked.id);
        }
        self.server.relay_opened(self.now, asked.id, result);
    }

    pub fn peer_datagram(&mut self, input: &mut Input<'_>) {
        let (id, peer, len) = (
            self.allocation(input),
            input.peer(),
            usize::from(input.word()),
        );
        let FromPeer::Relay(relayed) = self.server.from_peer(self.now, id, peer, len) else {
            return;
        };
        let path = self.live.get(&id).expect("only live allocations relay");
        assert_eq!(path.tuple, relayed.path.tuple);
        self.assert_admitted(relayed.path, peer);
        let stream = path.tuple.transport.is_stream();
        let mut header = [0; RelayHeader::MAX];
        let (prefix, padding) = relayed.header.write(len, stream, &mut header);
        let whole = [&header[..prefix], &vec![0; len], &[0; 3][..padding]].concat();
        match relayed.header {
            RelayHeader::Channel(number) => {
                let data = channel_data::parse(&whole).expect("a ChannelData message");
                assert_eq!((data.number, data.payload.len()), (number, len));
            }
            RelayHeader::Data { .. } => {
                let message = Message::parse(&whole).expect("a Data indication");
                assert_eq!(message.data().map(<[u8]>::len), Some(len));
            }
        }
    }

    pub fn time_passes(&mut self, input: &mut Input<'_>) {
        let millis = match input.byte() {
            few @ 0..=0x3F => u64::from(few),
            seconds @ 0x40..=0xBF => u64::from(seconds) * 1000,
            // Past every lifetime there is.
            hours => u64::from(hours) * 60_000,
        };
        self.now.millis += millis;
        self.now.unix += millis / 1000;
        if input.byte() & 1 == 0 {
            self.run_timers();
        }
    }

    pub fn policy_changes(&mut self, input: &mut Input<'_>) {
        self.policy = Arc::new(policy(self.policy.generation + 1, input.byte()));
        self.server.set_policy(self.now, Arc::clone(&self.policy));
    }

    pub fn peer_connections(&mut self, input: &mut Input<'_>) {
        let choice = input.byte();
        let connection = pick(&self.connections, choice);
        let is_connecting = self.connections.get(&connection).copied();
        match choice >> 5 {
            // The runtime says how a connect went once, but may speak of what has gone meanwhile.
            0..=2 if is_connecting != Some(false) => {
                let result = if choice >> 5 == 2 { Err(()) } else { Ok(()) };
                match (is_connecting, result) {
                    (Some(_), Ok(())) => _ = self.connections.insert(connection, false),
                    _ => _ = self.connections.remove(&connection),
                }
                self.server.peer_connected(self.now, connection, result);
            }
            3 => {
                self.connections.remove(&connection);
                self.server.peer_closed(self.now, connection);
            }
            4 => self.server.connection_traffic(self.now, connection, 1, 2),
            _ => {
                let (id, peer) = (self.allocation(input), input.peer());
                if let Some(accepted) = self.server.peer_accepted(self.now, id, peer) {
                    assert!(self.live.contains_key(&id));
                    let known = self.connections.insert(accepted, false);
                    assert_eq!(known, None, "one id twice");
                }
            }
        }
    }

    pub fn something_ends(&mut self, input: &mut Input<'_>) {
        let choice = input.byte();
        match choice >> 6 {
            0 => {
                let path = self.clients[self.client(input)].path;
                self.server.client_closed(self.now, &path.tuple);
            }
            1 => {
                let listener = LISTENERS[usize::from(choice & 1)];
                self.server.end_listener(self.now, listener);
            }
            2 => {
                let id = self.allocation(input);
                let ended = self.server.end_allocation(self.now, id, EndReason::Killed);
                assert_eq!(ended, self.live.contains_key(&id));
            }
            _ => {
                let client = self.client(input);
                let accepting = &mut self.clients[client].path.accepting;
                *accepting = !*accepting;
            }
        }
    }

    pub fn icmp(&mut self, input: &mut Input<'_>) {
        let (id, peer) = (self.allocation(input), input.peer());
        let icmp = Icmp {
            icmp_type: input.byte(),
            code: input.word(),
            data: [0; 4],
        };
        self.server.icmp_from_peer(self.now, id, peer, icmp);
    }

    /// Ends all that lives: nothing may stay behind.
    pub fn end_everything(&mut self) {
        while let Some(asked) = self.waiting.pop_front() {
            let refusal = Err(RelayRefusal::NoPort);
            self.server.relay_opened(self.now, asked.id, refusal);
            self.settle();
        }
        for listener in LISTENERS {
            self.server.end_listener(self.now, listener);
            self.settle();
        }
        assert_eq!(self.server.allocation_count(), 0);
        assert!(self.connections.is_empty(), "{:?}", self.connections);
        self.run_timers();
        assert_eq!(
            self.server.next_deadline(),
            None,
            "no timer without an allocation"
        );
    }

    /// Does what the server wants done and checks that its account agrees with ours.
    pub fn settle(&mut self) {
        let mut effects = 0;
        while let Some(effect) = self.server.next_effect() {
            effects += 1;
            assert!(effects <= MAX_EFFECTS_PER_STEP, "effects without end");
            self.apply(effect);
        }
        assert_eq!(self.server.allocation_count(), self.live.len());
        assert_eq!(self.server.sessions().count(), self.live.len());
        assert!(self.live.len() <= self.clients.len(), "one per 5-tuple");
        assert!(self.granted.is_empty(), "sockets that nobody has or closes");
        for session in self.server.sessions() {
            let path = self.live.get(&session.allocation);
            assert_eq!(path.map(|path| path.tuple), Some(session.path().tuple));
            assert!(session.permissions().count() <= 16);
            assert!(session.channels().count() <= 16);
        }
    }

    fn apply(&mut self, effect: Effect) {
        match effect {
            Effect::Send { to, bytes } => self.receive(to, &bytes),
            Effect::OpenRelay(request) => self.waiting.push_back(request),
            Effect::RelayReady {
                allocation,
                request,
            } => {
                assert!(
                    self.granted.remove(&request),
                    "sockets that were not opened"
                );
                let session = self.server.sessions().find(|s| s.allocation == allocation);
                // Only an end among the same effects can have taken it away again.
                if let Some(session) = session {
                    self.live.insert(allocation, *session.path());
                }
            }
            Effect::AbandonRelay { request, .. } => {
                assert!(
                    self.granted.remove(&request),
                    "sockets that were not opened"
                );
            }
            Effect::CloseRelay { allocation, .. } => {
                assert!(self.live.remove(&allocation).is_some(), "closed twice");
            }
            Effect::ConnectPeer {
                allocation,
                connection,
                peer,
                ..
            } => {
                assert!(self.live.contains_key(&allocation));
                let known = self.connections.insert(connection, true);
                assert_eq!(known, None, "one id twice");
                let admission = &self.policy.listeners[&self.live[&allocation].listener].admission;
                assert!(admission.admit(PeerTransport::Tcp, peer).is_admitted());
            }
            Effect::ClosePeer { connection } => {
                assert!(
                    self.connections.remove(&connection).is_some(),
                    "closed twice"
                );
            }
            Effect::BindPeer { connection, path } => {
                assert!(self.connections.contains_key(&connection));
                assert!(path.tuple.transport.is_stream());
            }
            Effect::ForwardBind { .. } => panic!("there is one shard"),
            Effect::Ended(record) => assert!(!self.live.contains_key(&record.allocation)),
            Effect::CloseRelayAddress { .. }
            | Effect::CloseClient { .. }
            | Effect::ChannelBound { .. }
            | Effect::ChannelUnbound { .. }
            | Effect::Started(_)
            | Effect::Denied(_)
            | Effect::AuthFailed { .. } => (),
        }
    }

    /// A client gets a message: it must be one, and small.
    fn receive(&mut self, to: ClientPath, bytes: &[u8]) {
        let message = Message::parse(bytes).expect("the server writes STUN");
        assert!(bytes.len() <= MAX_ANSWER, "{} bytes", bytes.len());
        assert_ne!(message.class(), Class::Request);
        let error = message.error();
        assert_eq!(error.is_some(), message.class() == Class::Error);
        if let Some(error) = error {
            let error = error.expect("a valid ERROR-CODE");
            assert!(!error.reason.is_empty());
            let client = self.clients.iter_mut().find(|c| c.path.tuple == to.tuple);
            let client = client.expect("answers go to who asked");
            client.terms.learn(&message);
        }
    }

    fn deliver(&mut self, client: usize, bytes: &[u8]) {
        let path = self.clients[client].path;
        if let FromClient::Relay(relayed) = self.server.from_client(self.now, &path, bytes) {
            let owner = self.live.get(&relayed.allocation);
            let owner = owner.expect("only live allocations relay");
            assert_eq!(owner.tuple, path.tuple);
            assert!(relayed.payload.len() <= bytes.len());
            self.assert_admitted(path, relayed.peer);
        }
    }

    /// Whatever passes is admitted by the policy of this very moment.
    fn assert_admitted(&self, path: ClientPath, peer: SocketAddr) {
        let listener = self.policy.listeners.get(&path.listener);
        let admission = &listener.expect("a listener of the policy").admission;
        let verdict = admission.admit(PeerTransport::Udp, peer);
        assert!(verdict.is_admitted(), "{peer}");
    }

    fn make_request(&mut self, input: &mut Input<'_>) -> (usize, Vec<u8>) {
        let client = self.client(input);
        let mut buffer = vec![0; 1500];
        let connection = |choice| pick(&self.connections, choice).0;
        let terms = &self.clients[client].terms;
        let len = request(&mut buffer, input, terms, connection, &mut self.counter);
        buffer.truncate(len);
        (client, buffer)
    }

    fn grant(&mut self, asked: &RelayRequest, shape: u8) -> RelayGrant {
        self.next_port = self.next_port.checked_add(2).unwrap_or(50_000);
        let port = self.next_port;
        let mut grant = RelayGrant {
            v4: asked.v4.map(|ip| SocketAddr::new(ip.into(), port)),
            v6: asked.v6.map(|ip| SocketAddr::new(ip.into(), port)),
            reservation: asked.reserve_next.then_some(*b"reserved"),
        };
        // One family of two may be missing; in the end, even both.
        if shape & 0x03 == 1 {
            grant.v6 = None;
        }
        if shape & 0x03 == 2 {
            grant.v4 = None;
        }
        grant
    }

    fn run_timers(&mut self) {
        self.server.on_timeout(self.now);
        if let Some(deadline) = self.server.next_deadline() {
            assert!(
                deadline > self.now.millis,
                "the timer would turn on the spot"
            );
        }
    }

    fn client(&self, input: &mut Input<'_>) -> usize {
        usize::from(input.byte()) % self.clients.len()
    }

    /// A live allocation, or now and then one that never was.
    fn allocation(&self, input: &mut Input<'_>) -> AllocationId {
        let choice = usize::from(input.byte());
        let unknown = AllocationId {
            index: choice as u32,
            generation: 77,
        };
        let live = self.live.keys().nth(choice % (self.live.len() + 1));
        live.copied().unwrap_or(unknown)
    }
}

/// A connection that exists, or one that does not.
fn pick(connections: &BTreeMap<ConnectionId, bool>, choice: u8) -> ConnectionId {
    let nth = usize::from(choice & 0x1F) % (connections.len() + 1);
    let unknown = ConnectionId(u32::from(choice));
    connections.keys().nth(nth).copied().unwrap_or(unknown)
}
