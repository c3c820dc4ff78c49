//! One fault at a time in a world that is well otherwise, and the hop that must be named.

mod network;
mod objects;
mod serving;

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};
use stunner_api::NamespacedName;
use stunner_config::{ParseOptions, Protocol};

use super::provider::Provider;
use super::*;
use crate::commands::doctor::facts::{
    BackendFacts, BackendState, Bound, CertificateFacts, PodFacts, RouteFacts, Routes, SecretFacts,
    Trial, Tried, WorkloadFacts,
};
use crate::commands::doctor::finding::first_dead;

const NOW: i64 = 1_800_000_000;
const DAY: i64 = 86_400;

fn object<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("an object")
}

fn known<T: serde::de::DeserializeOwned>(value: Value) -> Asked<Option<T>> {
    Asked::Known(Some(object(value)))
}

fn condition(kind: &str, status: &str, reason: &str, message: &str) -> Value {
    json!({"type": kind, "status": status, "reason": reason, "message": message,
           "observedGeneration": 1, "lastTransitionTime": "2026-01-01T00:00:00Z"})
}

fn good(kind: &str) -> Value {
    condition(kind, "True", kind, "All is well.")
}

fn class() -> Value {
    json!({"metadata": {"name": "stunner"},
           "spec": {"controllerName": "stunner.l7mp.io/gateway-operator", "parametersRef": {
               "group": "stunner.l7mp.io", "kind": "GatewayConfig", "name": "config", "namespace": "stunner"}},
           "status": {"conditions": [good("Accepted")]}})
}

fn gateway() -> Value {
    json!({"metadata": {"name": "gw", "namespace": "media", "generation": 1, "uid": "u"},
           "spec": {"gatewayClassName": "stunner", "listeners": [
               {"name": "udp", "protocol": "TURN-UDP", "port": 3478},
           ]},
           "status": {
               "conditions": [good("Accepted"), good("Programmed")],
               "listeners": [{"name": "udp", "attachedRoutes": 1, "supportedKinds": [], "conditions": [
                   good("Accepted"), good("ResolvedRefs"), good("Programmed")]}]}})
}

fn service() -> Value {
    json!({"metadata": {"name": "gw", "namespace": "media", "labels": {
               "stunner.l7mp.io/related-gateway-name": "gw"}},
           "spec": {"type": "LoadBalancer", "ports": [{"name": "udp", "port": 3478, "protocol": "UDP", "nodePort": 30001}]},
           "status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}})
}

fn config(public: &str) -> stunner_config::Config {
    let text = json!({"version": "v1", "admin": {"name": "media/gw"},
        "auth": {"type": "static", "credentials": {"username": "u", "password": "p"}},
        "listeners": [{"name": "media/gw/udp", "protocol": "TURN-UDP", "address": "$STUNNER_ADDR", "port": 3478,
                       "public_address": public, "public_port": 3478, "routes": ["media/route"]}],
        "clusters": [{"name": "media/route", "type": "STATIC", "endpoints": ["10.0.0.7"]}]});
    let options = ParseOptions {
        expand_env: false,
        judge_listeners: false,
    };
    let parsed = stunner_config::parse_with(&text.to_string(), &|_| None, options);
    parsed.expect("a config").config
}

fn trial() -> Trial {
    Trial {
        listener: "udp".to_owned(),
        protocol: Protocol::TurnUdp,
        host: "192.0.2.1".to_owned(),
        port: 3478,
        dns: Asked::Unasked,
        stun: Tried::Done(Bound {
            mapped: address("198.51.100.9:4000"),
            rtt: Duration::from_millis(12),
        }),
        allocate: Tried::Done(address("10.0.0.1:50000")),
        certificate: Tried::Untried,
        peer: Some((address("10.0.0.7:0"), Tried::Done(()))),
        no_allocate: None,
    }
}

fn address(text: &str) -> SocketAddr {
    text.parse().expect("an address")
}

fn healthy() -> Facts {
    let served = config("192.0.2.1");
    let mut status = served.status_document();
    status["listeners"][0]["address"] = json!("10.0.0.1");
    status["allocationCount"] = json!(7);
    Facts {
        now: NOW,
        controller: "stunner.l7mp.io/gateway-operator".to_owned(),
        name: NamespacedName::new("media", "gw"),
        gateway: known(gateway()),
        class: known(class()),
        config: known(
            json!({"metadata": {"name": "config", "namespace": "stunner"},
                             "spec": {"userName": "u", "password": "p"}}),
        ),
        routes: Asked::Known(Routes {
            ours: vec![RouteFacts {
                id: "UDPRoute media/route".to_owned(),
                accepted: Some((true, String::new())),
                resolved: Some((true, String::new())),
                has_backends: true,
            }],
            ..Routes::default()
        }),
        backends: vec![BackendFacts {
            route: "UDPRoute media/route".to_owned(),
            id: "Service media/server".to_owned(),
            found: Asked::Known(Some(BackendState::Service {
                ready: 1,
                not_ready: 0,
            })),
        }],
        pods: Asked::Known(vec![PodFacts {
            name: "gw-1".to_owned(),
            ready: true,
            status: Asked::Known(status),
            ..PodFacts::default()
        }]),
        served: Asked::Known(Some(served)),
        service: known(service()),
        trials: vec![trial()],
        ..Facts::default()
    }
}

/// The first dead hop after a change of the world, with all that is said about it.
fn after(change: impl FnOnce(&mut Facts)) -> (Hop, String) {
    let mut facts = healthy();
    change(&mut facts);
    let findings = judge(&facts);
    let dead = first_dead(&findings).unwrap_or_else(|| panic!("nothing is dead: {findings:#?}"));
    assert!(dead.hint.is_some(), "no hint: {dead:?}");
    let said = [Some(&dead.what), dead.why.as_ref(), dead.hint.as_ref()];
    let said: Vec<&str> = said.into_iter().flatten().map(String::as_str).collect();
    (dead.hop, said.join(" | "))
}

#[track_caller]
fn names(hop: Hop, word: &str, change: impl FnOnce(&mut Facts)) {
    let (found, said) = after(change);
    assert_eq!(found, hop, "{said}");
    assert!(said.contains(word), "`{word}` is not in: {said}");
}

fn known_gateway(change: impl FnOnce(&mut Value)) -> Asked<Option<Gateway>> {
    let mut value = gateway();
    change(&mut value);
    known(value)
}

#[test]
fn a_healthy_gateway_has_nothing_but_good_hops() {
    let findings = judge(&healthy());
    assert!(
        findings
            .iter()
            .all(|finding| finding.verdict == Verdict::Ok),
        "{findings:#?}"
    );
    let hops: Vec<Hop> = findings.iter().map(|finding| finding.hop).collect();
    assert!(hops.is_sorted(), "{hops:?}");
    assert_eq!(hops.first(), Some(&Hop::Class));
    assert_eq!(hops.last(), Some(&Hop::Peer));
}
