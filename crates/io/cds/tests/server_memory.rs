//! What a client that never reads costs. Alone in its process, because it measures the memory of it.

mod service;

use service::*;
use stunner_cds::server::ConfigStore;

/// Bytes of memory that this process has in use.
fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("statm");
    let pages = statm.split(' ').nth(1).expect("a field");
    pages.parse::<usize>().expect("a number") * 4096
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_never_reads_holds_up_nobody_and_costs_nothing() {
    let store = ConfigStore::new();
    let (_server, address) = serve(&store);
    let mut stuck = Vec::new();
    for target in [
        "/api/v1/configs?watch=true",
        "/api/v1/configs/a/x?watch=true",
    ] {
        stuck.push(Watcher::open(address, target).await);
    }
    let mut reader = Watcher::open(address, "/api/v1/configs/a/x?watch=true").await;
    let reader = tokio::spawn(async move {
        let mut frames = 0;
        loop {
            frames += 1;
            if reader.payload().await.contains("\"last\"") {
                return frames;
            }
        }
    });
    eventually("subscribed", || store.census().subscribers == 3).await;
    let before = resident();
    let filler = "x".repeat(4 * 1024);
    for n in 0..10_000 {
        assert!(store.publish(id("a/x"), config("a/x", &format!("{n}{filler}"))));
        if n % 100 == 0 {
            tokio::task::yield_now().await;
        }
    }
    store.publish(id("a/x"), config("a/x", "last"));
    let frames = tokio::time::timeout(PATIENCE, reader)
        .await
        .expect("the newest in time")
        .expect("a reader");
    assert!(frames > 1, "{frames}");
    // 40 MB went through; what the kernel buffers for two sockets is not in this number.
    let grown = resident().saturating_sub(before);
    assert!(grown < 20 << 20, "{grown} bytes");
    drop(stuck);
    eventually("everyone is gone", || store.census().subscribers == 0).await;
}
