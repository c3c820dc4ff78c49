//! What a good config means.

use std::net::{Ipv4Addr, Ipv6Addr};

use stunner_config::{
    ApiVersion, AuthMethod, ClusterKind, HttpHost, OffloadEngine, ParseOptions, PeerTransport,
    PortRange, Protocol, RelayAddresses, bootstrap, parse, parse_with,
};

use super::{config, lines, no_env, parsed};

const MINIMAL: &str = "version: v1\nauth: {credentials: {username: u, password: p}}\n";

fn with(rest: &str) -> String {
    format!("{MINIMAL}{rest}")
}

#[test]
fn a_minimal_config_gets_the_defaults() {
    let config = config(MINIMAL);
    assert_eq!(config.admin.name, "default-stunnerd");
    assert_eq!(config.admin.loglevel, "all:INFO");
    assert_eq!(config.admin.metrics_endpoint, None);
    assert_eq!(
        config
            .admin
            .healthcheck_endpoint
            .map(|endpoint| (endpoint.host, endpoint.port)),
        Some((HttpHost::Any, 8086))
    );
    assert_eq!(config.admin.user_quota, 0);
    assert_eq!(config.admin.offload_engine, OffloadEngine::None);
    assert_eq!(config.auth.realm, "stunner.l7mp.io");
    assert_eq!(
        config.auth.method,
        AuthMethod::Static {
            username: "u".into(),
            password: "p".into()
        }
    );
    assert!(config.listeners.is_empty() && config.clusters.is_empty());
}

#[test]
fn a_full_config_in_yaml_is_read_whole() {
    let text = r#"
version: v1
admin:
  name: ns/gw
  logLevel: all:WARN,turn:TRACE
  metrics_endpoint: http://127.0.0.1:9090/metrics
  healthcheck_endpoint: ""
  user_quota: 12
  offload_engine: auto
  offload_interfaces: [eth1, eth0]
  relay_port_range: 50000-50999
  license_config: {key: k, hmac: h}
auth:
  type: EPHEMERAL
  realm: example.com
  lifetime: 1h
  credentials: {secret: $NOT-EXPANDED}
listeners:
- name: udp
  protocol: udp
  address: 192.0.2.1, 2001:db8::1
  port: 0
  public_address: turn.example.com
  public_port: 443
  routes: [b, a, b]
- Name: tcp
  PROTOCOL: Turn-Tcp
  address: localhost
  port: 5000
clusters:
- name: a
  endpoints: [10.0.0.9/8, "10.0.0.1:<5-6>", 10.0.0.0/8]
- name: b
  type: strict_dns
  protocol: tcp
  endpoints: [Media.Example.com, "x.y:<1-2>"]
"#;
    let parsed = parsed(text);
    assert_eq!(lines(&parsed.warnings), "");
    let config = parsed.config;
    assert_eq!(
        config
            .admin
            .metrics_endpoint
            .as_ref()
            .map(|e| (e.port, e.path.as_str())),
        Some((9090, "/metrics"))
    );
    assert_eq!(config.admin.healthcheck_endpoint, None);
    assert_eq!(config.admin.user_quota, 12);
    assert_eq!(config.admin.offload_engine, OffloadEngine::Auto);
    assert_eq!(config.admin.offload_interfaces, ["eth0", "eth1"]);
    assert_eq!(
        config.admin.relay_port_range,
        Some(PortRange::new(50000, 50999))
    );
    assert_eq!(
        config.auth.method,
        AuthMethod::Ephemeral {
            secret: "$NOT-EXPANDED".into()
        }
    );
    assert_eq!(
        (config.auth.realm.as_str(), config.auth.lifetime),
        ("example.com", Some(3600))
    );

    let udp = config.listener("udp").unwrap();
    assert_eq!(
        (udp.protocol, udp.port, udp.public_port),
        (Protocol::TurnUdp, 3478, 443)
    );
    let both = RelayAddresses {
        v4: Some(Ipv4Addr::new(192, 0, 2, 1)),
        v6: Some("2001:db8::1".parse::<Ipv6Addr>().unwrap()),
        wildcard: false,
    };
    assert_eq!(
        (udp.addresses, udp.address_text.as_str()),
        (both, "192.0.2.1,2001:db8::1")
    );
    assert_eq!(udp.routes, ["a", "b"]);
    let tcp = config.listener("tcp").unwrap();
    assert_eq!(
        (tcp.protocol, tcp.addresses.v4),
        (Protocol::TurnTcp, Some(Ipv4Addr::LOCALHOST))
    );

    assert_eq!(
        config.cluster("a").unwrap().endpoint_texts(),
        ["10.0.0.0/8", "10.0.0.1:<5-6>"]
    );
    let b = config.cluster("b").unwrap();
    assert_eq!(b.protocol, PeerTransport::Tcp);
    assert!(matches!(&b.kind, ClusterKind::StrictDns(names) if names.len() == 2));
    assert_eq!(b.endpoint_texts(), ["media.example.com", "x.y:<1-2>"]);
}

#[test]
fn json_and_yaml_of_one_config_are_equal() {
    let yaml = with("listeners:\n- {name: a, port: 5000}\n");
    let json = "{\n\t\"version\": \"v1\",\n\t\"auth\": {\"type\": \"static\", \"credentials\": \
                {\"username\": \"u\", \"password\": \"p\"}},\n\t\"listeners\": [{\"name\": \"a\", \"port\": 5000}]\n}";
    assert_eq!(config(&yaml), config(json));
    // Escapes are JSON's: Go writes angle brackets so.
    let escaped = r#"{"version":"v1","auth":{"credentials":{"username":"u","password":"p"}},
        "clusters":[{"name":"c","endpoints":["10.0.0.1:\u003c1-2\u003e"]}]}"#;
    assert_eq!(
        config(escaped).clusters[0].endpoint_texts(),
        ["10.0.0.1:<1-2>"]
    );
}

#[test]
fn aliases_of_types_and_protocols_work_in_any_case() {
    for (word, expected) in [
        ("static", "static"),
        ("PlainText", "static"),
        ("ephemeral", "ephemeral"),
        ("LONGTERM", "ephemeral"),
        ("timeWindowed", "ephemeral"),
        ("None", "none"),
    ] {
        let text = format!(
            "version: v1\nauth: {{type: {word}, credentials: {{username: u, password: p, secret: s}}}}"
        );
        assert_eq!(config(&text).auth.method.as_str(), expected, "{word}");
    }
    for (word, expected) in [
        ("UDP", "TURN-UDP"),
        ("tcp", "TURN-TCP"),
        ("turn-udp", "TURN-UDP"),
        ("Turn-Tcp", "TURN-TCP"),
    ] {
        let text = with(&format!("listeners: [{{name: a, protocol: {word}}}]"));
        assert_eq!(
            config(&text).listeners[0].protocol.as_str(),
            expected,
            "{word}"
        );
    }
}

#[test]
fn v1alpha1_is_read_as_v1() {
    let text = "version: v1alpha1\nauth: {type: longterm, credentials: {secret: s}}\nlisteners: [{name: a}]";
    let old = parsed(text);
    assert_eq!(old.version, ApiVersion::V1Alpha1);
    assert_eq!(
        old.config,
        config(
            &text
                .replace("v1alpha1", "v1")
                .replace("longterm", "ephemeral")
        )
    );
}

#[test]
fn variables_are_replaced_in_every_value_but_credentials() {
    let env = |name: &str| match name {
        "STUNNER_PORT" => Some("5000".to_owned()),
        "STUNNER_ADDR" => Some("192.0.2.7".to_owned()),
        "REALM" => Some("a: [b".to_owned()),
        "USER" => Some("leaked".to_owned()),
        _ => None,
    };
    let text = "version: v1\nauth: {realm: $REALM, credentials: {username: a$USER, password: '${USER}x'}}\n\
                listeners: [{name: a, port: $STUNNER_PORT, address: $STUNNER_ADDR}]";
    let config = parse(text, &env).unwrap().config;
    assert_eq!(config.auth.realm, "a: [b");
    assert_eq!(
        config.auth.method,
        AuthMethod::Static {
            username: "a$USER".into(),
            password: "${USER}x".into()
        }
    );
    assert_eq!(
        (config.listeners[0].port, config.listeners[0].addresses.v4),
        (5000, Some(Ipv4Addr::new(192, 0, 2, 7)))
    );
    // A cached config has been through this and is taken as it stands.
    let options = ParseOptions {
        expand_env: false,
        ..ParseOptions::default()
    };
    let cached = parse_with(
        &config.to_json().to_string().replace("192.0.2.7", "0.0.0.0"),
        &env,
        options,
    )
    .unwrap();
    assert_eq!(cached.config.auth, config.auth);
}

#[test]
fn stunner_addrs_adds_the_other_family_to_stunner_addr() {
    let read = |addr: &'static str, addrs: &'static str, address: &str| {
        let env = move |name: &str| match name {
            "STUNNER_ADDR" => Some(addr.to_owned()),
            "STUNNER_ADDRS" => Some(addrs.to_owned()),
            _ => None,
        };
        let text = with(&format!("listeners: [{{name: a, address: '{address}'}}]"));
        parse(&text, &env).unwrap().config.listeners[0]
            .address_text
            .clone()
    };
    assert_eq!(
        read("10.0.0.1", "10.0.0.1,fd00::1", "$STUNNER_ADDR"),
        "10.0.0.1,fd00::1"
    );
    assert_eq!(
        read("fd00::1", "10.0.0.1, fd00::1", "$STUNNER_ADDR"),
        "fd00::1,10.0.0.1"
    );
    assert_eq!(read("10.0.0.1", "10.0.0.1", "${STUNNER_ADDR}"), "10.0.0.1");
    assert_eq!(
        read("10.0.0.1", "10.0.0.1,fd00::1", "192.0.2.1"),
        "192.0.2.1"
    );
    assert_eq!(read("10.0.0.1", "10.0.0.1,fd00::1", "0.0.0.0"), "0.0.0.0");
}

#[test]
fn an_address_may_be_a_wildcard_of_either_family() {
    for text in ["0.0.0.0", "'::'", "''", "'[::]'"] {
        let config = config(&with(&format!("listeners: [{{name: a, address: {text}}}]")));
        assert_eq!(
            config.listeners[0].addresses,
            RelayAddresses::WILDCARD,
            "{text}"
        );
    }
}

#[test]
fn health_is_on_by_default_and_off_when_empty() {
    let health = |text: &str| {
        config(&with(text))
            .admin
            .healthcheck_endpoint
            .map(|endpoint| endpoint.port)
    };
    assert_eq!(health("admin: {}"), Some(8086));
    assert_eq!(health("admin: {healthcheck_endpoint: null}"), Some(8086));
    assert_eq!(health("admin: {healthcheck_endpoint: ''}"), None);
    assert_eq!(
        health("admin: {healthcheck_endpoint: 'http://:9000'}"),
        Some(9000)
    );
    assert_eq!(health("admin: {healthcheck_endpoint: 0.0.0.0}"), Some(8086));
}

#[test]
fn numbers_in_string_fields_are_taken_as_written() {
    let text =
        "version: v1\nauth: {credentials: {username: 007, password: 1e5}}\nadmin: {name: true}";
    let config = config(text);
    assert_eq!(
        config.auth.method,
        AuthMethod::Static {
            username: "007".into(),
            password: "1e5".into()
        }
    );
    assert_eq!(config.admin.name, "true");
}

#[test]
fn yaml_anchors_and_merge_keys_work() {
    let text = with(
        "listeners:\n- &base {name: a, address: 192.0.2.1, routes: [x]}\n- {<<: *base, name: b, port: 5000}\n\
         clusters:\n- {name: x, endpoints: &e [10.0.0.1]}\n- {name: y, endpoints: *e}\n",
    );
    let config = config(&text);
    assert_eq!(config.listeners[1].address_text, "192.0.2.1");
    assert_eq!(
        (config.listeners[1].name.as_str(), config.listeners[1].port),
        ("b", 5000)
    );
    assert_eq!(config.clusters[1].endpoint_texts(), ["10.0.0.1"]);
}

#[test]
fn a_deletion_is_recognised_with_and_without_its_defaults() {
    let short = r#"{"version":"v1","admin":{"name":"ns/gw"},"auth":{"type":"static","realm":"stunner.l7mp.io",
        "credentials":{"password":"dummy-password","username":"dummy-username"}}}"#;
    assert!(config(short).is_deletion("ns/gw"));
    assert!(config(&bootstrap("ns/gw").to_json().to_string()).is_deletion("ns/gw"));
    let defaulted = "version: v1\nadmin: {name: ns/gw, loglevel: 'all:INFO', healthcheck_endpoint: 'http://:8086', \
                     offload_engine: None, user_quota: 0}\nauth: {credentials: {username: dummy-username, \
                     password: dummy-password}}\nlisteners: []\nclusters: []";
    assert!(config(defaulted).is_deletion("ns/gw"));
    let other = defaulted.replace("listeners: []", "listeners: [{name: a}]");
    assert!(!config(&other).is_deletion("ns/gw"));
    assert!(!config(&defaulted.replace("dummy-password", "real")).is_deletion("ns/gw"));
}

#[test]
fn secrets_do_not_show_in_debug_or_display() {
    let text = "version: v1\nadmin: {license_config: {key: hush-1, hmac: hush-2}}\n\
                auth: {credentials: {username: hush-3, password: hush-4}}\n\
                listeners: [{name: a, protocol: tls, cert: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCmh1c2gtNQo=, \
                key: LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0tCmh1c2gtNgo=}]";
    let parsed = parse(text, &no_env).unwrap();
    assert!(
        parsed.config.listeners[0]
            .key
            .as_ref()
            .unwrap()
            .as_str()
            .contains("hush-6")
    );
    for shown in [
        format!("{parsed:?}"),
        parsed.config.to_string(),
        parsed.config.status_document().to_string(),
    ] {
        assert!(!shown.contains("hush"), "{shown}");
    }
}

#[test]
fn certificates_may_come_from_variables() {
    let env = |name: &str| match name {
        "CERT" => Some("LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg==".to_owned()),
        "KEY" => Some("LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0tCg==".to_owned()),
        _ => None,
    };
    let text = with("listeners: [{name: a, protocol: TLS, cert: $CERT, key: $KEY}]");
    let config = parse(&text, &env).unwrap().config;
    assert_eq!(
        config.listeners[0].cert.as_ref().map(|pem| pem.as_str()),
        Some("-----BEGIN CERTIFICATE-----\n")
    );
}
