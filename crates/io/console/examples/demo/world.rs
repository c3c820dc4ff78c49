//! A small world with some of everything that the page can show.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use stunner_console::{
    Denial, Live, LiveCluster, LiveGateway, LiveListener, Mode, Note, Phase, Problem, Session,
    State, Token, Traffic, Volume,
};

#[derive(Default)]
pub struct Options {
    pub more_routes: usize,
    pub operator: bool,
    pub hostile: bool,
    pub empty: bool,
}

pub fn state(options: &Options, seconds: f64, generation: u64, token: Option<&str>) -> State {
    let token = match (options.operator, token) {
        (false, _) => Token::NotNeeded,
        (true, None) => Token::Missing,
        (true, Some("secret")) => Token::Accepted,
        (true, Some(_)) => Token::Refused,
    };
    let visible = matches!(token, Token::NotNeeded | Token::Accepted);
    let notes = match token {
        Token::Refused => vec![Note {
            message: "The API server does not know this token.".into(),
            hint: Some(
                "Make a fresh one: tokens of `kubectl create token` live for an hour.".into(),
            ),
        }],
        _ => Vec::new(),
    };
    let overview = match options.empty {
        true => json!({ "classes": [], "gateways": [], "routes": [] }),
        false => overview(options),
    };
    State {
        mode: match options.operator {
            true => Mode::Operator,
            false => Mode::Standalone,
        },
        version: "0.1.0".into(),
        generation,
        overview: State::members(&overview),
        problems: match options.operator || options.empty {
            true => Vec::new(),
            false => problems(options),
        },
        token,
        live: visible.then(|| match options.empty {
            true => Live::default(),
            false => live(options, seconds, &overview),
        }),
        notes,
    }
}

fn condition(kind: &str, status: &str, reason: &str, message: &str) -> Value {
    json!({ "type": kind, "status": status, "reason": reason, "message": message })
}

fn fine() -> Vec<Value> {
    vec![
        condition(
            "Accepted",
            "True",
            "Accepted",
            "Gateway is accepted by this controller.",
        ),
        condition(
            "Programmed",
            "True",
            "Programmed",
            "The dataplane serves it.",
        ),
    ]
}

fn listener(gateway: &str, name: &str, protocol: &str, port: u16, routes: &[&str]) -> Value {
    let scheme = if protocol.ends_with("TLS") {
        "turns"
    } else {
        "turn"
    };
    let transport = if protocol.ends_with("UDP") {
        "udp"
    } else {
        "tcp"
    };
    json!({
        "id": format!("{gateway}/{name}"), "name": name, "protocol": protocol, "port": port,
        "publicAddress": "192.0.2.10", "publicPort": port,
        "uri": format!("{scheme}:192.0.2.10:{port}?transport={transport}"), "served": true,
        "conditions": [
            condition("Accepted", "True", "Accepted", "The listener is valid."),
            condition("Conflicted", "False", "NoConflicts", "No other listener is in its way."),
            condition("ResolvedRefs", "True", "ResolvedRefs", "All that it refers to exists."),
            condition("Programmed", "True", "Programmed", "The dataplane listens on it."),
        ],
        "attachedRoutes": routes.len(), "routes": routes,
    })
}

fn route(name: &str, parents: Value, backends: Value) -> Value {
    let (namespace, short) = name.split_once('/').unwrap_or(("default", name));
    json!({
        "id": format!("UDPRoute.stunner.l7mp.io/{name}"), "kind": "UDPRoute", "group": "stunner.l7mp.io",
        "namespace": namespace, "name": short, "cluster": name, "parents": parents, "backends": backends,
    })
}

fn taken(gateway: &str, listener: Option<&str>, by: &[&str]) -> Value {
    json!({ "gateway": gateway, "listener": listener, "port": null, "takenBy": by, "conditions": [
        condition("Accepted", "True", "Accepted", "The route is attached."),
        condition("ResolvedRefs", "True", "ResolvedRefs", "All backends exist."),
    ]})
}

fn backend(kind: &str, name: &str, endpoints: usize) -> Value {
    let (namespace, short) = name.split_once('/').unwrap_or(("default", name));
    json!({ "kind": kind, "namespace": namespace, "name": short, "ports": "1-65535", "endpoints": endpoints,
            "names": [], "resolved": true, "message": "" })
}

fn overview(options: &Options) -> Value {
    let media = "UDPRoute.stunner.l7mp.io/media/media-plane";
    let mut routes = vec![
        route(
            "media/media-plane",
            json!([
                taken("default/udp-gateway", Some("udp"), &["udp"]),
                taken("default/tls-gateway", None, &["tls", "tcp"])
            ]),
            json!([
                backend("Service", "media/media-server", 3),
                backend("Service", "media/recorder", 1)
            ]),
        ),
        route(
            "conference/sfu",
            json!([taken("default/udp-gateway", None, &["udp"])]),
            json!([backend("StaticService", "conference/sfu-pool", 2)]),
        ),
        route(
            "games/lobby",
            json!([{ "gateway": "default/udp-gateway", "listener": "udp", "port": null, "takenBy": ["udp"], "conditions": [
                condition("Accepted", "True", "Accepted", "The route is attached."),
                condition("ResolvedRefs", "False", "BackendNotFound",
                    "There is no Service games/lobby-server. Create it, or correct the name in spec.rules[0].backendRefs[0] of UDPRoute games/lobby."),
            ]}]),
            json!([{ "kind": "Service", "namespace": "games", "name": "lobby-server", "ports": null, "endpoints": 0, "names": [],
                     "resolved": false, "message": "There is no Service games/lobby-server." }]),
        ),
        route(
            "staging/preview",
            json!([{ "gateway": "default/tls-gateway", "listener": "tls", "port": null, "takenBy": [], "conditions": [
                condition("Accepted", "False", "NotAllowedByListeners",
                    "Listener tls of Gateway default/tls-gateway admits routes of its own namespace only. Set allowedRoutes.namespaces.from to All, or move the route."),
                condition("ResolvedRefs", "True", "ResolvedRefs", "All backends exist."),
            ]}]),
            json!([backend("Service", "staging/preview", 0)]),
        ),
    ];
    let mut udp: Vec<String> = vec![
        media.into(),
        "UDPRoute.stunner.l7mp.io/conference/sfu".into(),
        "UDPRoute.stunner.l7mp.io/games/lobby".into(),
    ];
    if options.hostile {
        let name = "<img src=x onerror=\"document.title='owned'\">";
        let mut bad = route(
            &format!("default/{name}"),
            json!([taken("default/udp-gateway", Some("udp"), &["udp"])]),
            json!([backend("Service", &format!("default/{name}"), 1)]),
        );
        bad["parents"][0]["conditions"][0]["message"] =
            json!("<script>document.title='owned'</script>");
        udp.push(bad["id"].as_str().unwrap_or_default().to_owned());
        routes.push(bad);
    }
    for index in 0..options.more_routes {
        let name = format!("tenant-{}/route-{index:04}", index % 40);
        let made = route(
            &name,
            json!([taken("default/udp-gateway", Some("udp"), &["udp"])]),
            json!([backend(
                "Service",
                &format!("tenant-{}/backend-{index:04}", index % 40),
                2
            )]),
        );
        udp.push(made["id"].as_str().unwrap_or_default().to_owned());
        routes.push(made);
    }
    let udp: Vec<&str> = udp.iter().map(String::as_str).collect();
    let mut clash = listener("default/old-gateway", "udp", "TURN-UDP", 3478, &[]);
    clash["served"] = json!(false);
    clash["uri"] = json!(null);
    clash["conditions"] = json!([
        condition("Accepted", "True", "Accepted", "The listener is valid."),
        condition(
            "Programmed",
            "False",
            "PortUnavailable",
            "Port 3478/udp is taken by listener udp of Gateway default/udp-gateway. Choose another port, or start with --port-offset."
        ),
    ]);
    json!({
        "classes": [{
            "name": "stunner", "controller": "stunner.l7mp.io/gateway-operator",
            "parameters": { "kind": "GatewayConfig", "namespace": "stunner", "name": "stunner-config", "found": true },
            "conditions": [condition("Accepted", "True", "Accepted", "GatewayClass stunner is accepted.")],
        }],
        "gateways": [
            { "id": "default/old-gateway", "namespace": "default", "name": "old-gateway", "class": "stunner", "addresses": [],
              "conditions": [
                condition("Accepted", "True", "Accepted", "The Gateway is accepted."),
                condition("Programmed", "Unknown", "Pending", "None of its listeners runs yet."),
              ], "listeners": [clash] },
            { "id": "default/tls-gateway", "namespace": "default", "name": "tls-gateway", "class": "stunner",
              "addresses": ["turn.example.com"], "conditions": fine(),
              "listeners": [listener("default/tls-gateway", "tls", "TURN-TLS", 443, &[media]),
                            listener("default/tls-gateway", "tcp", "TURN-TCP", 3479, &[media])] },
            { "id": "default/udp-gateway", "namespace": "default", "name": "udp-gateway", "class": "stunner",
              "addresses": ["192.0.2.10", "2001:db8::10"], "conditions": fine(),
              "listeners": [listener("default/udp-gateway", "udp", "TURN-UDP", 3478, &udp)] },
        ],
        "routes": routes,
    })
}

fn problems(options: &Options) -> Vec<Problem> {
    let problem =
        |file: &str, line, severity: &str, field: &str, message: &str, hint: Option<&str>| {
            Problem {
                file: file.into(),
                line,
                column: 9,
                severity: severity.into(),
                field: field.into(),
                message: message.into(),
                hint: hint.map(Into::into),
            }
        };
    let mut problems = vec![
        problem(
            "manifests/routes.yaml",
            41,
            "error",
            "spec.rules[0].backendRefs[0].name",
            "UDPRoute games/lobby refers to Service games/lobby-server, which is in none of the files",
            Some("did you mean Service games/lobby?"),
        ),
        problem(
            "manifests/gateway.yaml",
            7,
            "warning",
            "apiVersion",
            "stunner.l7mp.io/v1alpha1 is an older version and was read as v1",
            Some("write apiVersion: stunner.l7mp.io/v1"),
        ),
    ];
    if options.hostile {
        problems.push(problem(
            "<b>x</b>.yaml",
            1,
            "error",
            "<i>",
            "<script>document.title='owned'</script>",
            Some("<u>hint</u>"),
        ));
    }
    problems
}

/// A smooth load that never goes down: a base rate and two waves, integrated.
fn traffic(seconds: f64, scale: f64, phase: f64) -> Traffic {
    let load = seconds * 1.4
        + (1.0 - (seconds / 9.0 + phase).cos()) * 6.0
        + (1.0 - (seconds / 3.1 + phase).cos()) * 1.1;
    let packets = (load.max(0.0) + 60.0) * scale;
    Traffic {
        rx_packets: packets as u64,
        rx_bytes: (packets * 930.0) as u64,
        tx_packets: (packets * 0.7) as u64,
        tx_bytes: (packets * 0.55 * 930.0) as u64,
    }
}

fn live(options: &Options, seconds: f64, overview: &Value) -> Live {
    let gateway = |id: &str, phase, allocations, message: Option<&str>| LiveGateway {
        id: id.into(),
        phase,
        allocations,
        message: message.map(Into::into),
    };
    let listener = |id: &str, scale, phase| LiveListener {
        id: id.into(),
        traffic: traffic(seconds, scale, phase),
    };
    let clusters = overview["routes"]
        .as_array()
        .into_iter()
        .flatten()
        .enumerate();
    let clusters = clusters.map(|(index, route)| LiveCluster {
        id: route["cluster"].as_str().unwrap_or_default().to_owned(),
        traffic: traffic(seconds, 700.0 / (index as f64 + 1.0), index as f64),
    });
    let sessions: Vec<Session> = (0..37)
        .map(|index| session(options, index, seconds))
        .collect();
    Live {
        gateways: vec![
            gateway(
                "default/old-gateway",
                Phase::NotRunning,
                0,
                Some("None of its listeners could be started."),
            ),
            gateway(
                "default/tls-gateway",
                Phase::Draining,
                12,
                Some("8 s are left of the drain timeout."),
            ),
            gateway("default/udp-gateway", Phase::Running, 25, None),
        ],
        listeners: vec![
            listener("default/tls-gateway/tls", 180.0, 0.3),
            listener("default/tls-gateway/tcp", 25.0, 2.0),
            listener("default/udp-gateway/udp", 900.0, 1.0),
        ],
        clusters: clusters.collect(),
        denials: denials(options),
        denials_by_reason: BTreeMap::from([
            ("no_route".into(), 23),
            ("port".into(), 4),
            ("link_local".into(), 2),
        ]),
        sessions_total: sessions.len() as u64,
        sessions,
        can_end_sessions: true,
    }
}

fn session(options: &Options, index: u64, seconds: f64) -> Session {
    let tls = index.is_multiple_of(3);
    let user = match options.hostile && index == 0 {
        true => "<svg onload=alert(1)>".to_owned(),
        false => format!("1794800000:user-{index}"),
    };
    let age = seconds as u64 + index * 97 % 4000;
    Session {
        id: format!("default/udp-gateway:{index}"),
        user,
        listener: if tls {
            "default/tls-gateway/tls"
        } else {
            "default/udp-gateway/udp"
        }
        .into(),
        client: format!("198.51.100.{}:{}", index + 3, 40000 + index * 31),
        transport: if tls { "tls" } else { "udp" }.into(),
        relayed: vec![format!("192.0.2.10:{}", 50000 + index * 17)],
        peers: (0..=index % 3)
            .map(|peer| format!("10.4.0.{}:9000", 7 + peer))
            .collect(),
        age_seconds: age,
        idle_seconds: index % 5,
        expires_in_seconds: 600 - age % 600,
        to_peers: Volume {
            packets: age * 50,
            bytes: age * 50 * (200 + index * 20),
        },
        to_client: Volume {
            packets: age * 50,
            bytes: age * 50 * (900 + index * 20),
        },
    }
}

fn denials(options: &Options) -> Vec<Denial> {
    let denial = |at: &str, client: &str, peer: &str, reason: &str, sentence: &str| Denial {
        at: at.into(),
        listener: "default/udp-gateway/udp".into(),
        user: "1794800000:user-4".into(),
        client: client.into(),
        peer: peer.into(),
        reason: reason.into(),
        nearest: None,
        sentence: sentence.into(),
    };
    let mut denials = vec![
        denial(
            "2026-11-16T01:42:07.120Z",
            "198.51.100.7:40124",
            "10.0.0.7:5000",
            "no_route",
            "client 198.51.100.7:40124 was refused peer 10.0.0.7:5000: not in any route of `default/udp-gateway/udp`; nearest: Service media/media-server",
        ),
        denial(
            "2026-11-16T01:41:52.001Z",
            "198.51.100.7:40122",
            "10.0.0.7:5000",
            "no_route",
            "client 198.51.100.7:40122 was refused peer 10.0.0.7:5000: not in any route of `default/udp-gateway/udp`; nearest: Service media/media-server",
        ),
        denial(
            "2026-11-16T01:40:11.400Z",
            "198.51.100.23:51002",
            "10.4.0.9:22",
            "port",
            "client 198.51.100.23:51002 was refused peer 10.4.0.9:22: the routes of `default/udp-gateway/udp` have the address, but port 22 is outside their ranges; nearest: Service conference/sfu-pool",
        ),
        denial(
            "2026-11-16T01:38:45.000Z",
            "198.51.100.80:33011",
            "169.254.169.254",
            "link_local",
            "client 198.51.100.80:33011 was refused peer 169.254.169.254: a link-local or metadata address is reached only where a backend names it",
        ),
    ];
    if options.hostile {
        denials.push(denial(
            "<b>now</b>",
            "<i>1",
            "<u>2",
            "<s>3",
            "<script>document.title='owned'</script>",
        ));
    }
    denials
}
