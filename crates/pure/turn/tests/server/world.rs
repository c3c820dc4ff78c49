//! The world around a server: clock, relay ports, policy, and what was sent.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;

use stunner_config::admission::{Admission, ClusterId, OwnAddresses, RelayPorts, Rule};
use stunner_config::{AuthMethod, PeerTransport, PortRange, RelayAddresses};
use stunner_turn::server::{
    AuthPolicy, Credentials, Draining, Effect, FromClient, FromPeer, ListenerPolicy, Policy,
    RelayGrant, RelayRefusal, RelayRequest, Server, Settings, Shared, ToClient,
};
use stunner_turn::{AllocationId, ClientPath, ListenerId, Now};

use crate::client::{Answer, TestClient};

pub const REALM: &str = "stunner.l7mp.io";
pub const UNIX: u64 = 1_700_000_000;
pub const START: u64 = 50_000_000;
pub const LISTENER: ListenerId = ListenerId(1);
pub const UDP_CLUSTER: ClusterId = ClusterId(7);
pub const TCP_CLUSTER: ClusterId = ClusterId(8);
pub const V6_CLUSTER: ClusterId = ClusterId(9);

pub fn addr(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

pub fn static_auth(username: &str, password: &str) -> AuthMethod {
    AuthMethod::Static {
        username: username.into(),
        password: password.into(),
    }
}

pub fn ephemeral_auth(secret: &str) -> AuthMethod {
    AuthMethod::Ephemeral {
        secret: secret.into(),
    }
}

pub fn rule(cluster: ClusterId, transport: PeerTransport, net: &str, ports: (u16, u16)) -> Rule {
    Rule {
        cluster,
        transport,
        net: net.parse().unwrap(),
        ports: PortRange::new(ports.0, ports.1),
        named: false,
    }
}

/// UDP and TCP peers in 10.1.0.0/16, UDP peers in 2001:db8:1::/48.
pub fn default_rules() -> Vec<Rule> {
    let all = (1, 65535);
    vec![
        rule(UDP_CLUSTER, PeerTransport::Udp, "10.1.0.0/16", all),
        rule(TCP_CLUSTER, PeerTransport::Tcp, "10.1.0.0/16", all),
        rule(V6_CLUSTER, PeerTransport::Udp, "2001:db8:1::/48", all),
    ]
}

pub fn listener(rules: Vec<Rule>) -> ListenerPolicy {
    let own = Arc::new(OwnAddresses::default());
    let ports = Arc::new(RelayPorts::new());
    let mut addresses = RelayAddresses::default();
    assert!(addresses.add("203.0.113.1".parse().unwrap()));
    assert!(addresses.add("2001:db8::1".parse().unwrap()));
    ListenerPolicy {
        name: "test".into(),
        admission: Arc::new(Admission::compile(rules, own, ports, false)),
        addresses,
    }
}

/// How the pretended runtime answers OpenRelay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relays {
    Grant,
    Refuse(RelayRefusal),
    /// Only this family can be had.
    OnlyV4,
    OnlyV6,
    /// The test answers itself.
    Wait,
}

pub struct World {
    pub server: Server,
    pub now: Now,
    pub policy: Policy,
    pub relays: Relays,
    pub reservation: Option<[u8; 8]>,
    /// Messages sent to clients and not looked at yet.
    pub sent: Vec<(ClientPath, Vec<u8>)>,
    /// Everything else that the server wanted done.
    pub effects: Vec<Effect>,
    pub requests: Vec<RelayRequest>,
    next_port: u16,
}

impl World {
    pub fn new() -> Self {
        Self::with_auth(static_auth("user", "pass"))
    }

    pub fn with_auth(method: AuthMethod) -> Self {
        Self::build(method, Settings::default(), 1000)
    }

    pub fn build(method: AuthMethod, settings: Settings, unauth_rate: u32) -> Self {
        let policy = Policy {
            generation: 1,
            auth: AuthPolicy::new(Credentials::new(REALM, method, None)),
            listeners: HashMap::from([(LISTENER, listener(default_rules()))]),
            guests: Vec::new(),
            draining: None,
        };
        let settings = Settings {
            software: "stunner-test".into(),
            ..settings
        };
        let shared = Arc::new(Shared::new([5; 32], unauth_rate));
        World {
            server: Server::new(settings, shared, Arc::new(policy.clone()), [9; 32], 3),
            now: Now {
                millis: START,
                unix: UNIX,
            },
            policy,
            relays: Relays::Grant,
            reservation: None,
            sent: Vec::new(),
            effects: Vec::new(),
            requests: Vec::new(),
            next_port: 50_000,
        }
    }

    /// Changes the policy in force.
    pub fn change(&mut self, change: impl FnOnce(&mut Policy)) {
        change(&mut self.policy);
        self.policy.generation += 1;
        let policy = Arc::new(self.policy.clone());
        self.server.set_policy(self.now, policy);
        self.settle();
    }

    pub fn set_rules(&mut self, rules: Vec<Rule>) {
        self.change(|policy| {
            policy.listeners.insert(LISTENER, listener(rules));
        });
    }

    pub fn set_auth(&mut self, realm: &str, method: AuthMethod) {
        let credentials = Arc::new(Credentials::new(realm, method, None));
        self.change(|policy| policy.auth.current = credentials);
    }

    pub fn drain_to(&mut self, alternate: Option<&str>) {
        let alternate_server = alternate.map(addr);
        self.change(|policy| policy.draining = Some(Draining { alternate_server }));
    }

    /// Lets time pass, with every timer at its moment.
    pub fn advance_ms(&mut self, millis: u64) {
        let end = self.now.millis + millis;
        let unix_end = self.now.unix * 1000 + millis;
        while let Some(deadline) = self.server.next_deadline().filter(|next| *next <= end) {
            let step = deadline.max(self.now.millis);
            self.now.unix = (unix_end - (end - step)) / 1000;
            self.now.millis = step;
            self.server.on_timeout(self.now);
            self.settle();
        }
        self.now = Now {
            millis: end,
            unix: unix_end / 1000,
        };
    }

    pub fn advance(&mut self, seconds: u64) {
        self.advance_ms(seconds * 1000);
    }

    /// Does what the server wants until it wants nothing.
    pub fn settle(&mut self) {
        while let Some(effect) = self.server.next_effect() {
            match effect {
                Effect::Send { to, bytes } => self.sent.push((to, bytes)),
                Effect::OpenRelay(request) => {
                    self.requests.push(request.clone());
                    self.answer_relay(request);
                }
                other => self.effects.push(other),
            }
        }
    }

    fn answer_relay(&mut self, request: RelayRequest) {
        let result = match self.relays {
            Relays::Wait => return,
            Relays::Refuse(refusal) => Err(refusal),
            Relays::Grant | Relays::OnlyV4 | Relays::OnlyV6 => Ok(self.grant(&request)),
        };
        self.server.relay_opened(self.now, request.id, result);
    }

    /// Addresses as asked for, at the next free port.
    pub fn grant(&mut self, request: &RelayRequest) -> RelayGrant {
        let port = self.next_port;
        self.next_port = self.next_port.checked_add(2).unwrap_or(1024);
        RelayGrant {
            v4: (request.v4.filter(|_| self.relays != Relays::OnlyV6)).map(|ip| (ip, port).into()),
            v6: (request.v6.filter(|_| self.relays != Relays::OnlyV4)).map(|ip| (ip, port).into()),
            reservation: self.reservation.filter(|_| request.reserve_next),
        }
    }

    pub fn answer_waiting_relay(&mut self, result: Result<RelayGrant, RelayRefusal>) {
        let request = self.requests.last().expect("an OpenRelay").clone();
        self.server.relay_opened(self.now, request.id, result);
        self.settle();
    }

    /// Hands bytes to the server.
    pub fn deliver<'p>(&mut self, path: &ClientPath, bytes: &'p [u8]) -> FromClient<'p> {
        let outcome = self.server.from_client(self.now, path, bytes);
        if matches!(outcome, FromClient::Relay(_)) {
            assert_eq!(self.server.next_effect(), None, "relaying has no effects");
        }
        self.settle();
        outcome
    }

    pub fn peer_sends(&mut self, id: AllocationId, peer: &str, len: usize) -> FromPeer {
        let outcome = self.server.from_peer(self.now, id, addr(peer), len);
        self.settle();
        outcome
    }

    pub fn relayed_from_peer(&mut self, id: AllocationId, peer: &str, len: usize) -> ToClient {
        match self.peer_sends(id, peer, len) {
            FromPeer::Relay(to_client) => to_client,
            FromPeer::Dropped(why) => panic!("dropped: {why:?}"),
        }
    }

    /// The next message to this client.
    pub fn answer_to(&mut self, path: &ClientPath) -> Option<Answer> {
        let at = (self.sent.iter()).position(|(to, _)| to.tuple == path.tuple)?;
        Some(Answer::new(self.sent.remove(at).1))
    }

    /// The id of the one live allocation.
    pub fn only(&self) -> AllocationId {
        let ids: Vec<_> = self.server.sessions().map(|s| s.allocation).collect();
        assert_eq!(ids.len(), 1, "exactly one allocation");
        ids[0]
    }

    /// A client with an allocation.
    pub fn allocated(&mut self) -> (TestClient, AllocationId) {
        let mut client = TestClient::udp("198.51.100.1:5000");
        assert_eq!(client.allocate(self).code(), 200);
        let id = self.only();
        (client, id)
    }

    /// Takes the effects that fit.
    pub fn take<T>(&mut self, mut pick: impl FnMut(&Effect) -> Option<T>) -> Vec<T> {
        let mut taken = Vec::new();
        self.effects.retain(|effect| match pick(effect) {
            Some(value) => {
                taken.push(value);
                false
            }
            None => true,
        });
        taken
    }
}
