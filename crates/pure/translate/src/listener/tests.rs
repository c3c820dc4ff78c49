use serde_json::{Value, json};

use super::*;
use crate::manifests::World;
use crate::tls::tests::{pair_of, secret};

fn plans_in(world: &World, listeners: Value, options: &ServiceOptions) -> Vec<ListenerPlan> {
    plans_with(world, listeners, options, &BTreeMap::new())
}

fn plans_with(
    world: &World,
    listeners: Value,
    options: &ServiceOptions,
    good: &BTreeMap<String, Certificate>,
) -> Vec<ListenerPlan> {
    let gateway: Gateway = serde_json::from_value(json!({
        "metadata": {"name": "gw", "namespace": "apps"},
        "spec": {"gatewayClassName": "stunner", "listeners": listeners},
    }))
    .unwrap();
    listener_plans(
        &world.snapshot,
        &world.settings,
        &gateway,
        options,
        good,
        Some(&HttpEndpoint::default_health()),
    )
}

fn empty_world() -> World {
    World {
        snapshot: Snapshot::default(),
        settings: Settings::default(),
    }
}

fn plans(listeners: Value) -> Vec<ListenerPlan> {
    plans_in(&empty_world(), listeners, &ServiceOptions::default())
}

fn conflict(with: &str) -> Option<ListenerProblem> {
    Some(ListenerProblem::Conflict {
        with: with.to_owned(),
    })
}

fn problems(plans: &[ListenerPlan]) -> Vec<Option<ListenerProblem>> {
    plans.iter().map(|plan| plan.problem.clone()).collect()
}

#[test]
fn protocols_are_known_by_all_their_names_in_any_case() {
    for (text, expected) in [
        ("UDP", Protocol::TurnUdp),
        ("turn-udp", Protocol::TurnUdp),
        ("tcp", Protocol::TurnTcp),
        ("Turn-Tls", Protocol::TurnTls),
        ("dtls", Protocol::TurnDtls),
    ] {
        assert_eq!(listener_protocol(text), Some(expected), "{text}");
    }
    for text in ["", "HTTP", "TURN"] {
        assert_eq!(listener_protocol(text), None, "{text}");
    }
}

#[test]
fn the_first_of_two_listeners_on_a_port_of_one_transport_wins() {
    let plans = plans(json!([
        {"name": "a", "protocol": "UDP", "port": 1},
        {"name": "b", "protocol": "turn-udp", "port": 1},
        {"name": "c", "protocol": "TCP", "port": 1},
        {"name": "d", "protocol": "DTLS", "port": 1},
    ]));
    assert_eq!(problems(&plans), [None, conflict("a"), None, conflict("a")]);
}

#[test]
fn target_ports_conflict_too() {
    let options = ServiceOptions {
        target_ports: BTreeMap::from([("b".to_owned(), 1), ("c".to_owned(), 7)]),
        ..ServiceOptions::default()
    };
    let listeners = json!([
        {"name": "a", "protocol": "UDP", "port": 1},
        {"name": "b", "protocol": "UDP", "port": 2},
        {"name": "c", "protocol": "UDP", "port": 2},
        {"name": "d", "protocol": "TCP", "port": 7},
    ]);
    let plans = plans_in(&empty_world(), listeners, &options);
    // b lost its port 2 by losing, so that c may have it.
    assert_eq!(problems(&plans), [None, conflict("a"), None, None]);
    assert_eq!((plans[2].spec_port, plans[2].port), (2, 7));
}

#[test]
fn ports_out_of_range_are_refused() {
    let plans = plans(json!([
        {"name": "a", "protocol": "UDP", "port": 0},
        {"name": "b", "protocol": "UDP", "port": 70000},
        {"name": "c", "protocol": "UDP", "port": 65535},
    ]));
    let bad = Some(ListenerProblem::BadPort);
    assert_eq!(problems(&plans), [bad.clone(), bad, None]);
}

#[test]
fn passthrough_is_refused() {
    let plans = plans(json!([
        {"name": "a", "protocol": "TLS", "port": 443, "tls": {"mode": "Passthrough"}},
        {"name": "b", "protocol": "TLS", "port": 443},
    ]));
    assert_eq!(plans[0].problem, Some(ListenerProblem::Passthrough));
    assert!(matches!(
        plans[1].problem,
        Some(ListenerProblem::Certificate { .. })
    ));
}

#[test]
fn a_listener_that_waits_for_its_certificate_holds_its_port() {
    let plans = plans(json!([
        {"name": "a", "protocol": "DTLS", "port": 3478},
        {"name": "b", "protocol": "UDP", "port": 3478},
    ]));
    assert!(matches!(
        plans[0].problem,
        Some(ListenerProblem::Certificate { .. })
    ));
    assert_eq!(plans[1].problem, conflict("a"));
}

#[test]
fn a_certificate_that_is_gone_is_replaced_by_the_last_good() {
    let (cert, key) = pair_of(&rcgen::PKCS_ECDSA_P256_SHA256);
    let listeners = json!([{
        "name": "a", "protocol": "TLS", "port": 443, "tls": {"certificateRefs": [{"name": "c"}]}
    }]);
    let options = ServiceOptions::default();
    let world = World::new(&secret(
        "apps",
        "c",
        &[("tls.crt", &cert), ("tls.key", &key)],
    ));
    let live = plans_in(&world, listeners.clone(), &options);
    let certificate = live[0].certificate.clone().unwrap();
    assert_eq!(live[0].stale_certificate, None);

    let good = BTreeMap::from([("a".to_owned(), certificate.clone())]);
    let stale = plans_with(&empty_world(), listeners, &options, &good);
    assert_eq!(stale[0].certificate, Some(certificate));
    assert_eq!(stale[0].problem, None);
    assert!(
        stale[0]
            .stale_certificate
            .as_ref()
            .unwrap()
            .why
            .contains("apps/c")
    );
}

#[test]
fn a_host_name_counts_for_tls_and_wildcards_do_not() {
    let plans = plans(json!([
        {"name": "a", "protocol": "TLS", "port": 1, "hostname": "turn.example.test"},
        {"name": "b", "protocol": "TLS", "port": 2, "hostname": "*.example.test"},
        {"name": "c", "protocol": "UDP", "port": 3, "hostname": "turn.example.test"},
    ]));
    let names: Vec<_> = plans.iter().map(|plan| plan.hostname.as_deref()).collect();
    assert_eq!(names, [Some("turn.example.test"), None, None]);
}

#[test]
fn allowed_kinds_cut_down_what_is_supported() {
    let kinds = |kinds: Value| {
        let listeners = json!([{
            "name": "a", "protocol": "UDP", "port": 1, "allowedRoutes": {"kinds": kinds}
        }]);
        plans(listeners).remove(0).route_kinds
    };
    assert_eq!(kinds(json!([])).supported.len(), 3);
    let mixed = kinds(json!([{"kind": "UDPRoute"}, {"kind": "HTTPRoute"}]));
    assert_eq!(
        mixed.supported,
        [
            group_kind(RouteKind::OfficialUdp),
            group_kind(RouteKind::Udp)
        ]
    );
    assert_eq!(
        mixed.unsupported,
        [RouteGroupKind {
            group: Some("gateway.networking.k8s.io".to_owned()),
            kind: "HTTPRoute".to_owned(),
        }]
    );
}

#[test]
fn a_last_good_certificate_must_fit_the_listener_as_it_is_now() {
    let (cert, key) = pair_of(&rcgen::PKCS_ED25519);
    let good = BTreeMap::from([("a".to_owned(), Certificate { cert, key })]);
    let options = ServiceOptions::default();
    let world = empty_world();
    for (protocol, is_served) in [("TLS", true), ("DTLS", false)] {
        let listeners = json!([{"name": "a", "protocol": protocol, "port": 443}]);
        let plans = plans_with(&world, listeners, &options, &good);
        assert_eq!(plans[0].is_served(), is_served, "{protocol}");
    }
}

#[test]
fn the_port_of_health_checks_is_no_listeners() {
    let listeners = json!([
        {"name": "tcp", "protocol": "TCP", "port": 8086},
        {"name": "udp", "protocol": "UDP", "port": 8086},
        {"name": "tls", "protocol": "TLS", "port": 8086},
    ]);
    let found = problems(&plans(listeners.clone()));
    let health = Some(ListenerProblem::HealthPort);
    assert_eq!(found, [health.clone(), None, health]);

    // Clients may still be given the port, if the pods listen elsewhere.
    let options = ServiceOptions {
        target_ports: BTreeMap::from([("tcp".to_owned(), 9000)]),
        ..ServiceOptions::default()
    };
    let found = plans_in(&empty_world(), listeners, &options);
    assert_eq!(found[0].problem, None);
    assert_eq!((found[0].spec_port, found[0].port), (8086, 9000));
}

#[test]
fn of_two_listeners_with_one_name_the_first_is_served() {
    let found = problems(&plans(json!([
        {"name": "x", "protocol": "UDP", "port": 1},
        {"name": "x", "protocol": "UDP", "port": 2},
    ])));
    assert_eq!(found, [None, Some(ListenerProblem::NameTaken)]);
}
