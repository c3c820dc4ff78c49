//! What a packet costs. `cargo test --release -p stunner-turn --test server -- --ignored --nocapture speed`

use std::hint::black_box;
use std::time::Instant;

use stunner_turn::server::{FromClient, FromPeer, RelayHeader};

use crate::client::{TestClient, channel_data};
use crate::world::{World, addr};

/// Nanoseconds per packet of the best of many short runs, which other work on the machine disturbs least.
fn best(packets: usize, mut run: impl FnMut()) -> f64 {
    let repeats = (20_000 / packets).max(1);
    let mut best = f64::MAX;
    for _ in 0..100 {
        let start = Instant::now();
        for _ in 0..repeats {
            run();
        }
        best = best.min(start.elapsed().as_nanos() as f64 / (repeats * packets) as f64);
    }
    best
}

#[test]
#[ignore = "measures time"]
fn nanoseconds_per_channel_data_packet() {
    for sessions in [1usize, 100, 10_000] {
        let mut world = World::new();
        let mut first = TestClient::udp("198.51.100.1:1");
        first.allocate(&mut world);
        let mut paths = Vec::new();
        for i in 0..sessions {
            let mut client = first.clone();
            client.path.tuple.client.set_port(2000 + i as u16);
            client.allocate(&mut world);
            client.bind(&mut world, 0x4000, "10.1.0.1:9");
            paths.push(client.path);
        }
        let ids: Vec<_> = paths
            .iter()
            .map(|path| {
                let mut all = world.server.sessions();
                let found = all.find(|s| s.path().tuple == path.tuple);
                found.unwrap().allocation
            })
            .collect();
        let bytes = channel_data(0x4000, &[7; 200]);
        let peer = addr("10.1.0.1:9");
        let now = world.now;
        let out = best(sessions, || {
            for path in &paths {
                let outcome = world.server.from_client(now, path, black_box(&bytes));
                assert!(matches!(black_box(outcome), FromClient::Relay(_)));
            }
        });
        let mut header = [0; RelayHeader::MAX];
        let back = best(sessions, || {
            for id in &ids {
                match world.server.from_peer(now, *id, black_box(peer), 200) {
                    FromPeer::Relay(to_client) => {
                        black_box(to_client.header.write(200, false, &mut header));
                        black_box(to_client.path.link);
                    }
                    FromPeer::Dropped(why) => panic!("{why:?}"),
                }
            }
        });
        println!("{sessions} sessions: {out:.1} ns client to peer, {back:.1} ns peer to client");
    }
}
