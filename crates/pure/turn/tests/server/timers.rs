//! Timers of very many allocations: operations are counted, not time.

use crate::client::TestClient;
use crate::world::World;

/// Clients that share one nonce: made by hand, because 100,000 challenges would test something else.
fn crowd(world: &mut World, count: u32) -> Vec<TestClient> {
    let mut first = TestClient::udp("198.51.100.1:1");
    first.allocate(world);
    let mut clients = vec![first.clone()];
    for i in 1..count {
        let mut client = first.clone();
        client.path.tuple.client.set_port((i % 60_000 + 1) as u16);
        client.path.tuple.local.set_port((3478 + i / 60_000) as u16);
        let answer = client.allocate(world);
        assert_eq!(answer.code(), 200);
        world.effects.clear();
        world.requests.clear();
        clients.push(client);
        world.advance_ms(u64::from(i % 7 == 0));
    }
    clients
}

#[test]
fn the_timers_of_100_000_allocations_cost_a_constant_each() {
    // Without optimisation the 100,000 signatures take longer than the rest of the tests together; the wheel's own test
    // has the full number always.
    const COUNT: u32 = if cfg!(debug_assertions) {
        10_000
    } else {
        100_000
    };
    let mut world = World::new();
    let clients = crowd(&mut world, COUNT);
    assert_eq!(world.server.allocation_count(), COUNT as usize);

    // Data and refreshes move deadlines without touching the wheel.
    let after_allocate = operations(&mut world);
    for client in clients.iter().take(1000) {
        client.clone().refresh(&mut world, Some(3600));
    }
    let after_refresh = operations(&mut world);
    assert!(after_refresh - after_allocate < 10);

    // Every allocation ends, at its own time, for a handful of operations: linked once, moved down at most once per
    // level (two operations), taken out once.
    world.advance(3700);
    assert_eq!(world.server.allocation_count(), 0);
    let total = operations(&mut world);
    let each = total as f64 / f64::from(COUNT);
    assert!(each < 14.0, "{each} operations per allocation");
    assert_eq!(world.server.next_deadline(), None);
}

fn operations(world: &mut World) -> u64 {
    let now = world.now;
    world.server.on_timeout(now);
    world.settle();
    world.server.stats().timer_operations
}

#[test]
fn a_quiet_server_is_not_woken_often() {
    let mut world = World::new();
    let (mut client, _) = world.allocated();
    client.refresh(&mut world, Some(3600));
    let mut wakes = 0;
    while let Some(deadline) = world.server.next_deadline() {
        wakes += 1;
        world.now.millis = world.now.millis.max(deadline);
        let now = world.now;
        world.server.on_timeout(now);
    }
    assert!(wakes < 12, "{wakes} wakes for one hour of nothing");
}
