//! What this host makes of Gateways.

use std::collections::BTreeMap;
use std::net::IpAddr;

use stunner_api::NamespacedName;
use stunner_api::gateway::{Gateway, GatewayStatus};
use stunner_config::PeerTransport;
use stunner_manifest::read;
use stunner_translate::{
    Object, ObjectKey, ObjectKind, Settings, Snapshot, Unit, Workload, translate,
};

use super::*;
use crate::provider::World;

const WORLD: &str = "
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: stunner}
spec:
  controllerName: stunner.l7mp.io/gateway-operator
  parametersRef: {name: config, namespace: default}
---
apiVersion: stunner.l7mp.io/v1
kind: GatewayConfig
metadata: {name: config, namespace: default}
spec: {userName: user, password: pass}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata:
  name: gw
  namespace: default
  uid: 0b3ad9ac-7d0f-4c8b-9d33-3b7f5b1f2a10
  annotations:
    stunner.l7mp.io/service-type: SERVICE_TYPE
    stunner.l7mp.io/targetport: '{\"udp\": 13478}'
spec:
  gatewayClassName: stunner
  listeners:
  - {name: udp, protocol: TURN-UDP, port: 3478}
  - {name: high, protocol: TURN-UDP, port: 60000}
";

fn host() -> HostAddresses {
    let given: Vec<IpAddr> = ["192.0.2.9", "2001:db8::9"]
        .map(|one| one.parse().expect("an address"))
        .to_vec();
    HostAddresses::given_or_found(&given)
}

fn name() -> NamespacedName {
    NamespacedName::new("default", "gw")
}

fn world(service_type: &str) -> (Snapshot, Gateway) {
    let text = WORLD.replace("SERVICE_TYPE", service_type);
    let reading = read("world.yaml", text.as_bytes());
    assert!(
        reading.problems.iter().all(|problem| !problem.is_error()),
        "{:?}",
        reading.problems
    );
    let snapshot = World::snapshot([reading]);
    let gateway = snapshot
        .gateways()
        .next()
        .map(|(_, gateway)| Gateway::clone(gateway));
    (snapshot, gateway.expect("a Gateway"))
}

/// The world once its Service is fulfilled.
fn fulfilled(service_type: &str) -> (Snapshot, Gateway) {
    let (mut snapshot, gateway) = world(service_type);
    let plan = translate(&snapshot, &Settings::default());
    let planned = plan.gateways[&name()]
        .workloads
        .iter()
        .find_map(|workload| match workload {
            Workload::Service(service) => Some(service.clone()),
            _ => None,
        });
    let fulfilled = service(&planned.expect("a Service"), host().first);
    let dirty = snapshot.apply(Object::Service(fulfilled.into()));
    assert!(dirty.contains(&Unit::Gateway(name())), "{dirty:?}");
    (snapshot, gateway)
}

#[test]
fn whatever_the_service_type_the_address_is_the_host_s() {
    for service_type in ["LoadBalancer", "NodePort", "ClusterIP"] {
        let (snapshot, _) = fulfilled(service_type);
        let plan = translate(&snapshot, &Settings::default());
        let status = plan.gateways[&name()].status.clone().expect("a status");
        assert_eq!(status.addresses[0].value, "192.0.2.9", "{service_type}");
        let programmed = status
            .conditions
            .iter()
            .find(|one| one.type_ == "Programmed");
        assert_eq!(
            programmed.map(|one| one.status.as_str()),
            Some("True"),
            "{service_type}"
        );
    }
}

#[test]
fn listeners_move_to_the_host_s_addresses_and_the_gateway_s_ports() {
    let (snapshot, gateway) = fulfilled("LoadBalancer");
    let plan = translate(&snapshot, &Settings::default());
    let config = plan.gateways[&name()].config.clone().expect("a config");
    assert_eq!(
        config.listeners[0].port, 13478,
        "in a pod it listens at the target port"
    );
    let localised = localise(&gateway, &config, &host(), 0);
    let listener = &localised.config.listeners[0];
    assert_eq!(listener.port, 3478);
    assert_eq!(listener.address_text, "192.0.2.9,2001:db8::9");
    assert!(listener.addresses.v4.is_some() && listener.addresses.v6.is_some());
    assert_eq!(listener.turn_uri(), "turn:192.0.2.9:3478?transport=udp");
    assert!(localised.troubles.is_empty());
}

#[test]
fn the_offset_moves_ports_and_not_beyond_the_end() {
    let (snapshot, gateway) = fulfilled("LoadBalancer");
    let plan = translate(&snapshot, &Settings::default());
    let config = plan.gateways[&name()].config.clone().expect("a config");
    let localised = localise(&gateway, &config, &host(), 10_000);
    let ports: Vec<u16> = localised
        .config
        .listeners
        .iter()
        .map(|one| one.port)
        .collect();
    assert_eq!(ports, [13_478]);
    assert_eq!(
        localised.troubles["high"],
        Trouble::OutOfRange {
            port: 60_000,
            offset: 10_000
        }
    );
    let localised = localise(&gateway, &config, &host(), -3_478);
    assert!(localised.troubles.contains_key("udp"), "port 0 is none");
}

#[test]
fn a_trouble_is_told_on_the_listener_and_on_its_gateway() {
    let (snapshot, _) = fulfilled("LoadBalancer");
    let plan = translate(&snapshot, &Settings::default());
    let mut status: GatewayStatus = plan.gateways[&name()].status.clone().expect("a status");
    let trouble = Trouble::TakenBy {
        gateway: NamespacedName::new("other", "first"),
        protocol: stunner_config::Protocol::TurnUdp,
        port: 3478,
        stays_at: None,
    };
    overlay(&mut status, &BTreeMap::from([("udp".to_owned(), trouble)]));
    let said = |kind: &str| {
        let conditions = status.listeners[0].conditions.iter();
        let found = conditions
            .clone()
            .find(|one| one.type_ == kind)
            .expect("a condition");
        (
            found.status.clone(),
            found.reason.clone(),
            found.message.clone(),
        )
    };
    let (status_, reason, message) = said("Accepted");
    assert_eq!(
        (status_.as_str(), reason.as_str()),
        ("False", "PortUnavailable")
    );
    assert!(
        message.contains("Gateway other/first") && message.contains("--port-offset"),
        "{message}"
    );
    assert_eq!(said("Programmed").0, "False");
    let own = status
        .conditions
        .iter()
        .find(|one| one.type_ == "Programmed")
        .expect("a condition");
    assert_eq!(own.status, "False");
    assert!(own.message.contains("udp"), "{}", own.message);
}

#[test]
fn a_port_goes_to_the_first_by_name_unless_one_serves_there_already() {
    let (a, b) = (
        NamespacedName::new("ns", "a"),
        NamespacedName::new("ns", "b"),
    );
    let socket: Socket = (PeerTransport::Udp, 3478);
    let want = || Want {
        listener: "udp".to_owned(),
        socket,
    };
    let wants = BTreeMap::from([(&b, vec![want()]), (&a, vec![want()])]);
    let given = decide(&wants, &BTreeMap::new());
    assert_eq!(given[&socket], &a);
    let given = decide(&wants, &BTreeMap::from([(socket, b.clone())]));
    assert_eq!(given[&socket], &b, "whoever serves keeps its port");
    let only_a = BTreeMap::from([(&a, vec![want()])]);
    let given = decide(&only_a, &BTreeMap::from([(socket, b)]));
    assert_eq!(
        given[&socket], &a,
        "but not when it does not want it any more"
    );
}

#[test]
fn tcp_and_udp_do_not_clash() {
    let (a, b) = (
        NamespacedName::new("ns", "a"),
        NamespacedName::new("ns", "b"),
    );
    let want = |transport| {
        vec![Want {
            listener: "one".to_owned(),
            socket: (transport, 3478),
        }]
    };
    let wants = BTreeMap::from([
        (&a, want(PeerTransport::Udp)),
        (&b, want(PeerTransport::Tcp)),
    ]);
    let given = decide(&wants, &BTreeMap::new());
    assert_eq!(given[&(PeerTransport::Udp, 3478)], &a);
    assert_eq!(given[&(PeerTransport::Tcp, 3478)], &b);
}

#[test]
fn a_host_without_any_other_address_has_loopback() {
    let given = [IpAddr::from([127, 0, 0, 1])];
    let host = HostAddresses::given_or_found(&given);
    assert_eq!(host.text(), "127.0.0.1");
    let found = HostAddresses::given_or_found(&[]);
    assert!(!found.first.is_unspecified());
}

#[test]
fn a_service_of_the_files_is_in_the_world() {
    let (snapshot, _) = world("LoadBalancer");
    let mut snapshot = snapshot;
    let key = ObjectKey::new(ObjectKind::Service, "default", "gw");
    assert!(
        snapshot.remove(&key).is_empty(),
        "none is made up before translation asks for one"
    );
}
