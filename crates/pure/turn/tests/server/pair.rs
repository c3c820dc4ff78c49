//! Our client machine against our server machine, hours of virtual time in a moment.

use stunner_turn::client::{AllocateOptions, Client, Event, Settings, Transport};
use stunner_turn::server::{FromClient, FromPeer, RelayHeader};

use crate::client::TestClient;
use crate::world::{REALM, UNIX, World, addr, ephemeral_auth, static_auth};

const PEER: &str = "10.1.0.1:9000";

struct Pair {
    world: World,
    client: Client,
    path: stunner_turn::ClientPath,
    events: Vec<Event>,
}

impl Pair {
    fn new(world: World, username: &str, password: &str) -> Self {
        let settings = Settings::with_password(username, password, Transport::Datagram);
        Pair {
            world,
            client: Client::new(settings, [3; 32]),
            path: TestClient::udp("198.51.100.1:5000").path,
            events: Vec::new(),
        }
    }

    /// Carries messages to and fro until both are quiet.
    fn exchange(&mut self) {
        while let Some(bytes) = self.client.poll_transmit() {
            self.world.deliver(&self.path, &bytes);
            while let Some(answer) = self.world.answer_to(&self.path) {
                let event = self.client.handle(self.world.now.millis, &answer.bytes);
                assert_ne!(event, Event::Ignored, "the client takes every answer");
                self.events.push(event);
            }
        }
        while let Some(event) = self.client.poll_event() {
            self.events.push(event);
        }
    }

    fn advance(&mut self, seconds: u64) {
        let end = self.world.now.millis + seconds * 1000;
        while let Some(next) = self.client.next_deadline().filter(|next| *next <= end) {
            let wait = next.saturating_sub(self.world.now.millis);
            self.world.advance_ms(wait);
            self.client.on_timeout(self.world.now.millis);
            self.exchange();
        }
        self.world.advance_ms(end - self.world.now.millis);
    }

    fn start(&mut self) {
        let now = self.world.now.millis;
        self.client
            .allocate(now, AllocateOptions::default())
            .unwrap();
        self.exchange();
        self.client.bind_channel(now, addr(PEER)).unwrap();
        self.exchange();
        assert_eq!(self.world.server.allocation_count(), 1);
    }

    /// Data passes both ways, by channel.
    fn talk(&mut self) {
        let mut buffer = [0; 512];
        let now = self.world.now.millis;
        let len = (self.client.send(addr(PEER), b"ping", &mut buffer)).expect("sent");
        match self.world.deliver(&self.path, &buffer[..len]) {
            FromClient::Relay(to_peer) => {
                assert_eq!(to_peer.peer, addr(PEER));
                assert_eq!(to_peer.payload, b"ping");
            }
            other => panic!("{other:?}"),
        }
        let id = self.world.only();
        let FromPeer::Relay(to_client) = self.world.peer_sends(id, PEER, 4) else {
            panic!("dropped");
        };
        let mut header = [0; RelayHeader::MAX];
        let (prefix, padding) = to_client.header.write(4, false, &mut header);
        let mut bytes = header[..prefix].to_vec();
        bytes.extend_from_slice(b"pong");
        bytes.extend(std::iter::repeat_n(0, padding));
        match self.client.handle(now, &bytes) {
            Event::Data { peer, range } => {
                assert_eq!(peer, addr(PEER));
                assert_eq!(&bytes[range], b"pong");
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_session_of_five_hours_never_misses_a_packet() {
    let mut pair = Pair::new(World::new(), "user", "pass");
    pair.start();
    for _ in 0..5 * 60 {
        pair.advance(60);
        pair.talk();
    }
    assert_eq!(pair.world.server.stats().allocations_started, 1);
    let stale = pair
        .world
        .server
        .stats()
        .errors()
        .find(|(code, _)| *code == 438);
    assert!(
        stale.is_some_and(|(_, count)| count >= 4),
        "nonces ran out on the way"
    );
}

#[test]
fn a_session_outlives_its_credential_and_every_change_of_credentials() {
    let expiry = UNIX + 60;
    let name = format!("{expiry}:alice");
    let owner = TestClient::udp("198.51.100.1:5000").with_ephemeral(&name, "secret");
    let world = World::with_auth(ephemeral_auth("secret"));
    let mut pair = Pair::new(world, &owner.username, &owner.password);
    pair.start();
    let changes = [
        (REALM, ephemeral_auth("second secret")),
        ("second.realm", static_auth("user", "pass")),
        ("third.realm", stunner_config::AuthMethod::None),
    ];
    for (realm, method) in changes {
        pair.world.set_auth(realm, method);
        for _ in 0..100 {
            pair.advance(60);
            pair.talk();
        }
    }
    assert_eq!(pair.world.server.stats().allocations_started, 1);
}
