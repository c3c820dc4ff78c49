//! Clusters, endpoints, routes, public address, log level, quota: no effect on live sessions; admission changes with
//! the next packet, in both directions.

use std::time::Duration;

use interop_tests::client::Incoming;
use interop_tests::config::Transport;
use interop_tests::scene::{CHANNEL, Scene, assert_alive};
use serde_json::json;

#[test]
fn a_withdrawn_endpoint_stops_packets_both_ways_and_its_return_resumes_them() {
    let mut scene = Scene::start();
    let mut sessions = scene.sessions();
    let relayed = sessions[0].refresh(600).is_ok();
    assert!(relayed);
    scene.apply(|config| config.cluster("udp")["endpoints"] = json!(["127.0.0.9"]));
    let seen = scene.peer.seen();
    for session in &mut sessions {
        let transport = session.link.transport();
        assert!(
            !session.echoes_within(CHANNEL, b"withdrawn", Duration::from_millis(300)),
            "{transport:?} still relays to a withdrawn peer"
        );
    }
    assert_eq!(
        scene.peer.seen(),
        seen,
        "a packet reached the withdrawn peer"
    );
    scene.apply(|config| {
        config.cluster("udp")["endpoints"] = json!(["127.0.0.1", "127.0.0.2", "::1"])
    });
    assert_alive(&mut sessions, "after the endpoint came back");
}

#[test]
fn a_withdrawn_endpoint_stops_packets_from_the_peer() {
    let mut scene = Scene::start();
    let mut client = scene.client(Transport::Udp);
    let relayed = client.allocate().expect("allocate");
    let peer = std::net::UdpSocket::bind("127.0.0.1:0").expect("bind");
    client
        .permit(peer.local_addr().expect("address"))
        .expect("permit");
    peer.send_to(b"before", relayed).expect("send");
    let incoming = client.receive(Duration::from_secs(20)).expect("receive");
    assert!(matches!(incoming, Some(Incoming::Data(_, data)) if data == b"before"));
    scene.apply(|config| config.cluster("udp")["endpoints"] = json!([]));
    peer.send_to(b"during", relayed).expect("send");
    let incoming = client.receive(Duration::from_millis(300)).expect("receive");
    assert!(
        incoming.is_none(),
        "a withdrawn peer got through: {incoming:?}"
    );
    scene.apply(|config| config.cluster("udp")["endpoints"] = json!(["127.0.0.1"]));
    peer.send_to(b"after", relayed).expect("send");
    let incoming = client.receive(Duration::from_secs(20)).expect("receive");
    assert!(matches!(incoming, Some(Incoming::Data(_, data)) if data == b"after"));
}

#[test]
fn a_withdrawn_route_stops_only_its_listener() {
    let mut scene = Scene::start();
    let (mut udp, mut tcp) = (scene.session(Transport::Udp), scene.session(Transport::Tcp));
    scene.apply(|config| config.listener("udp")["routes"] = json!(["tcp"]));
    assert!(
        !udp.echoes_within(CHANNEL, b"no route", Duration::from_millis(300)),
        "relays without a route"
    );
    assert!(
        tcp.echoes(CHANNEL, b"other listener"),
        "another listener's session is hurt"
    );
    assert_eq!(
        udp.permit(scene.peer.address())
            .err()
            .and_then(|refusal| refusal.code()),
        Some(403)
    );
    scene.apply(|config| config.listener("udp")["routes"] = json!(["tcp", "udp"]));
    assert!(udp.echoes(CHANNEL, b"route again"));
}

#[test]
fn ports_of_an_endpoint_are_enforced_on_live_channels() {
    let mut scene = Scene::start();
    let mut session = scene.session(Transport::Udp);
    let port = scene.peer.address().port();
    scene.apply(|config| {
        config.cluster("udp")["endpoints"] = json!([format!("127.0.0.1:<1-{}>", port - 1)])
    });
    assert!(
        !session.echoes_within(CHANNEL, b"port", Duration::from_millis(300)),
        "a port out of range is relayed to"
    );
    scene.apply(|config| {
        config.cluster("udp")["endpoints"] = json!([format!("127.0.0.1:<{port}-{port}>")])
    });
    assert!(session.echoes(CHANNEL, b"port again"));
}

#[test]
fn public_address_log_level_and_quota_touch_no_session() {
    let mut scene = Scene::start();
    let mut sessions = scene.sessions();
    scene.apply(|config| {
        for transport in Transport::ALL {
            config.listener(transport.name())["public_address"] = "198.51.100.7".into();
            config.listener(transport.name())["public_port"] = 5349.into();
        }
    });
    assert_alive(&mut sessions, "after a new public address");
    scene.apply(|config| config.0["admin"]["loglevel"] = "all:DEBUG".into());
    assert_alive(&mut sessions, "after a new log level");
    // Four allocations of one user are there already; a quota below that ends none of them.
    scene.apply(|config| config.0["admin"]["user_quota"] = 2.into());
    assert_alive(&mut sessions, "after a quota below what is in use");
    let refusal = scene
        .client(Transport::Udp)
        .allocate()
        .expect_err("over quota");
    assert_eq!(refusal.code(), Some(486));
}

#[test]
fn a_new_cluster_and_route_admit_at_once() {
    let mut scene = Scene::start_with(&[], |config| {
        config.cluster("udp")["endpoints"] = json!([]);
        config.cluster("tcp")["endpoints"] = json!([]);
    });
    let mut client = scene.client(Transport::Tcp);
    client.allocate().expect("allocate");
    assert_eq!(
        client
            .permit(scene.peer.address())
            .err()
            .and_then(|refusal| refusal.code()),
        Some(403)
    );
    scene.apply(|config| {
        let clusters = config.0["clusters"].as_array_mut().expect("clusters");
        clusters.push(json!({ "name": "late", "endpoints": ["127.0.0.1"] }));
        config.listener("tcp")["routes"] = json!(["late"]);
    });
    client
        .bind(CHANNEL, scene.peer.address())
        .expect("bind after the route came");
    assert!(client.echoes(CHANNEL, b"late"));
}
