//! What a change of config means.

use stunner_config::diff::{Changes, ClusterChange, ListenerChange, diff};

use super::config;

const CERT: &str = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg==";
const KEY: &str = "LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0tCg==";

fn base() -> String {
    format!(
        "version: v1
admin: {{name: ns/gw}}
auth: {{credentials: {{username: u, password: p}}}}
listeners:
- {{name: a, port: 5000, address: 192.0.2.1, routes: [x, y]}}
- {{name: t, port: 5001, protocol: tls, cert: {CERT}, key: {KEY}}}
clusters:
- {{name: x, endpoints: [10.0.0.1, 10.0.0.2]}}
- {{name: y, type: STRICT_DNS, endpoints: [media]}}
"
    )
}

fn changes(edits: &[(&str, &str)]) -> Changes {
    let text = edits.iter().fold(base(), |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replace(from, to)
    });
    diff(&config(&base()), &config(&text))
}

fn name(name: &str) -> String {
    name.to_owned()
}

#[test]
fn the_same_meaning_is_no_change() {
    assert!(changes(&[]).is_empty());
    assert_eq!(changes(&[]).to_string(), "no change");
    let reordered = [
        ("[x, y]", "[y, x, y]"),
        ("[10.0.0.1, 10.0.0.2]", "[10.0.0.2, 10.0.0.1/32]"),
        ("[media]", "[MEDIA.]"),
        ("protocol: tls", "protocol: TURN-TLS"),
    ];
    assert!(changes(&reordered).is_empty());
    let mut swapped = config(&base());
    swapped.listeners.reverse();
    swapped.clusters.reverse();
    assert!(diff(&config(&base()), &swapped).is_empty());
}

#[test]
fn a_certificate_matters_only_to_tls_and_dtls() {
    let unused = changes(&[(
        "name: a, port: 5000",
        &format!("name: a, port: 5000, cert: {CERT}, key: {KEY}"),
    )]);
    assert!(unused.is_empty(), "{unused}");
    let rotated = changes(&[(CERT, "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCgo=")]);
    assert_eq!(
        rotated.listeners,
        [ListenerChange::Certificate { name: name("t") }]
    );
    let upgraded = changes(&[(
        "name: a, port: 5000",
        &format!("name: a, port: 5000, protocol: dtls, cert: {CERT}, key: {KEY}"),
    )]);
    assert_eq!(
        upgraded.listeners,
        [ListenerChange::Protocol {
            name: name("a"),
            keeps_socket: true
        }]
    );
}

#[test]
fn each_listener_change_is_named() {
    let table = [
        (
            "port: 5000",
            "port: 5005",
            ListenerChange::Moved { name: name("a") },
        ),
        (
            "port: 5000,",
            "port: 5000, protocol: tcp,",
            ListenerChange::Protocol {
                name: name("a"),
                keeps_socket: false,
            },
        ),
        (
            "protocol: tls",
            "protocol: tcp",
            ListenerChange::Protocol {
                name: name("t"),
                keeps_socket: true,
            },
        ),
        (
            "192.0.2.1",
            "192.0.2.2",
            ListenerChange::RelayAddress { name: name("a") },
        ),
        ("[x, y]", "[x]", ListenerChange::Routes { name: name("a") }),
        (
            "port: 5001",
            "port: 5001, public_port: 443",
            ListenerChange::PublicAddress { name: name("t") },
        ),
    ];
    for (from, to, expected) in table {
        let changes = changes(&[(from, to)]);
        let policy = matches!(expected, ListenerChange::Routes { .. });
        assert_eq!(
            changes,
            Changes {
                listeners: vec![expected],
                policy,
                ..Changes::default()
            },
            "{to}"
        );
    }
}

#[test]
fn a_rename_is_a_removal_and_an_addition() {
    let changes = changes(&[("name: a", "name: b")]);
    assert_eq!(
        changes.listeners,
        [
            ListenerChange::Removed { name: name("a") },
            ListenerChange::Added { name: name("b") }
        ]
    );
    assert!(!changes.policy);
}

#[test]
fn cluster_changes_change_the_policy_only() {
    let endpoints = changes(&[("10.0.0.2", "10.0.0.3")]);
    let changed = vec![ClusterChange::Changed { name: name("x") }];
    assert_eq!(
        endpoints,
        Changes {
            clusters: changed,
            policy: true,
            ..Changes::default()
        }
    );
    let removed = changes(&[(
        "- {name: y, type: STRICT_DNS, endpoints: [media]}\n",
        "- {name: z}\n",
    )]);
    assert_eq!(
        removed.clusters,
        [
            ClusterChange::Removed { name: name("y") },
            ClusterChange::Added { name: name("z") }
        ]
    );
}

#[test]
fn settings_of_the_process_are_told_apart() {
    let admin = |fields: &str| changes(&[("name: ns/gw", &format!("name: ns/gw, {fields}"))]);
    assert_eq!(
        admin("loglevel: 'all:DEBUG'").log_level.as_deref(),
        Some("all:DEBUG")
    );
    assert!(admin("user_quota: 3").quota);
    assert!(admin("relay_port_range: 1000-2000").relay_ports);
    assert!(admin("offload_engine: TC").offload);
    assert!(admin("license_config: {key: k}").carried);
    assert_eq!(admin("healthcheck_endpoint: ''").health.unwrap().to, None);
    assert!(
        admin("healthcheck_endpoint: 'http://:8086/other'")
            .health
            .is_none()
    );
    assert_eq!(
        admin("metrics_endpoint: 'http://:9'")
            .metrics
            .unwrap()
            .to
            .unwrap()
            .port,
        9
    );
    assert_eq!(
        changes(&[("ns/gw", "ns/other")]).name.as_deref(),
        Some("ns/other")
    );
    for auth in ["username: v", "username: u, x: y"] {
        assert_eq!(
            changes(&[("username: u", auth)]).auth,
            auth == "username: v"
        );
    }
    assert!(changes(&[("auth: {", "auth: {realm: other.org, ")]).auth);
    assert!(changes(&[("auth: {", "auth: {lifetime: 5, ")]).carried);
}

#[test]
fn the_log_line_says_what_changed_and_no_secret() {
    let changes = changes(&[
        ("port: 5000", "port: 5005"),
        ("[x, y]", "[x]"),
        ("password: p", "password: hush"),
        ("10.0.0.2", "10.0.0.3"),
        (
            "name: ns/gw",
            "name: ns/gw, loglevel: 'all:WARN', metrics_endpoint: 'http://:8080/metrics'",
        ),
    ]);
    assert_eq!(
        changes.to_string(),
        "listener a: port, routes; cluster x: changed; authentication; log level all:WARN; \
         metrics endpoint http://:8080/metrics"
    );
}
