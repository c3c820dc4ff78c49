//! One fault at a time in a world that is well otherwise, and the hop that must be named.

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

#[test]
fn classes() {
    names(Hop::Class, "does not exist", |facts| {
        facts.class = Asked::Known(None)
    });
    names(Hop::Class, "example.test/other", |facts| {
        let mut class = class();
        class["spec"]["controllerName"] = json!("example.test/other");
        facts.class = known(class);
    });
    names(Hop::Class, "no operator", |facts| {
        let mut class = class();
        class["status"] = Value::Null;
        facts.class = known(class);
    });
    // Another name under our domain is an operator of ours that says so by accepting the class.
    let mut facts = healthy();
    let mut class = class();
    class["spec"]["controllerName"] = json!("stunner.l7mp.io/staging");
    facts.class = known(class);
    assert_eq!(first_dead(&judge(&facts)), None);
}

#[test]
fn configs() {
    names(Hop::Config, "stunner/config does not exist", |facts| {
        facts.config = Asked::Known(None);
        let mut class = class();
        class["status"]["conditions"] =
            json!([condition("Accepted", "False", "InvalidParameters", "No.")]);
        facts.class = known(class);
    });
    names(Hop::Config, "parametersRef", |facts| {
        let mut class = class();
        class["spec"]["parametersRef"] = Value::Null;
        facts.class = known(class);
    });
    names(Hop::Config, "password", |facts| {
        facts.config = known(
            json!({"metadata": {"name": "config", "namespace": "stunner"}, "spec": {"userName": "u"}}),
        );
    });
    let secret = |found| SecretFacts {
        name: NamespacedName::new("stunner", "creds"),
        found,
    };
    names(Hop::Config, "stunner/creds", |facts| {
        facts.secret = Some(secret(Asked::Known(None)));
    });
    names(Hop::Config, "lacks the key", |facts| {
        facts.secret = Some(secret(Asked::Known(Some(Some(
            "it lacks the key `password`".to_owned(),
        )))));
    });
    // Who may not read Secrets is not told that they are broken.
    let mut facts = healthy();
    facts.secret = Some(secret(Asked::Forbidden {
        rule: "get on secrets".to_owned(),
    }));
    assert_eq!(first_dead(&judge(&facts)), None);
}

#[test]
fn what_follows_from_a_dead_hop_is_set_aside() {
    let mut facts = healthy();
    facts.class = Asked::Known(None);
    facts.gateway = known_gateway(|gateway| gateway["status"] = json!({"conditions": []}));
    facts.service = Asked::Known(None);
    facts.served = Asked::Known(None);
    facts.trials.clear();
    facts.backends[0].found = Asked::Known(None);
    let findings = judge(&facts);
    let dead = findings
        .iter()
        .filter(|finding| finding.verdict == Verdict::Dead);
    let dead: Vec<Hop> = dead.map(|finding| finding.hop).collect();
    // The backend is missing whatever the operator does.
    assert_eq!(dead, [Hop::Class, Hop::Backend], "{findings:#?}");
    let service = findings.iter().find(|finding| finding.hop == Hop::Service);
    let service = service.expect("a line");
    assert_eq!(service.what, "Service media/gw does not exist (see class)");
}

#[test]
fn gateways_and_listeners() {
    names(Hop::Gateway, "has a and b", |facts| {
        facts.gateway = Asked::Known(None);
        facts.others = vec!["a".to_owned(), "b".to_owned()];
    });
    names(Hop::Gateway, "no operator", |facts| {
        facts.gateway = known_gateway(|gateway| gateway["status"] = json!({"conditions": []}));
    });
    names(Hop::Gateway, "port is taken", |facts| {
        facts.gateway = known_gateway(|gateway| {
            gateway["status"]["conditions"][1] =
                condition("Programmed", "False", "Invalid", "The port is taken.");
        });
    });
    names(Hop::Listener, "no listeners", |facts| {
        facts.gateway = known_gateway(|gateway| gateway["spec"]["listeners"] = json!([]));
    });
    names(Hop::Listener, "it has `udp`", |facts| {
        facts.only = Some("tcp".to_owned())
    });
    names(Hop::Listener, "HTTP", |facts| {
        facts.gateway =
            known_gateway(|gateway| gateway["spec"]["listeners"][0]["protocol"] = json!("HTTP"));
    });
    names(Hop::Listener, "enable-mixed-protocol-lb", |facts| {
        facts.gateway = known_gateway(|gateway| {
            gateway["status"]["listeners"][0]["conditions"][2] =
                condition("Programmed", "False", "Invalid", "One transport.");
        });
    });
    names(Hop::Listener, "tls.crt", |facts| {
        facts.gateway = known_gateway(|gateway| {
            let conditions = &mut gateway["status"]["listeners"][0]["conditions"];
            conditions[1] = condition(
                "ResolvedRefs",
                "False",
                "InvalidCertificateRef",
                "No Secret.",
            );
            conditions[2] = condition("Programmed", "False", "Invalid", "Left out.");
        });
    });
}

fn routes(facts: &mut Facts) -> &mut Routes {
    match &mut facts.routes {
        Asked::Known(routes) => routes,
        _ => unreachable!("the fixture has routes"),
    }
}

#[test]
fn routes_backends_and_endpoints() {
    names(Hop::Route, "no route names", |facts| {
        routes(facts).ours.clear()
    });
    names(Hop::Route, "Gateway media/gateway instead", |facts| {
        let other = (
            "UDPRoute media/route".to_owned(),
            NamespacedName::new("media", "gateway"),
        );
        routes(facts).ours.clear();
        routes(facts).elsewhere.push(other);
    });
    names(Hop::Route, "own namespace only", |facts| {
        routes(facts).ours[0].accepted = Some((
            false,
            "Listener `udp` takes routes of its own namespace only.".to_owned(),
        ));
    });
    names(
        Hop::Backend,
        "Service media/server does not exist",
        |facts| {
            facts.backends[0].found = Asked::Known(None);
            routes(facts).ours[0].resolved = Some((false, "Not there.".to_owned()));
        },
    );
    names(Hop::Backend, "ReferenceGrant", |facts| {
        routes(facts).ours[0].resolved = Some((false, "Add a ReferenceGrant.".to_owned()));
    });
    names(Hop::Endpoints, "no endpoints", |facts| {
        facts.backends[0].found = Asked::Known(Some(BackendState::Service {
            ready: 0,
            not_ready: 0,
        }));
    });
    names(Hop::Endpoints, "no prefixes", |facts| {
        facts.backends[0].found = Asked::Known(Some(BackendState::Static { prefixes: 0 }));
    });
}

#[test]
fn routes_that_nobody_may_read_are_no_fault() {
    let mut facts = healthy();
    routes(&mut facts).ours.clear();
    routes(&mut facts).unseen = vec!["UDPRoutes of other namespaces".to_owned()];
    assert_eq!(first_dead(&judge(&facts)), None);
    facts.routes = Asked::Forbidden {
        rule: "list on udproutes.stunner.l7mp.io".to_owned(),
    };
    let findings = judge(&facts);
    let route = findings
        .iter()
        .find(|finding| finding.hop == Hop::Route)
        .expect("a line");
    assert_eq!(route.verdict, Verdict::Skipped);
    assert!(
        route
            .hint
            .as_ref()
            .is_some_and(|hint| hint.contains("list on udproutes")),
        "{route:?}"
    );
}

fn pods(facts: &mut Facts) -> &mut Vec<PodFacts> {
    match &mut facts.pods {
        Asked::Known(pods) => pods,
        _ => unreachable!("the fixture has pods"),
    }
}

#[test]
fn pods_and_what_they_run() {
    names(Hop::Pods, "ImagePullBackOff", |facts| {
        pods(facts)[0].ready = false;
        pods(facts)[0].trouble = Some("ImagePullBackOff: no such image".to_owned());
    });
    names(Hop::Pods, "has no pods", |facts| pods(facts).clear());
    names(Hop::Pods, "scaled to 0", |facts| {
        pods(facts).clear();
        facts.workload = Asked::Known(Some(WorkloadFacts {
            id: "Deployment media/gw".to_owned(),
            ..WorkloadFacts::default()
        }));
    });
    names(Hop::Pods, "being drained", |facts| {
        pods(facts)[0].terminating = true
    });
    names(Hop::Sync, "no configuration", |facts| {
        facts.served = Asked::Known(None)
    });
}

#[test]
fn a_pod_with_an_older_configuration_is_a_warning() {
    let mut facts = healthy();
    if let Asked::Known(status) = &mut pods(&mut facts)[0].status {
        status["clusters"][0]["endpoints"] = json!(["10.0.0.8"]);
    }
    let findings = judge(&facts);
    let sync = findings
        .iter()
        .find(|finding| finding.hop == Hop::Sync)
        .expect("a line");
    assert_eq!(sync.verdict, Verdict::Warn);
    assert!(sync.what.starts_with("gw-1 runs an older"), "{sync:?}");
    // Another program's document is not judged.
    pods(&mut facts)[0].status = Asked::Known(json!({"status": "READY"}));
    let findings = judge(&facts);
    let sync = findings
        .iter()
        .find(|finding| finding.hop == Hop::Sync)
        .expect("a line");
    assert_eq!(sync.verdict, Verdict::Ok);
}

#[test]
fn services_and_addresses() {
    names(Hop::Service, "does not exist", |facts| {
        facts.service = Asked::Known(None)
    });
    names(Hop::Service, "not this Gateway's", |facts| {
        let mut service = service();
        service["metadata"]["labels"] = Value::Null;
        facts.service = known(service);
    });
    names(Hop::Service, "no UDP port 3478", |facts| {
        let mut service = service();
        service["spec"]["ports"][0]["protocol"] = json!("TCP");
        facts.service = known(service);
    });
    let pending = |facts: &mut Facts| {
        let mut service = service();
        service["status"] = json!({"loadBalancer": {}});
        service["metadata"]["creationTimestamp"] = json!("2027-01-15T07:30:00Z");
        facts.service = known(service);
        facts.served = Asked::Known(Some(config("")));
        facts.trials.clear();
    };
    names(Hop::Address, "for 30 minutes", pending);
    names(Hop::Address, "MetalLB", pending);
    names(Hop::Address, "quota exceeded", |facts| {
        pending(facts);
        facts.events = vec!["SyncLoadBalancerFailed: quota exceeded".to_owned()];
    });
    for (provider, word) in [
        (Provider::Aws, "aws-load-balancer-type"),
        (Provider::Azure, "public addresses"),
        (Provider::Google, "forwarding rules"),
        (Provider::Hetzner, "no UDP"),
        (Provider::DigitalOcean, "healthcheck-port"),
        (Provider::OpenStack, "Octavia"),
        (Provider::Kind, "cloud-provider-kind"),
        (Provider::Minikube, "minikube tunnel"),
        (Provider::K3s, "svclb"),
    ] {
        names(Hop::Address, word, |facts| {
            pending(facts);
            facts.provider = Some(provider);
        });
    }
}

#[test]
fn without_config_discovery_the_address_follows_from_the_objects() {
    let mut facts = healthy();
    facts.served = Asked::Failed("no pod".to_owned());
    let gateway = object::<Gateway>(gateway());
    let found = place(&facts, &gateway, &gateway.spec.listeners[0]).expect("a place");
    assert_eq!((found.host.as_str(), found.port), ("192.0.2.1", 3478));
    let mut node_port = service();
    node_port["spec"]["type"] = json!("NodePort");
    node_port["status"] = Value::Null;
    facts.service = known(node_port);
    let gateway =
        known_gateway(|gateway| gateway["status"]["addresses"] = json!([{"value": "192.0.2.7"}]));
    let gateway = gateway.known().and_then(Option::clone).expect("a Gateway");
    let found = place(&facts, &gateway, &gateway.spec.listeners[0]).expect("a place");
    assert_eq!((found.host.as_str(), found.port), ("192.0.2.7", 30001));
}

#[test]
fn the_network() {
    names(Hop::Dns, "does not resolve", |facts| {
        facts.trials[0].host = "turn.example.test".to_owned();
        facts.trials[0].dns = Asked::Failed("no such name".to_owned());
        facts.trials[0].stun = Tried::Untried;
        facts.trials[0].allocate = Tried::Untried;
    });
    names(Hop::Stun, "is closed", |facts| {
        facts.trials[0].stun = Tried::Closed
    });
    names(Hop::Stun, "UDP is dropped", |facts| {
        facts.trials[0].stun = Tried::Silent
    });
    names(Hop::Stun, "`tcp` at the same address answers", |facts| {
        let mut tcp = trial();
        tcp.listener = "tcp".to_owned();
        tcp.protocol = Protocol::TurnTcp;
        facts.trials[0].stun = Tried::Silent;
        facts.trials.push(tcp);
    });
    names(Hop::Stun, "health check over TCP", |facts| {
        facts.provider = Some(Provider::Aws);
        facts.trials[0].stun = Tried::Silent;
    });
    names(Hop::Allocate, "401", |facts| {
        facts.trials[0].allocate = Tried::Unauthorized
    });
    names(Hop::Allocate, "userQuota", |facts| {
        facts.trials[0].allocate = Tried::Refused {
            code: 486,
            reason: "Quota".to_owned(),
        };
    });
    names(Hop::Peer, "10.0.0.7", |facts| {
        facts.trials[0].peer = Some((
            address("10.0.0.7:0"),
            Tried::Refused {
                code: 403,
                reason: "Forbidden".to_owned(),
            },
        ));
    });
}

fn shown() -> CertificateFacts {
    CertificateFacts {
        subject: "CN=turn".to_owned(),
        names: vec!["turn.example.test".to_owned()],
        not_before: NOW - DAY,
        not_after: NOW + 60 * DAY,
        self_signed: false,
        untrusted: None,
    }
}

fn with_certificate(facts: &mut Facts, change: impl FnOnce(&mut CertificateFacts)) {
    let mut certificate = shown();
    change(&mut certificate);
    facts.trials[0].host = "turn.example.test".to_owned();
    facts.trials[0].protocol = Protocol::TurnTls;
    facts.trials[0].certificate = Tried::Done(certificate);
}

#[test]
fn certificates() {
    names(Hop::Certificate, "expired 3 days ago", |facts| {
        with_certificate(facts, |it| it.not_after = NOW - 3 * DAY);
    });
    names(Hop::Certificate, "not valid yet", |facts| {
        with_certificate(facts, |it| it.not_before = NOW + 1);
    });
    names(Hop::Certificate, "made out to other.test", |facts| {
        with_certificate(facts, |it| it.names = vec!["other.test".to_owned()]);
    });
    type Change = fn(&mut CertificateFacts);
    let warned: [(Change, &str); 3] = [
        (|it| it.not_after = NOW + 5 * DAY, "expires in 5 days"),
        (|it| it.untrusted = Some("no".to_owned()), "does not trust"),
        (
            |it| {
                it.untrusted = Some("no".to_owned());
                it.self_signed = true;
            },
            "self-signed",
        ),
    ];
    let mut facts = healthy();
    with_certificate(&mut facts, |it| {
        it.untrusted = Some("no".to_owned());
        it.self_signed = true;
        it.not_after = NOW + 3 * DAY;
    });
    let said: Vec<String> = judge(&facts)
        .into_iter()
        .filter(|finding| finding.hop == Hop::Certificate)
        .map(|finding| finding.what)
        .collect();
    assert!(
        matches!(said.as_slice(), [one, two] if one.contains("self-signed") && two.contains("expires in 3 days")),
        "{said:?}"
    );
    for (change, word) in warned {
        let mut facts = healthy();
        with_certificate(&mut facts, change);
        let findings = judge(&facts);
        let found = findings
            .iter()
            .find(|finding| finding.hop == Hop::Certificate);
        let found = found.expect("a line");
        assert_eq!(found.verdict, Verdict::Warn, "{found:?}");
        assert!(found.what.contains(word), "{found:?}");
    }
}

#[test]
fn without_the_network_nothing_of_it_is_judged() {
    let mut facts = healthy();
    facts.no_network = true;
    facts.trials.clear();
    let findings = judge(&facts);
    assert_eq!(first_dead(&findings), None);
    assert_eq!(
        findings.last().map(|finding| finding.verdict),
        Some(Verdict::Skipped)
    );
}

#[test]
fn a_server_that_accepts_and_says_nothing_is_told_from_one_behind_a_firewall() {
    names(
        Hop::Stun,
        "accepts the connection and does not answer",
        |facts| {
            facts.trials[0].protocol = Protocol::TurnTcp;
            facts.trials[0].stun = Tried::Mute;
        },
    );
}

#[test]
fn a_server_that_drains_is_to_be_waited_for() {
    let mut facts = healthy();
    facts.trials[0].allocate = Tried::Refused {
        code: 508,
        reason: "Draining, try another server".to_owned(),
    };
    let findings = judge(&facts);
    let found = findings.iter().find(|it| it.hop == Hop::Allocate);
    let hint = found.and_then(|it| it.hint.clone()).expect("a hint");
    assert!(
        hint.contains("rollout") && !hint.contains("port range"),
        "{hint}"
    );
}

#[test]
fn a_route_that_nobody_has_looked_at_is_a_matter_of_the_operator() {
    let mut facts = healthy();
    if let Asked::Known(routes) = &mut facts.routes {
        routes.ours[0].accepted = None;
    }
    let findings = judge(&facts);
    let found = findings.iter().find(|it| it.hop == Hop::Route);
    let found = found.expect("a line");
    assert!(
        found.what.starts_with("no operator has looked at"),
        "{found:?}"
    );
    let hint = found.hint.as_deref().unwrap_or_default();
    assert!(hint.contains("whether the operator runs"), "{hint}");
}
