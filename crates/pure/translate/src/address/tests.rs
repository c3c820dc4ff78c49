use super::*;
use crate::fixture::World;
use serde_json::{Value, json};

/// Addresses as `address:port`, with a `!` where it is a host name.
fn addresses(world: &World) -> Vec<String> {
    world
        .translated(public_addresses)
        .into_iter()
        .map(|address| match address {
            None => "-".to_owned(),
            Some(address) => format!(
                "{}{}:{}",
                if address.hostname { "!" } else { "" },
                address.address,
                address.port
            ),
        })
        .collect()
}

fn two() -> World {
    World::with_listeners(&["a UDP 1", "b UDP 2"])
}

fn ports() -> Value {
    json!([
        {"name": "a", "port": 1, "protocol": "UDP", "nodePort": 30001},
        {"name": "b", "port": 2, "protocol": "UDP", "nodePort": 30002},
    ])
}

fn balanced(ingress: Value) -> World {
    two().with_service(json!({
        "spec": {"type": "LoadBalancer", "ports": ports()},
        "status": {"loadBalancer": {"ingress": ingress}},
    }))
}

#[test]
fn u127_to_u129_a_load_balancer_gives_its_address_to_all_ports() {
    let with_ports = json!([{"ip": "1.2.3.4", "ports": [
        {"port": 1, "protocol": "UDP"}, {"port": 2, "protocol": "UDP"},
    ]}]);
    assert_eq!(addresses(&balanced(with_ports)), ["1.2.3.4:1", "1.2.3.4:2"]);
    let named = json!([{"hostname": "lb.example.test"}]);
    assert_eq!(
        addresses(&balanced(named)),
        ["!lb.example.test:1", "!lb.example.test:2"]
    );
    let both = json!([{}, {"ip": "2001:db8::1", "hostname": "lb.example.test"}]);
    assert_eq!(
        addresses(&balanced(both)),
        ["2001:db8::1:1", "2001:db8::1:2"]
    );
}

#[test]
fn u130_to_u132_a_service_that_is_not_marked_as_ours_gives_no_address() {
    let with = |metadata: Value| {
        two().with_service(json!({
            "metadata": metadata,
            "spec": {"type": "LoadBalancer", "ports": ports()},
            "status": {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}},
        }))
    };
    for metadata in [
        json!({"annotations": null}),
        json!({"annotations": {"stunner.l7mp.io/related-gateway-name": "stunner/other"}}),
        json!({"ownerReferences": null}),
        json!({"ownerReferences": [{
            "apiVersion": "gateway.networking.k8s.io/v1",
            "kind": "Gateway", "name": "gw", "uid": "of the Gateway before",
        }]}),
    ] {
        assert_eq!(addresses(&with(metadata.clone())), ["-", "-"], "{metadata}");
    }
    let labelled = json!({"annotations": null, "labels": {
        "stunner.l7mp.io/related-gateway-name": "gw",
        "stunner.l7mp.io/related-gateway-namespace": "stunner",
    }});
    assert_eq!(addresses(&with(labelled)), ["1.2.3.4:1", "1.2.3.4:2"]);
}

#[test]
fn u133_u134_a_listener_without_a_port_of_the_service_has_no_address() {
    let world = World::with_listeners(&["a UDP 1", "odd SCTP 2", "c UDP 3", "d TCP 2"])
        .with_service(json!({
            "spec": {"type": "LoadBalancer", "ports": ports()},
            "status": {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}},
        }));
    assert_eq!(addresses(&world), ["1.2.3.4:1", "-", "-", "-"]);
}

#[test]
fn u135_a_load_balancer_may_have_an_address_per_port() {
    let ingress = json!([
        {"ip": "1.2.3.4", "ports": [{"port": 1, "protocol": "UDP"}]},
        {"ip": "5.6.7.8", "ports": [{"port": 2, "protocol": "UDP"}]},
    ]);
    assert_eq!(addresses(&balanced(ingress)), ["1.2.3.4:1", "5.6.7.8:2"]);
}

#[test]
fn u136_a_node_port_is_reached_on_the_first_node_with_an_ip_address() {
    let world = two()
        .with_service(json!({"spec": {"type": "NodePort", "ports": ports()}}))
        .with_node("a", &["InternalIP=10.0.0.1"])
        .with_node("b", &["ExternalDNS=b.example.test"])
        .with_node("c", &["Hostname=c", "ExternalIP=203.0.113.3"])
        .with_node("d", &["ExternalIP=203.0.113.4"]);
    assert_eq!(
        addresses(&world),
        ["203.0.113.3:30001", "203.0.113.3:30002"]
    );
    let named = two()
        .with_service(json!({"spec": {"type": "NodePort", "ports": ports()}}))
        .with_node("b", &["ExternalDNS=b.example.test"]);
    assert_eq!(
        addresses(&named),
        ["!b.example.test:30001", "!b.example.test:30002"]
    );
}

#[test]
fn a_load_balancer_without_address_is_reached_on_a_node() {
    let world = balanced(json!([])).with_node("a", &["ExternalIP=203.0.113.3"]);
    assert_eq!(
        addresses(&world),
        ["203.0.113.3:30001", "203.0.113.3:30002"]
    );
}

#[test]
fn u103_to_u105_the_address_of_a_node_is_external() {
    let of = |addresses: &[&str]| {
        let world = two().with_node("n", addresses);
        world.snapshot.nodes.values().find_map(|n| node_address(n))
    };
    let ip = |address: &str| {
        Some(NodeAddress {
            address: address.to_owned(),
            hostname: false,
        })
    };
    assert_eq!(
        of(&["ExternalIP=1.2.3.4", "ExternalIP=5.6.7.8"]),
        ip("1.2.3.4")
    );
    assert_eq!(
        of(&["ExternalDNS=n.example.test", "ExternalIP=1.2.3.4"]),
        ip("1.2.3.4")
    );
    assert_eq!(of(&["InternalIP=10.0.0.1"]), None);
    assert_eq!(of(&[]), None);
}

#[test]
fn a_service_inside_the_cluster_is_reached_there_if_it_is_meant_to_be() {
    let live = |world: World| {
        world.with_service(json!({"spec": {
            "type": "ClusterIP", "clusterIP": "10.96.0.7",
            "ports": [{"name": "a", "port": 1, "protocol": "UDP"}],
        }}))
    };
    let inside = two().annotate("stunner.l7mp.io/service-type", "ClusterIP");
    assert_eq!(addresses(&live(inside)), ["10.96.0.7:1", "-"]);
    assert_eq!(addresses(&live(two())), ["-", "-"]);
}

#[test]
fn a_requested_address_counts_for_every_listener_that_is_served() {
    let world = World::with_listeners(&["a UDP 1", "b TCP 2", "odd SCTP 3"])
        .ask_for_address(None, "198.51.100.7")
        .ask_for_address(None, "198.51.100.8");
    assert_eq!(addresses(&world), ["198.51.100.7:1", "198.51.100.7:2", "-"]);
    let named = two().ask_for_address(Some("Hostname"), "turn.example.test");
    assert_eq!(
        addresses(&named),
        ["!turn.example.test:1", "!turn.example.test:2"]
    );
}

#[test]
fn a_requested_address_of_another_type_is_not_used() {
    for (type_, value) in [
        (Some("NamedAddress"), "a"),
        (Some("example.test/pool"), "a"),
        (None, "not-an-address"),
    ] {
        let world = two().ask_for_address(type_, value);
        assert!(matches!(
            requested_address(&world.gateway),
            Some(RequestedAddress::Unusable { .. })
        ));
        assert_eq!(addresses(&world), ["-", "-"]);
    }
    let empty = two().ask_for_address(None, "");
    assert_eq!(requested_address(&empty.gateway), None);
}
