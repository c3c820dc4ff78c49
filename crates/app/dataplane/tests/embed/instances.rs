//! What an embedded dataplane does by itself and beside others.

use std::net::{Ipv4Addr, SocketAddr};

use stunner_config::Protocol;
use stunner_dataplane::embed::{Host, PrepareError, PrepareFault};
use stunner_dataplane::http::{Dataplane, ExplainQuery, PeerQuery, Readiness, RelayTransportName};
use stunner_turn::client::Event;

use crate::world::{TurnClient, config, config_value, echo, free_port, parse, serve, start, until};

fn local(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}

#[tokio::test]
async fn two_instances_relay_independently() {
    let host = Host::new();
    let (first, first_port) = serve(&host, "ns/a").await;
    let (second, second_port) = serve(&host, "ns/b").await;
    let peer = echo().await;
    let mut alice = TurnClient::allocate(first_port).await;
    let mut bob = TurnClient::allocate(second_port).await;
    for client in [&mut alice, &mut bob] {
        assert!(matches!(
            client.bind_channel(peer).await,
            Event::ChannelBound { .. }
        ));
        assert!(client.echoes(peer).await);
    }
    assert_eq!(first.dataplane().sessions().await.len(), 1);
    first.stop().await;
    assert!(!alice.echoes(peer).await, "its gateway is gone");
    assert!(bob.echoes(peer).await);
    assert_eq!(second.active_allocations().await, Some(1));
    second.stop().await;
}

#[tokio::test]
async fn a_configuration_says_what_changed_and_ends_only_sessions_of_removed_listeners() {
    let host = Host::new();
    let instance = start(&host, "ns/a");
    assert!(matches!(
        instance.dataplane().readiness(),
        Readiness::NotReady { .. }
    ));
    let ports = [free_port(), free_port()];
    let applied = instance.apply(config("ns/a", &ports)).await.unwrap();
    assert_eq!((applied.sessions, applied.ended), (0, 0));
    assert_eq!(applied.changes.listeners.len(), 2);
    assert_eq!(applied.changes.health, None, "served by somebody else");
    assert_eq!(instance.dataplane().readiness(), Readiness::Ready);
    let _alice = TurnClient::allocate(ports[0]).await;
    let _bob = TurnClient::allocate(ports[1]).await;

    let mut rerouted = config_value("ns/a", &ports);
    rerouted["clusters"][0]["endpoints"] = serde_json::json!(["127.0.0.2"]);
    let applied = instance.apply(parse(&rerouted)).await.unwrap();
    assert_eq!((applied.sessions, applied.ended), (2, 0));
    assert!(
        applied.changes.to_string().contains("ns/route"),
        "{applied}"
    );

    let applied = instance.apply(parse(&rerouted)).await.unwrap();
    assert!(applied.changes.is_empty());
    assert_eq!((applied.sessions, applied.ended), (2, 0));

    let applied = instance.apply(config("ns/a", &ports[..1])).await.unwrap();
    assert_eq!((applied.sessions, applied.ended), (1, 1));
    instance.stop().await;
}

#[tokio::test]
async fn a_port_held_elsewhere_is_a_typed_error_and_leaves_the_instance_as_it_was() {
    let host = Host::new();
    let (instance, port) = serve(&host, "ns/a").await;
    let peer = echo().await;
    let mut client = TurnClient::allocate(port).await;
    client.bind_channel(peer).await;
    let held = std::net::UdpSocket::bind("0.0.0.0:0").unwrap();
    let held_port = held.local_addr().unwrap().port();

    let spare = free_port();
    let error = instance
        .apply(config("ns/a", &[spare, held_port]))
        .await
        .unwrap_err();
    assert_eq!(error.fault(), PrepareFault::PortInUse);
    assert_eq!(error.listener(), Some("ns/a/udp1"));
    assert_eq!(error.port(), Some((Protocol::TurnUdp, held_port)));
    assert!(error.may_pass());
    assert!(error.hint().contains(&held_port.to_string()), "{error}");

    assert!(client.echoes(peer).await, "the session goes on");
    TurnClient::allocate(port).await;
    assert_eq!(instance.dataplane().listeners(), ["ns/a/udp0"]);
    std::net::UdpSocket::bind(("0.0.0.0", spare)).expect("nothing was opened");
    drop(held);
    instance
        .apply(config("ns/a", &[port, held_port]))
        .await
        .expect("free now");
    instance.stop().await;
}

#[tokio::test]
async fn a_port_of_another_instance_names_its_holder_and_is_free_when_that_stops() {
    let host = Host::new();
    let (first, port) = serve(&host, "ns/a").await;
    let second = start(&host, "ns/b");
    let error = second.apply(config("ns/b", &[port])).await.unwrap_err();
    assert!(
        matches!(&error, PrepareError::Taken { holder, .. } if holder == "ns/a"),
        "{error:?}"
    );
    assert_eq!(error.fault(), PrepareFault::PortTaken);
    assert_eq!(error.port(), Some((Protocol::TurnUdp, port)));

    // Given up by a change of configuration.
    first.apply(config("ns/a", &[])).await.unwrap();
    second.apply(config("ns/b", &[port])).await.unwrap();
    // Given up by an end.
    second.stop().await;
    first.apply(config("ns/a", &[port])).await.unwrap();
    first.stop().await;
}

fn admitted(dataplane: &dyn Dataplane, listener: &str, peer: SocketAddr) -> bool {
    let answer = dataplane.explain(ExplainQuery {
        listener: listener.to_owned(),
        peer: PeerQuery::Socket(peer),
        client: None,
        transport: RelayTransportName::Udp,
    });
    answer.unwrap()["admitted"] == true
}

#[tokio::test]
async fn listeners_of_other_instances_are_never_peers_not_even_those_that_open_later() {
    let host = Host::new();
    let (first, first_port) = serve(&host, "ns/a").await;
    let (second, second_port) = serve(&host, "ns/b").await;
    let later_port = free_port();
    let dataplane = first.dataplane();
    let sees = |port| admitted(&*dataplane, "ns/a/udp0", local(port));
    until("news of the other", async || !sees(second_port)).await;
    assert!(!sees(first_port));
    assert!(sees(later_port), "an ordinary port so far");

    let mut client = TurnClient::allocate(first_port).await;
    let refused = client.bind_channel(local(second_port)).await;
    assert!(
        matches!(refused, Event::Error { code: 403, .. }),
        "{refused:?}"
    );

    second
        .apply(config("ns/b", &[second_port, later_port]))
        .await
        .unwrap();
    until("news of the new listener", async || !sees(later_port)).await;
    let refused = client.bind_channel(local(later_port)).await;
    assert!(
        matches!(refused, Event::Error { code: 403, .. }),
        "{refused:?}"
    );

    second.stop().await;
    until("news of its end", async || sees(later_port)).await;
    first.stop().await;
}

#[tokio::test]
async fn relay_ports_of_other_instances_are_ordinary_peers() {
    let host = Host::new();
    let (first, first_port) = serve(&host, "ns/a").await;
    let (second, second_port) = serve(&host, "ns/b").await;
    let alice = TurnClient::allocate(first_port).await;
    let mut bob = TurnClient::allocate(second_port).await;
    let bound = bob.bind_channel(alice.relayed()).await;
    assert!(matches!(bound, Event::ChannelBound { .. }), "{bound:?}");
    first.stop().await;
    second.stop().await;
}

#[tokio::test]
async fn a_draining_instance_keeps_its_sessions_takes_no_new_ones_and_still_follows_its_config() {
    let host = Host::new();
    let (instance, port) = serve(&host, "ns/a").await;
    let peer = echo().await;
    let mut client = TurnClient::allocate(port).await;
    client.bind_channel(peer).await;
    instance.start_draining().await;
    assert!(client.echoes(peer).await);
    let refused = TurnClient::new(port).await.try_allocate().await;
    assert!(matches!(refused, Event::Error { .. }), "{refused:?}");
    assert!(matches!(
        instance.dataplane().readiness(),
        Readiness::NotReady { .. }
    ));
    let mut rerouted = config_value("ns/a", &[port]);
    rerouted["clusters"][0]["endpoints"] = serde_json::json!(["127.0.0.2"]);
    instance.apply(parse(&rerouted)).await.unwrap();
    assert!(!client.echoes(peer).await);
    assert_eq!(instance.active_allocations().await, Some(1));
    let other_handle = instance.clone();
    instance.stop().await;
    assert!(matches!(
        other_handle.apply(config("ns/a", &[])).await,
        Err(PrepareError::Stopped)
    ));
}

#[tokio::test]
async fn a_drain_that_is_called_off_leaves_no_trace() {
    let host = Host::new();
    let instance = start(&host, "ns/a");
    instance.start_draining().await;
    instance.stop_draining().await;
    assert!(
        matches!(instance.dataplane().readiness(), Readiness::NotReady { why } if why != "draining"),
        "it has nothing to serve yet"
    );
    instance.start_draining().await;
    let port = free_port();
    instance.apply(config("ns/a", &[port])).await.unwrap();
    instance.stop_draining().await;
    let peer = echo().await;
    let mut client = TurnClient::allocate(port).await;
    client.bind_channel(peer).await;

    instance.start_draining().await;
    let refused = TurnClient::new(port).await.try_allocate().await;
    assert!(matches!(refused, Event::Error { .. }), "{refused:?}");
    let says = |gauge: &str, value: u64| {
        let metrics = instance.dataplane().metrics();
        let mut samples = metrics.lines();
        let (gauge, value) = (format!("{gauge}{{"), format!("}} {value}"));
        samples.any(|sample| sample.starts_with(&gauge) && sample.ends_with(&value))
    };
    until("a count of what is left", async || {
        says("stunner_drain_remaining_allocations", 1)
    })
    .await;
    assert!(says("stunner_draining", 1));
    instance.stop_draining().await;
    assert!(client.echoes(peer).await);
    TurnClient::allocate(port).await;
    assert_eq!(instance.dataplane().readiness(), Readiness::Ready);
    assert_eq!(instance.dataplane().status()["status"], "READY");
    assert!(says("stunner_draining", 0));
    assert!(says("stunner_drain_remaining_allocations", 0));
    instance.stop().await;
}
