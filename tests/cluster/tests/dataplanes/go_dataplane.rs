//! The Go `stunnerd` v1.2.1 takes its config from our operator.

use std::time::Duration;

use cluster_tests::{eventually, need};
use interop_tests::config::Transport;
use interop_tests::echo::UdpEcho;
use interop_tests::go;

use crate::stage::{CHANNEL, SETTLE, Stage, refused};

#[tokio::test]
async fn the_go_dataplane_fed_by_our_operator_relays_over_udp_and_tcp_and_follows_the_route() {
    let test = "the_go_dataplane_fed_by_our_operator_relays_over_udp_and_tcp_and_follows_the_route";
    let original = need!(test, go::go_stunnerd());
    let mut stage = need!(test, Stage::set().await);
    let origin = format!("http://127.0.0.1:{}", stage.operator.cds_port());
    let mut dataplane = stage.dataplane(&original, &origin, &[]);
    // It panics when it is told to close the health server that it is just opening, which here is at once. The kubelet
    // would start it again, too.
    eventually("the dataplane has outlived its start", async || {
        let serves = stage.client(Transport::Udp)?.allocate().is_ok();
        tokio::time::sleep(Duration::from_secs(1)).await;
        if dataplane.ended().is_some() {
            dataplane = stage.dataplane(&original, &origin, &[]);
            return Err("it has ended".to_owned());
        }
        serves.then_some(()).ok_or("it does not serve".to_owned())
    })
    .await;
    let first = UdpEcho::start("127.0.0.1:0");
    let second = UdpEcho::start("127.0.0.2:0");
    let transports = [Transport::Udp, Transport::Tcp];
    for transport in transports {
        let mut session = stage.session(transport, &first).await;
        for size in [12, 100, 1200] {
            let back = session.echoes(CHANNEL, &vec![7; size]);
            assert!(back, "{transport:?}: {size} bytes");
        }
    }

    stage.route_to("second").await;
    stage.admitted("127.0.0.2").await;
    for transport in transports {
        stage.session(transport, &second).await;
        refused(&stage, transport, &first).await;
    }

    // The operator dies and comes back: sessions do not notice, and the next change is followed.
    let mut session = stage.session(Transport::Udp, &second).await;
    stage.operator.kill();
    assert!(session.echoes(CHANNEL, b"without an operator"));
    stage.operator.restart().await;
    tokio::time::sleep(SETTLE).await;
    assert!(session.echoes(CHANNEL, b"with the next operator"));
    stage.route_to("first").await;
    stage.admitted("127.0.0.1").await;
    for transport in transports {
        stage.session(transport, &first).await;
    }
}
