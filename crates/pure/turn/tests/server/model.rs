//! Random sequences against a model that a reader can check by eye.
//!
//! The model keeps plain lists and knows nothing of wheels, caches or hash tables. After every step the server's answer
//! has to be the model's, and at intervals the server's whole state.

use std::collections::BTreeMap;

use stunner_turn::AllocationId;
use stunner_turn::server::{DropReason, FromClient, FromPeer, RelayHeader};

use crate::client::{TestClient, channel_data};
use crate::world::{World, addr, default_rules};

const STEPS: usize = 10_000;
const CLIENTS: usize = 6;
const PEERS: [&str; 8] = [
    "10.1.0.1:10",
    "10.1.0.1:11",
    "10.1.0.2:10",
    "10.1.0.3:10",
    "10.1.0.4:10",
    "10.1.0.5:10",
    // Never admitted.
    "172.16.0.1:10",
    // Never of the right family.
    "[2001:db8:1::1]:10",
];

#[derive(Default, Clone)]
struct Session {
    expires: u64,
    /// Address to expiry.
    permissions: BTreeMap<String, u64>,
    /// Number to peer and expiry.
    channels: BTreeMap<u16, (usize, u64)>,
    to_peer: u64,
    to_client: u64,
}

struct Model {
    sessions: Vec<Option<Session>>,
    routed: bool,
}

impl Model {
    fn session(&mut self, client: usize, now: u64) -> Option<&mut Session> {
        let slot = &mut self.sessions[client];
        if slot.as_ref().is_some_and(|session| session.expires <= now) {
            *slot = None;
        }
        if let Some(session) = slot {
            session.permissions.retain(|_, expires| *expires > now);
            session.channels.retain(|_, (_, expires)| *expires > now);
        }
        slot.as_mut()
    }
}

fn ip(peer: usize) -> String {
    addr(PEERS[peer]).ip().to_string()
}

struct Chance(u64);

impl Chance {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }
}

fn run(seed: u64) {
    let mut chance = Chance(seed);
    let mut world = World::new();
    let mut clients: Vec<TestClient> = (0..CLIENTS)
        .map(|i| TestClient::udp(&format!("198.51.100.{}:5000", i + 1)))
        .collect();
    let mut ids: Vec<Option<AllocationId>> = vec![None; CLIENTS];
    let mut model = Model {
        sessions: vec![None; CLIENTS],
        routed: true,
    };
    for step in 0..STEPS {
        let who = chance.below(CLIENTS as u64) as usize;
        let peer = chance.below(PEERS.len() as u64) as usize;
        let number = 0x4000 + chance.below(6) as u16;
        let lifetime = [None, Some(0), Some(700), Some(9999)][chance.below(4) as usize];
        let now = world.now.millis;
        let routed = model.routed;
        let client = &mut clients[who];
        let label = format!("seed {seed} step {step}");
        match chance.below(20) {
            0..3 => {
                let code = client.allocate(&mut world).code();
                match model.session(who, now) {
                    Some(_) => assert_eq!(code, 437, "{label}"),
                    None => {
                        assert_eq!(code, 200, "{label}");
                        let expires = now + 600_000;
                        model.sessions[who] = Some(Session {
                            expires,
                            ..Session::default()
                        });
                        ids[who] = find(&world, client);
                    }
                }
            }
            3..5 => {
                let answer = client.refresh(&mut world, lifetime).code();
                match (model.session(who, now), lifetime) {
                    (None, _) => assert_eq!(answer, 437, "{label}"),
                    (Some(_), Some(0)) => {
                        assert_eq!(answer, 200, "{label}");
                        model.sessions[who] = None;
                    }
                    (Some(session), lifetime) => {
                        assert_eq!(answer, 200, "{label}");
                        let granted = lifetime.map_or(600, |l| l.clamp(600, 3600));
                        session.expires = now + u64::from(granted) * 1000;
                    }
                }
            }
            5..7 => {
                let code = client.permit(&mut world, &[PEERS[peer]]).code();
                let expected = match model.session(who, now) {
                    None => 437,
                    Some(_) if peer == 7 => 443,
                    Some(_) if peer == 6 || !routed => 403,
                    Some(session) => {
                        session.permissions.insert(ip(peer), now + 300_000);
                        200
                    }
                };
                assert_eq!(code, expected, "{label}");
            }
            7..10 => {
                let code = client.bind(&mut world, number, PEERS[peer]).code();
                let expected = match model.session(who, now) {
                    None => 437,
                    Some(_) if peer == 7 => 443,
                    Some(session) => {
                        let same = session
                            .channels
                            .get(&number)
                            .map(|(bound, _)| *bound == peer);
                        let taken = session
                            .channels
                            .iter()
                            .any(|(n, (p, _))| *p == peer && *n != number);
                        if same == Some(false) || taken {
                            400
                        } else if peer == 6 || !routed {
                            403
                        } else {
                            session.channels.insert(number, (peer, now + 600_000));
                            session.permissions.insert(ip(peer), now + 300_000);
                            200
                        }
                    }
                };
                assert_eq!(code, expected, "{label}");
            }
            10..13 => {
                let bytes = channel_data(number, b"12345");
                let outcome = world.deliver(&client.path, &bytes);
                let expected = match model.session(who, now) {
                    None => Err(DropReason::NoAllocation),
                    Some(session) => match session.channels.get(&number) {
                        None => Err(DropReason::NoChannel),
                        Some(_) if !routed => Err(DropReason::Denied),
                        Some((bound, _)) => {
                            session.to_peer += 1;
                            Ok(*bound)
                        }
                    },
                };
                match (outcome, expected) {
                    (FromClient::Relay(sent), Ok(bound)) => {
                        assert_eq!(sent.peer, addr(PEERS[bound]), "{label}");
                        assert_eq!(Some(sent.allocation), ids[who], "{label}");
                    }
                    (outcome, expected) => {
                        let why = expected.expect_err(&label);
                        assert_eq!(outcome, FromClient::Dropped(why), "{label}");
                    }
                }
            }
            13..15 => {
                let bytes = client.send_indication(PEERS[peer], b"123");
                let outcome = world.deliver(&client.path, &bytes);
                let expected = match model.session(who, now) {
                    None => Err(DropReason::NoAllocation),
                    Some(session) if !session.permissions.contains_key(&ip(peer)) => {
                        Err(DropReason::NoPermission)
                    }
                    Some(_) if !routed => Err(DropReason::Denied),
                    Some(session) => {
                        session.to_peer += 1;
                        Ok(())
                    }
                };
                match expected {
                    Ok(()) => assert!(matches!(outcome, FromClient::Relay(_)), "{label}"),
                    Err(why) => assert_eq!(outcome, FromClient::Dropped(why), "{label}"),
                }
            }
            15..18 => {
                let Some(id) = ids[who] else { continue };
                let outcome = world.peer_sends(id, PEERS[peer], 50);
                let expected = match model.session(who, now) {
                    None => Err(DropReason::NoAllocation),
                    Some(session) if !session.permissions.contains_key(&ip(peer)) => {
                        Err(DropReason::NoPermission)
                    }
                    Some(_) if !routed => Err(DropReason::Denied),
                    Some(session) => {
                        session.to_client += 1;
                        let mut bound = session.channels.iter();
                        Ok(bound.find(|(_, (p, _))| *p == peer).map(|(n, _)| *n))
                    }
                };
                match (outcome, expected) {
                    (FromPeer::Relay(to_client), Ok(channel)) => match to_client.header {
                        RelayHeader::Channel(n) => assert_eq!(Some(n), channel, "{label}"),
                        RelayHeader::Data { .. } => assert_eq!(channel, None, "{label}"),
                    },
                    (outcome, expected) => {
                        let why = expected.expect_err(&label);
                        assert_eq!(outcome, FromPeer::Dropped(why), "{label}");
                    }
                }
            }
            18 => {
                model.routed = !routed || chance.below(2) == 0;
                world.set_rules(if model.routed {
                    default_rules()
                } else {
                    vec![]
                });
            }
            _ => {
                let step = [1, 1000, 17_000, 120_000, 299_999][chance.below(5) as usize];
                world.advance_ms(step);
                for client in &mut clients {
                    // A fresh nonce when the old one has run out is not what this is about.
                    client.renew(&mut world);
                }
            }
        }
        world.effects.clear();
        world.requests.clear();
        if step % 50 == 0 {
            compare(&mut world, &mut model, &clients, &label);
        }
    }
    let stats = world.server.stats();
    let live = world.server.allocation_count() as u64;
    assert_eq!(stats.allocations_started - stats.allocations_ended, live);
}

fn find(world: &World, client: &TestClient) -> Option<AllocationId> {
    let mut sessions = world.server.sessions();
    sessions
        .find(|session| session.path().tuple == client.path.tuple)
        .map(|session| session.allocation)
}

/// The whole state, not just what the last step touched.
fn compare(world: &mut World, model: &mut Model, clients: &[TestClient], label: &str) {
    let now = world.now;
    world.server.on_timeout(now);
    world.settle();
    for (who, client) in clients.iter().enumerate() {
        let session = world
            .server
            .sessions()
            .find(|s| s.path().tuple == client.path.tuple);
        let expected = model.session(who, now.millis);
        assert_eq!(session.is_some(), expected.is_some(), "{label}");
        let (Some(session), Some(expected)) = (session, expected) else {
            continue;
        };
        assert_eq!(session.expires(), expected.expires, "{label}");
        assert_eq!(session.to_peer().packets, expected.to_peer, "{label}");
        assert_eq!(session.to_client().packets, expected.to_client, "{label}");
        let permissions: BTreeMap<String, u64> = session
            .permissions()
            .map(|(ip, t)| (ip.to_string(), t))
            .collect();
        assert_eq!(permissions, expected.permissions, "{label}");
        let channels: BTreeMap<u16, (std::net::SocketAddr, u64)> = session
            .channels()
            .map(|(n, peer, t)| (n, (peer, t)))
            .collect();
        let modelled = expected.channels.iter();
        let modelled: BTreeMap<_, _> = modelled
            .map(|(n, (p, t))| (*n, (addr(PEERS[*p]), *t)))
            .collect();
        assert_eq!(channels, modelled, "{label}");
    }
}

impl TestClient {
    /// Takes a new nonce, by asking for something without credentials.
    fn renew(&mut self, world: &mut World) {
        let mut bare = self.clone();
        bare.nonce.clear();
        bare.transaction = 1 << 60;
        let method = stunner_stun::Method::REFRESH;
        if let Some(challenge) = bare.try_ask(world, method, |_| {}) {
            self.learn(&challenge);
        }
    }
}

#[test]
fn ten_thousand_random_steps_agree_with_the_model_seed_1() {
    run(1);
}

#[test]
fn ten_thousand_random_steps_agree_with_the_model_seed_2() {
    run(2);
}

#[test]
fn ten_thousand_random_steps_agree_with_the_model_seed_3() {
    run(3);
}

#[test]
fn ten_thousand_random_steps_agree_with_the_model_seed_4() {
    run(4);
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(1))]
    /// A seed of its own in every run.
    #[test]
    fn random_steps_of_any_seed_agree_with_the_model(seed: u64) {
        run(seed);
    }
}
