use super::*;
use crate::key::ObjectKind;
use crate::manifests::{QUICKSTART, World, message, verdict};
use crate::snapshot::WriteFailure;
use crate::tls::tests::{pair_of, secret};
use stunner_api::gateway::GatewayStatus;

/// The Service of apps/gw with an address from a load balancer.
const SERVICE: &str = r"
kind: Service
metadata:
  name: gw
  namespace: apps
  labels: {stunner.l7mp.io/owned-by: stunner}
  annotations: {stunner.l7mp.io/related-gateway-name: apps/gw}
  ownerReferences: [{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, name: gw, uid: gw-uid}]
spec:
  type: LoadBalancer
  ports: [{name: udp, port: 3478, protocol: UDP}, {name: tls, port: 443, protocol: TCP}]
status: {loadBalancer: {ingress: [{ip: 198.51.100.10}]}}
";

const ROUTE: &str = r"
kind: StaticService
metadata: {name: ext, namespace: apps}
spec: {prefixes: [203.0.113.7]}
---
kind: UDPRoute
metadata: {name: r, namespace: apps, generation: 1}
spec:
  parentRefs: [{name: gw}, {name: gw}]
  rules: [{backendRefs: [{group: stunner.l7mp.io, kind: StaticService, name: ext}]}]
";

fn addressed() -> World {
    let mut world = World::new(QUICKSTART);
    world.apply(SERVICE);
    world
}

fn gateway_with(listeners: &str) -> String {
    format!(
        "kind: Gateway\nmetadata: {{name: gw, namespace: apps, uid: gw-uid}}\nspec: {{gatewayClassName: stunner, listeners: {listeners}}}\n"
    )
}

fn status(plan: &GatewayPlan) -> &GatewayStatus {
    plan.status.as_ref().unwrap()
}

fn verdicts(plan: &GatewayPlan) -> (String, String) {
    let conditions = &status(plan).conditions;
    (
        verdict(conditions, "Accepted"),
        verdict(conditions, "Programmed"),
    )
}

fn expected(accepted: &str, programmed: &str) -> (String, String) {
    (accepted.to_owned(), programmed.to_owned())
}

fn listener_verdicts(plan: &GatewayPlan, place: usize) -> [String; 4] {
    let conditions = &status(plan).listeners[place].conditions;
    ["Accepted", "Conflicted", "Programmed", "ResolvedRefs"].map(|kind| verdict(conditions, kind))
}

#[test]
fn a_gateway_in_order_is_programmed_and_renders_its_config() {
    let mut world = addressed();
    world.apply(ROUTE);
    let plan = world.gateway();
    assert_eq!(
        verdicts(&plan),
        expected("True/Accepted", "True/Programmed")
    );
    assert_eq!(
        listener_verdicts(&plan, 0),
        [
            "True/Accepted",
            "False/NoConflicts",
            "True/Programmed",
            "True/ResolvedRefs"
        ]
    );
    assert_eq!(status(&plan).listeners[0].attached_routes, 1);
    assert_eq!(status(&plan).conditions[0].observed_generation, Some(3));
    assert_eq!(status(&plan).addresses[0].value, "198.51.100.10");
    let config = plan.config.unwrap().to_json().to_string();
    assert_eq!(
        config,
        r#"{"version":"v1","admin":{"name":"apps/gw","loglevel":"all:INFO","healthcheck_endpoint":"http://:8086","offload_engine":"None"},"auth":{"type":"static","realm":"stunner.l7mp.io","credentials":{"password":"pass","username":"user"}},"listeners":[{"name":"apps/gw/udp","protocol":"TURN-UDP","public_address":"198.51.100.10","public_port":3478,"address":"$STUNNER_ADDR","port":3478,"routes":["apps/r"]}],"clusters":[{"name":"apps/r","type":"STATIC","protocol":"UDP","endpoints":["203.0.113.7"]}]}"#
    );
}

#[test]
fn a_gateway_that_never_was_in_order_gets_nothing_and_loses_nothing() {
    let mut world = addressed();
    world.remove(ObjectKind::GatewayConfig, "system", "config");
    let plan = world.gateway();
    assert_eq!(
        verdicts(&plan),
        expected("False/InvalidParameters", "False/Invalid")
    );
    assert_eq!(
        listener_verdicts(&plan, 0),
        [
            "Unknown/Pending",
            "False/NoConflicts",
            "Unknown/Pending",
            "True/ResolvedRefs"
        ]
    );
    assert_eq!(plan.config, None);
    assert_eq!((plan.workloads.len(), plan.retired.len()), (0, 0));
    assert_eq!(plan.last_good, None);
}

#[test]
fn a_gateway_that_was_in_order_stays_up_without_its_sources() {
    let sources = [
        (ObjectKind::GatewayConfig, "system", "config"),
        (ObjectKind::Dataplane, "", "default"),
        (ObjectKind::GatewayClass, "", "stunner"),
    ];
    for (kind, namespace, name) in sources {
        let mut world = addressed();
        let before = world.settle();
        world.remove(kind, namespace, name);
        for _ in 0..2 {
            let after = world.settle();
            assert_eq!(after.config, before.config, "{kind}");
            assert_eq!(after.workloads, before.workloads, "{kind}");
            assert_eq!(after.last_good, before.last_good, "{kind}");
            assert_eq!(
                verdicts(&after),
                expected("False/InvalidParameters", "True/Programmed")
            );
            assert!(message(&status(&after).conditions, "Accepted").contains("last good"));
        }
    }
}

#[test]
fn a_source_that_is_back_ends_the_fallback() {
    let mut world = addressed();
    world.settle();
    world.remove(ObjectKind::GatewayConfig, "system", "config");
    world.settle();
    world.apply(
        "kind: GatewayConfig\nmetadata: {name: config, namespace: system}\nspec: {userName: new, password: new}\n",
    );
    let plan = world.settle();
    assert_eq!(
        verdicts(&plan),
        expected("True/Accepted", "True/Programmed")
    );
    let good = plan.last_good.unwrap();
    assert_eq!(good.config.spec.user_name.as_deref(), Some("new"));
}

#[test]
fn routes_and_listeners_are_followed_while_the_last_good_serves() {
    let mut world = addressed();
    world.settle();
    world.remove(ObjectKind::GatewayConfig, "system", "config");
    world.apply(ROUTE);
    let config = world.gateway().config.unwrap();
    assert_eq!(config.clusters.len(), 1);
}

#[test]
fn a_gateway_of_a_foreign_class_is_none_of_ours() {
    let mut world = addressed();
    world.settle();
    let class = QUICKSTART.split("\n---").next().unwrap();
    world.apply(&class.replace("stunner.l7mp.io/gateway-operator", "example.test/other"));
    assert!(world.plan().gateways.is_empty());
}

#[test]
fn a_gateway_without_a_class_is_ours_only_if_it_was() {
    let mut world = World::new(QUICKSTART);
    world.remove(ObjectKind::GatewayClass, "", "stunner");
    assert!(world.plan().gateways.is_empty());
    // Our Service stands: it is left alone, and so is the status.
    world.apply(SERVICE);
    let plan = world.gateway();
    assert_eq!(plan.status, None);
    assert_eq!((plan.workloads.len(), plan.retired.len()), (0, 0));
}

#[test]
fn a_listener_without_an_address_keeps_the_gateway_unprogrammed() {
    let plan = World::new(QUICKSTART).gateway();
    assert_eq!(
        verdicts(&plan),
        expected("True/Accepted", "False/AddressNotAssigned")
    );
    assert_eq!(listener_verdicts(&plan, 0)[2], "False/Pending");
    assert!(plan.config.is_some());
}

#[test]
fn broken_listeners_are_left_out_and_say_why() {
    let mut world = addressed();
    world.apply(ROUTE);
    world.apply(&gateway_with(
        "[{name: udp, protocol: UDP, port: 3478}, {name: clash, protocol: DTLS, port: 3478}, {name: http, protocol: HTTP, port: 80}, {name: bare, protocol: TLS, port: 443}, {name: pass, protocol: TLS, port: 444, tls: {mode: Passthrough}}]",
    ));
    let plan = world.gateway();
    assert_eq!(
        verdicts(&plan),
        expected("True/Accepted", "False/AddressNotAssigned")
    );
    let no = "False/NoConflicts";
    let (invalid, resolved) = ("False/Invalid", "True/ResolvedRefs");
    assert_eq!(
        listener_verdicts(&plan, 1),
        [
            "False/PortUnavailable",
            "True/ProtocolConflict",
            invalid,
            resolved
        ]
    );
    assert_eq!(
        listener_verdicts(&plan, 2),
        ["False/UnsupportedProtocol", no, invalid, resolved]
    );
    assert_eq!(
        listener_verdicts(&plan, 3),
        ["True/Accepted", no, invalid, "False/InvalidCertificateRef"]
    );
    assert_eq!(
        listener_verdicts(&plan, 4),
        ["False/UnsupportedValue", no, invalid, resolved]
    );
    let attached: Vec<i32> = status(&plan)
        .listeners
        .iter()
        .map(|l| l.attached_routes)
        .collect();
    assert_eq!(attached, [1, 1, 0, 0, 1]);
    let names: Vec<String> = plan
        .config
        .unwrap()
        .listeners
        .into_iter()
        .map(|l| l.name)
        .collect();
    assert_eq!(names, ["apps/gw/udp"]);
}

#[test]
fn a_listener_that_the_service_cannot_carry_is_told_about_mixed_protocols() {
    let mut world = addressed();
    world.apply(&gateway_with(
        "[{name: udp, protocol: UDP, port: 3478}, {name: tcp, protocol: TCP, port: 3478}]",
    ));
    let plan = world.gateway();
    assert_eq!(verdicts(&plan).1, "False/AddressNotAssigned");
    let conditions = &status(&plan).listeners[1].conditions;
    assert_eq!(verdict(conditions, "Accepted"), "True/Accepted");
    assert_eq!(verdict(conditions, "Programmed"), "False/Invalid");
    assert!(message(conditions, "Programmed").contains("enable-mixed-protocol-lb"));
    assert_eq!(plan.config.unwrap().listeners.len(), 2);
}

#[test]
fn certificates_are_remembered_apart_from_credentials() {
    let (cert, key) = pair_of(&rcgen::PKCS_ECDSA_P256_SHA256);
    let listener = "[{name: tls, protocol: TLS, port: 443, hostname: turn.example.test, tls: {certificateRefs: [{name: c}]}}]";
    let mut world = addressed();
    world.apply(&gateway_with(listener));
    world.apply(&secret(
        "apps",
        "c",
        &[("tls.crt", &cert), ("tls.key", &key)],
    ));
    let before = world.settle();
    let config = before.config.as_ref().unwrap();
    assert_eq!(config.listeners[0].public_address, "turn.example.test");
    assert_eq!(status(&before).addresses[0].value, "198.51.100.10");

    world.remove(ObjectKind::Secret, "apps", "c");
    let after = world.settle();
    assert_eq!(after.config, before.config);
    assert_eq!(after.last_good, before.last_good);
    assert_eq!(
        verdicts(&after),
        expected("True/Accepted", "True/Programmed")
    );
    assert_eq!(
        listener_verdicts(&after, 0)[3],
        "False/InvalidCertificateRef"
    );
}

#[test]
fn a_refused_write_is_told_with_the_api_servers_words() {
    let mut world = addressed();
    let name = NamespacedName::new("apps", "gw");
    let failure = WriteFailure {
        message: "provided port is already allocated".to_owned(),
        external_ips_refused: false,
    };
    world
        .snapshot
        .write_failures
        .insert((name, WorkloadKind::Service), failure);
    let plan = world.gateway();
    assert_eq!(verdicts(&plan), expected("True/Accepted", "False/Invalid"));
    assert!(message(&status(&plan).conditions, "Programmed").contains("already allocated"));
}

#[test]
fn refused_external_ips_are_mentioned_and_no_failure() {
    let mut world = addressed();
    let name = NamespacedName::new("apps", "gw");
    let failure = WriteFailure {
        message: "no".to_owned(),
        external_ips_refused: true,
    };
    world
        .snapshot
        .write_failures
        .insert((name, WorkloadKind::Service), failure);
    let plan = world.gateway();
    assert_eq!(
        verdicts(&plan),
        expected("True/Accepted", "True/Programmed")
    );
    assert!(message(&status(&plan).conditions, "Accepted").contains("externalIPs"));
}

#[test]
fn nothing_is_made_for_a_gateway_that_is_being_deleted_and_its_config_stays() {
    let mut world = addressed();
    world.apply(&QUICKSTART.rsplit("\n---").next().unwrap().replace(
        "uid: gw-uid",
        "uid: gw-uid, deletionTimestamp: '2026-01-01T00:00:00Z'",
    ));
    let plan = world.gateway();
    assert!(plan.config.is_some());
    assert_eq!((plan.workloads.len(), plan.retired.len()), (0, 0));
}

#[test]
fn relay_address_discovery_asks_for_the_nodes_address() {
    let mut world = addressed();
    world.apply(&QUICKSTART.rsplit("\n---").next().unwrap().replace(
        "uid: gw-uid",
        "uid: gw-uid, annotations: {stunner.l7mp.io/enable-relay-address-discovery: 'true'}",
    ));
    let config = world.gateway().config.unwrap();
    assert_eq!(
        config.listeners[0].address_text,
        "__node_address_placeholder"
    );
}

#[test]
fn the_status_holds_no_secret() {
    let mut world = addressed();
    world.apply(
        "kind: GatewayConfig\nmetadata: {name: config, namespace: system}\nspec: {userName: u, password: hunter2, authType: broken}\n",
    );
    let plan = world.gateway();
    let text = serde_json::to_string(status(&plan)).unwrap();
    assert!(!text.contains("hunter2"));
    assert!(!format!("{:?}", addressed().gateway()).contains("pass\""));
}
