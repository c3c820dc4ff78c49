//! What dataplanes cost at their start and leave at their end. A process of its own, because it counts the process'
//! threads and sockets.

#[path = "embed/world.rs"]
#[allow(dead_code, reason = "shared with the other tests of embedding")]
mod world;

use std::fs;
use std::time::Instant;

use stunner_dataplane::embed::Host;

use self::world::{TurnClient, config, echo, free_port, start};

/// Threads of shards, and open sockets and pollers.
fn count() -> (usize, usize) {
    let names = fs::read_dir("/proc/self/task").unwrap().flatten();
    let threads = names
        .filter_map(|task| fs::read_to_string(task.path().join("comm")).ok())
        .filter(|name| name.starts_with("shard-"))
        .count();
    let links = fs::read_dir("/proc/self/fd").unwrap().flatten();
    let sockets = links
        .filter_map(|link| fs::read_link(link.path()).ok())
        .filter(|link| link.to_string_lossy().contains(':'))
        .count();
    (threads, sockets)
}

#[tokio::test]
async fn ten_dataplanes_start_and_leave_nothing_behind() {
    // What the test itself keeps open.
    let peer = echo().await;
    let before = count();
    let host = Host::new();
    let began = Instant::now();
    let mut running = Vec::new();
    for number in 0..10 {
        let name = format!("ns/gateway-{number}");
        let port = free_port();
        let instance = start(&host, &name);
        instance.apply(config(&name, &[port])).await.unwrap();
        running.push((instance, port));
    }
    let took = began.elapsed();
    // How soon a gateway relays is judged where an optimised one starts from nothing: `tests/standalone`.
    println!("ten dataplanes took {took:?} to start");
    assert!(count().0 >= 10);

    let mut client = TurnClient::allocate(running[9].1).await;
    client.bind_channel(peer).await;
    assert!(client.echoes(peer).await);
    let began = Instant::now();
    for (instance, _) in running {
        instance.start_draining().await;
        instance.stop().await;
    }
    println!("and {:?} to stop", began.elapsed());
    drop(client);
    // A thread that has ended is listed for a moment longer.
    world::until("the end of all", async || count() == before).await;

    let instance = start(&host, "ns/dropped");
    instance
        .apply(config("ns/dropped", &[free_port()]))
        .await
        .unwrap();
    drop(instance);
    world::until("the end of a dropped one", async || count() == before).await;
}
