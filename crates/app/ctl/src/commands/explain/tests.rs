//! Questions in, sentences out.

use std::net::IpAddr;

use serde_json::json;
use stunner_cluster::{Discovered, Explanation};
use stunner_config::PeerTransport;
use stunner_translate::overview::{Overview, nearest_backend, overview};
use stunner_translate::{Object, ObjectKind, Settings, Snapshot, translate};

use super::advice::Known;
use super::ask::{Answer, Answers};
use super::local;
use super::question::{self, Question};
use super::verdict::Verdict;

fn question(peer: &str, transport: PeerTransport) -> Question {
    let (peer, port) = question::peer(peer).unwrap_or_else(|_| panic!("{peer}"));
    Question {
        peer,
        port,
        client: None,
        listener: None,
        transport,
    }
}

fn config() -> Discovered {
    let text = json!({
        "version": "v1",
        "admin": { "name": "stunner/gw" },
        "auth": { "type": "static", "credentials": { "username": "ann", "password": "hush" } },
        "listeners": [
            { "name": "stunner/gw/udp", "protocol": "TURN-UDP", "address": "192.0.2.1", "port": 3478,
              "routes": ["stunner/media", "stunner/wide"] },
            { "name": "stunner/gw/media", "protocol": "TURN-UDP", "address": "192.0.2.1", "port": 3479,
              "routes": ["stunner/media"] },
            { "name": "stunner/gw/tcp", "protocol": "TURN-TCP", "address": "192.0.2.1", "port": 3478,
              "routes": ["stunner/names"] },
        ],
        "clusters": [
            { "name": "stunner/media", "type": "STATIC", "endpoints": ["10.0.1.7:<5000-5010>", "10.0.2.0/24"] },
            { "name": "stunner/wide", "type": "STATIC", "protocol": "tcp", "endpoints": ["0.0.0.0/0"] },
            { "name": "stunner/names", "type": "STRICT_DNS", "endpoints": ["media.example"] },
        ],
    });
    Discovered::read(text.to_string()).expect("a config")
}

fn ask(listener: &str, peer: &str, transport: PeerTransport) -> Explanation {
    let discovered = config();
    let config = discovered.config.expect("a config that can be read");
    let listener = format!("stunner/gw/{listener}");
    let listener = config.listener(&listener).expect("a listener");
    local::explain(&config, listener, &question(peer, transport))
}

#[test]
fn a_configuration_answers_as_a_dataplane_would() {
    let (udp, tcp) = (PeerTransport::Udp, PeerTransport::Tcp);
    for (listener, peer, transport, expected) in [
        ("udp", "10.0.1.7:5000", udp, Ok("stunner/media")),
        ("udp", "10.0.1.7:5010", udp, Ok("stunner/media")),
        ("udp", "10.0.2.99:1", udp, Ok("stunner/media")),
        ("udp", "[::ffff:10.0.2.99]:1", udp, Ok("stunner/media")),
        ("udp", "10.0.1.7", udp, Ok("stunner/media")),
        ("udp", "10.0.1.7:5011", udp, Err("transport")),
        ("media", "10.0.1.7:5011", udp, Err("port")),
        ("media", "10.0.1.7:5000", tcp, Err("transport")),
        ("media", "10.0.3.1:5000", udp, Err("no_route")),
        ("udp", "10.0.1.8:5000", udp, Err("transport")),
        ("udp", "198.51.100.1:5000", tcp, Ok("stunner/wide")),
        ("udp", "127.0.0.1:5000", tcp, Err("loopback")),
        ("udp", "169.254.169.254:80", tcp, Err("link_local")),
        ("udp", "224.0.0.1:5000", tcp, Err("multicast")),
        ("udp", "0.0.0.0:5000", tcp, Err("unspecified")),
        ("udp", "255.255.255.255:5000", tcp, Err("broadcast")),
        ("udp", "192.0.2.1:9", tcp, Err("own_address")),
        ("udp", "[2001:db8::1]:5000", udp, Err("no_route")),
    ] {
        let said = ask(listener, peer, transport);
        let verdict = match said.admitted {
            true => Ok(said.cluster.as_deref().unwrap_or_default()),
            false => Err(said.reason.as_deref().unwrap_or_default()),
        };
        assert_eq!(verdict, expected, "{peer}/{transport}");
    }
}

#[test]
fn names_are_left_to_whoever_can_resolve_them() {
    let discovered = config();
    let config = discovered.config.expect("a config that can be read");
    let listener = config.listener("stunner/gw/tcp").expect("a listener");
    assert_eq!(local::unresolved(&config, listener), ["media.example"]);
    let answers = [Answer {
        source: "config discovery".to_owned(),
        explanation: local::explain(
            &config,
            listener,
            &question("10.0.0.1:5", PeerTransport::Udp),
        ),
        unresolved: local::unresolved(&config, listener),
    }];
    let known = Known::default();
    let question = question("10.0.0.1:5", PeerTransport::Udp);
    let verdict = Verdict::of(&answers, &question, &known).expect("a verdict");
    assert!(
        verdict
            .text(&question)
            .contains("what `media.example` resolves to"),
        "{}",
        verdict.text(&question)
    );
}

/// A gateway with a route to one Service, another Service that no route names, and a route that is not attached.
fn world() -> (Snapshot, Overview) {
    let mut snapshot = Snapshot::default();
    let route = |name: &str, gateway: &str, backend: &str| {
        json!({ "kind": "UDPRoute", "apiVersion": "stunner.l7mp.io/v1",
            "metadata": { "name": name, "namespace": "stunner" },
            "spec": { "parentRefs": [{ "name": gateway }],
                      "rules": [{ "backendRefs": [{ "name": backend, "namespace": "media" }] }] } })
    };
    let service = |name: &str, address: &str| {
        json!({ "kind": "Service", "apiVersion": "v1",
            "metadata": { "name": name, "namespace": "media" },
            "spec": { "clusterIP": address, "ports": [{ "port": 5000, "protocol": "UDP" }] } })
    };
    for manifest in [
        json!({ "kind": "GatewayClass", "metadata": { "name": "stunner" },
            "spec": { "controllerName": "stunner.l7mp.io/gateway-operator",
                "parametersRef": { "group": "stunner.l7mp.io", "kind": "GatewayConfig", "name": "config",
                                   "namespace": "stunner" } } }),
        json!({ "kind": "GatewayConfig", "metadata": { "name": "config", "namespace": "stunner" },
            "spec": { "userName": "ann", "password": "hush" } }),
        json!({ "kind": "Gateway", "metadata": { "name": "gw", "namespace": "stunner" },
            "spec": { "gatewayClassName": "stunner",
                "listeners": [{ "name": "udp", "port": 3478, "protocol": "TURN-UDP" }] } }),
        route("media", "gw", "media-server"),
        json!({ "kind": "Gateway", "metadata": { "name": "other", "namespace": "stunner" },
            "spec": { "gatewayClassName": "stunner",
                "listeners": [{ "name": "udp", "port": 3479, "protocol": "TURN-UDP" }] } }),
        route("orphan", "other", "recorder"),
        service("media-server", "10.0.1.7"),
        service("recorder", "10.0.1.8"),
        service("mixer", "10.0.1.9"),
    ] {
        let kind = ObjectKind::of_manifest(&manifest).expect("a kind");
        snapshot.apply(Object::read(kind, manifest).expect("an object"));
    }
    let settings = Settings::default();
    let plan = translate(&snapshot, &settings);
    let overview = overview(&snapshot, &plan, &settings);
    (snapshot, overview)
}

fn denied(peer: &str, reason: &str) -> Explanation {
    serde_json::from_value(json!({
        "listener": "stunner/gw/udp", "peer": peer, "admitted": false, "reason": reason,
        "nearest": "cluster stunner/media, 10.0.1.7/32 ports 1-65535 (UDP)",
        "grounds": { "cluster": "stunner/media", "prefix": "10.0.1.7/32", "ports": "5000-5010", "transport": "UDP" },
        "generation": 3,
    }))
    .expect("an explanation")
}

fn text(explanation: Explanation, peer: &str, transport: PeerTransport) -> String {
    let (snapshot, overview) = world();
    let question = question(peer, transport);
    let known = Known {
        overview: Some(&overview),
        nearest: nearest_backend(&snapshot, question.peer),
    };
    let answers = [Answer {
        source: "stunner/gw-7c9-x2".to_owned(),
        explanation,
        unresolved: Vec::new(),
    }];
    let verdict = Verdict::of(&answers, &question, &known).expect("a verdict");
    verdict.text(&question)
}

#[test]
fn an_admitted_peer_is_told_with_its_route_and_backend() {
    let admitted = serde_json::from_value(json!({
        "listener": "stunner/gw/udp", "peer": "10.0.1.7:5000", "admitted": true, "cluster": "stunner/media",
        "rule": "cluster stunner/media, 10.0.1.7/32 ports 1-65535 (UDP)",
    }));
    let said = text(
        admitted.expect("an explanation"),
        "10.0.1.7:5000",
        PeerTransport::Udp,
    );
    let expected = "\
admitted: clients of stunner/gw/udp reach 10.0.1.7:5000/udp
  route:   UDPRoute stunner/media
  backend: Service media/media-server
  rule:    cluster stunner/media, 10.0.1.7/32 ports 1-65535 (UDP)
  says:    stunner/gw-7c9-x2
";
    assert_eq!(said, expected);
}

#[test]
fn a_refused_peer_is_told_with_what_it_is_and_what_to_change() {
    let said = text(
        denied("10.0.1.9:5000", "no_route"),
        "10.0.1.9:5000",
        PeerTransport::Udp,
    );
    let expected = "\
denied: clients of stunner/gw/udp do not reach 10.0.1.9:5000/udp
  why:     not in any route of `stunner/gw/udp`
  it is:   Service media/mixer
  nearest: cluster stunner/media, 10.0.1.7/32 ports 1-65535 (UDP)
  change:  add Service media/mixer, which has 10.0.1.9, to the backendRefs of UDPRoute stunner/media
  says:    stunner/gw-7c9-x2
";
    assert_eq!(said, expected);
}

#[test]
fn the_change_fits_the_reason() {
    let (udp, tcp) = (PeerTransport::Udp, PeerTransport::Tcp);
    for (peer, transport, reason, change) in [
        (
            "10.0.1.8:5000",
            udp,
            "no_route",
            "UDPRoute stunner/orphan names Service media/recorder, but is not attached to `stunner/gw/udp`",
        ),
        (
            "10.0.1.7:5000",
            udp,
            "no_route",
            "UDPRoute stunner/media names Service media/media-server already: the configuration with it has not reached",
        ),
        (
            "172.16.0.1:5000",
            udp,
            "no_route",
            "no Service or StaticService has 172.16.0.1: add the Service that the peer belongs to, or a StaticService \
             with the prefix 172.16.0.1/32, to the backendRefs of UDPRoute stunner/media",
        ),
        (
            "172.16.0.1:5000",
            tcp,
            "no_route",
            "to a TCPRoute whose parentRefs name the gateway of `stunner/gw/udp`, which has none yet",
        ),
        (
            "10.0.1.7:6000",
            udp,
            "port",
            "change `port` and `endPort` of the backendRef in UDPRoute stunner/media from 5000-5010 so that they reach \
             6000",
        ),
        (
            "10.0.1.7:5000",
            tcp,
            "transport",
            "UDPRoute stunner/media admits UDP only",
        ),
        (
            "127.0.0.1:5000",
            udp,
            "loopback",
            "StaticService with the prefix 127.0.0.1/32",
        ),
        (
            "169.254.169.254:80",
            udp,
            "link_local",
            "leave it closed: it is where clouds hand out",
        ),
        (
            "169.254.1.1:80",
            udp,
            "link_local",
            "leave it closed: it is reached on one link",
        ),
        (
            "[fd00:ec2::254]:80",
            udp,
            "no_route",
            "leave it closed: it is where clouds hand out",
        ),
        (
            "[fe80::1]:80",
            udp,
            "no_route",
            "leave it closed: it is reached on one link",
        ),
        ("224.0.0.1:80", udp, "no_route", "it is never a peer"),
        ("[ff02::1]:80", udp, "multicast", "it is never a peer"),
        ("255.255.255.255:80", udp, "broadcast", "it is never a peer"),
        (
            "0.0.0.0:80",
            udp,
            "unspecified",
            "it is no address of a host",
        ),
        (
            "192.0.2.1:80",
            udp,
            "own_address",
            "the address is the gateway's own",
        ),
        ("192.0.2.1:3478", udp, "own_listener", "never a peer"),
    ] {
        let said = text(denied(peer, reason), peer, transport);
        assert!(said.contains(change), "{peer} {reason}:\n{said}");
        let is_closed = ["leave it closed", "never a peer", "no address of"]
            .iter()
            .any(|word| said.contains(word));
        assert!(!is_closed || !said.contains("StaticService with"), "{said}");
    }
}

#[test]
fn dataplanes_that_differ_are_named_with_what_each_says() {
    let question = question("10.0.1.7:5000", PeerTransport::Udp);
    let admitted: Explanation = serde_json::from_value(json!({
        "listener": "stunner/gw/udp", "peer": "10.0.1.7:5000", "admitted": true, "cluster": "stunner/media",
        "generation": 4,
    }))
    .expect("an explanation");
    let answer = |source: &str, explanation| Answer {
        source: source.to_owned(),
        explanation,
        unresolved: Vec::new(),
    };
    let answers = [
        answer("stunner/gw-a", admitted.clone()),
        answer("stunner/gw-b", denied("10.0.1.7:5000", "no_route")),
    ];
    assert!(!Answers::agree(&answers));
    assert!(Answers::agree(&[
        answers[0].clone(),
        answer("stunner/gw-c", admitted)
    ]));
    let known = Known::default();
    let verdict = Verdict::of(&answers, &question, &known).expect("a verdict");
    assert!(verdict.disputed && !verdict.is_fine());
    let text = verdict.text(&question);
    for part in [
        "disputed: the dataplanes of stunner/gw/udp differ about 10.0.1.7:5000/udp",
        "stunner/gw-a: admitted by stunner/media, configuration 4 since its start",
        "stunner/gw-b: denied (no_route), configuration 3 since its start",
        "a rollout of the configuration may be under way",
    ] {
        assert!(text.contains(part), "{part}:\n{text}");
    }
    assert_eq!(verdict.value()["answers"][1]["source"], "stunner/gw-b");
    assert_eq!(verdict.value()["admitted"], false);
}

#[test]
fn listeners_with_the_same_to_say_are_told_of_once() {
    let question = question("10.0.1.9:5000", PeerTransport::Udp);
    let answers = |listener: &str, reason: &str| {
        let mut explanation = denied("10.0.1.9:5000", reason);
        explanation.listener = listener.to_owned();
        [Answer {
            source: "127.0.0.1:8087".to_owned(),
            explanation,
            unresolved: Vec::new(),
        }]
    };
    let all = [
        answers("ns/gw/tcp", "no_route"),
        answers("ns/gw/tls", "port"),
        answers("ns/gw/udp", "no_route"),
        answers("ns/other/udp", "no_route"),
    ];
    let known = Known::default();
    let verdicts: Vec<Verdict<'_>> = all
        .iter()
        .filter_map(|answers| Verdict::of(answers, &question, &known))
        .collect();
    let texts = super::verdict::texts(&verdicts, &question);
    let heads: Vec<&str> = texts
        .iter()
        .filter_map(|text| text.lines().next())
        .collect();
    assert_eq!(
        heads,
        [
            "denied: clients of ns/gw/{tcp,udp} do not reach 10.0.1.9:5000/udp",
            "denied: clients of ns/gw/tls do not reach 10.0.1.9:5000/udp",
            "denied: clients of ns/other/udp do not reach 10.0.1.9:5000/udp",
        ]
    );
    assert!(
        texts[0].contains("not in any route of `ns/gw/{tcp,udp}`"),
        "{}",
        texts[0]
    );
}

#[test]
fn without_kubernetes_objects_the_advice_is_general() {
    let question = question("10.0.1.9:5000", PeerTransport::Udp);
    let answers = [Answer {
        source: "127.0.0.1:8087".to_owned(),
        explanation: denied("10.0.1.9:5000", "no_route"),
        unresolved: Vec::new(),
    }];
    let known = Known::default();
    let text = Verdict::of(&answers, &question, &known)
        .expect("a verdict")
        .text(&question);
    assert!(
        text.contains(
            "add the Service that the peer belongs to, or a StaticService with the prefix 10.0.1.9/32, to a route of \
             `stunner/gw/udp`"
        ),
        "{text}"
    );
}

#[test]
fn peers_are_addresses_with_or_without_a_port() {
    let read = |text: &str| question::peer(text).ok();
    let address: IpAddr = "2001:db8::7".parse().expect("an address");
    assert_eq!(read("[2001:db8::7]:5000"), Some((address, Some(5000))));
    assert_eq!(read("2001:db8::7"), Some((address, None)));
    assert_eq!(read("[2001:db8::7]"), Some((address, None)));
    for text in [
        "",
        "media.example:5000",
        "10.0.0.1:0",
        "10.0.0.1:x",
        "10.0.0.0/8",
    ] {
        assert!(read(text).is_none(), "{text}");
    }
}

#[test]
fn a_peer_of_a_family_without_relay_is_not_reached_whatever_the_routes_say() {
    let explanation = serde_json::from_value(json!({
        "listener": "stunner/gw/udp", "peer": "[2001:db8::7]:5000", "admitted": true, "cluster": "stunner/media",
        "relays": ["192.0.2.1"],
    }));
    let mut answer = Answer {
        source: "stunner/gw-7c9-x2".to_owned(),
        explanation: explanation.expect("an explanation"),
        unresolved: Vec::new(),
    };
    answer.mind_families();
    let said = text(answer.explanation, "[2001:db8::7]:5000", PeerTransport::Udp);
    assert!(said.starts_with("denied: "), "{said}");
    assert!(
        said.contains("the gateway has no IPv6 relay address, only 192.0.2.1"),
        "{said}"
    );
    assert!(
        said.contains("dual-stack") && !said.contains("StaticService"),
        "{said}"
    );
}

#[test]
fn configs_are_read_in_every_form_that_tools_print() {
    let names = |text: &str| -> Vec<String> {
        let found = super::ask::json_documents(text)
            .expect("configs")
            .into_iter();
        let found = found.map(|text| Discovered::read(text).expect("a config"));
        found.map(|config| config.id).collect()
    };
    let one = r#"{"version":"v1","admin":{"name":"ns/a"}}"#;
    let two = r#"{"version":"v1","admin":{"name":"ns/b"}}"#;
    for text in [
        // `stunnerctl config -o json` and `-o yaml`, `stunner translate -o json` and `-o yaml`.
        format!("{one}\n{two}\n"),
        "version: v1\nadmin:\n  name: ns/a\n---\nversion: v1\nadmin: {name: ns/b}\n".to_owned(),
        format!(r#"{{"configs":[{one},{two}],"workloads":[]}}"#),
        format!("configs:\n- {one}\n- {two}\nworkloads: []\n"),
        // A key in a block scalar is no end of a document.
        format!(
            "---\nversion: v1\nadmin: {{name: ns/a}}\nlisteners:\n- name: l\n  cert: |\n    ---\n    x\n--- # the other\n{two}\n"
        ),
    ] {
        assert_eq!(names(&text), ["ns/a", "ns/b"], "{text}");
    }
    let refused = super::ask::json_documents("password: [hunter2").expect_err("no config");
    assert!(!refused.contains("hunter2"), "{refused}");
}
