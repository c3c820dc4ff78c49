//! Clusters that the tests of one binary share.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use interop_tests::skip::Missing;

use crate::cluster::Cluster;
use crate::crds::GatewayApi;

type Started = Result<&'static Cluster, Missing>;

/// The cluster of this test binary with that Gateway API, started by the first test that asks. Tests that share one
/// keep to names of their own, also for what has no namespace.
pub fn shared(api: GatewayApi) -> Started {
    static CLUSTERS: Mutex<BTreeMap<GatewayApi, Started>> = Mutex::new(BTreeMap::new());
    let mut clusters = CLUSTERS.lock().unwrap_or_else(PoisonError::into_inner);
    clusters.entry(api).or_insert_with(|| start(api)).clone()
}

/// Starts it from a thread that never ends: the kernel kills child processes with the thread that started them, which
/// for these is when the whole test binary ends.
fn start(api: GatewayApi) -> Started {
    let (answer, cluster) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("runtime");
        let started = runtime.block_on(Cluster::start(api));
        let started = started.map(|cluster| &*Box::leak(Box::new(cluster)));
        let _ = answer.send(started);
        loop {
            std::thread::park();
        }
    });
    cluster.recv().expect("the shared cluster starts")
}
