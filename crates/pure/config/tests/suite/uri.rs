//! TURN URIs.

use stunner_config::uri::{Scheme, TurnUri, UriError, default_config, parse_turn_uri};
use stunner_config::{AuthMethod, ParseOptions, Pem, Protocol, SecretPem, parse_with};

fn parts(text: &str) -> (String, u16, Protocol) {
    let uri = parse_turn_uri(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    (uri.host, uri.port, uri.protocol)
}

#[test]
fn every_form_is_read() {
    use Protocol::*;
    let table = [
        ("turn://u:p@1.2.3.4:5?transport=udp", "1.2.3.4", 5, TurnUdp),
        ("turn://u:p@1.2.3.4:5?transport=tcp", "1.2.3.4", 5, TurnTcp),
        ("turn://u:p@1.2.3.4:5?transport=tls", "1.2.3.4", 5, TurnTls),
        (
            "turn://u:p@1.2.3.4:5?transport=dtls",
            "1.2.3.4",
            5,
            TurnDtls,
        ),
        (
            "turns://u:p@1.2.3.4:5?transport=udp",
            "1.2.3.4",
            5,
            TurnDtls,
        ),
        ("turns://u:p@1.2.3.4:5?transport=tcp", "1.2.3.4", 5, TurnTls),
        ("turn://u:p@1.2.3.4:5", "1.2.3.4", 5, TurnUdp),
        ("turn://u:p@1.2.3.4", "1.2.3.4", 3478, TurnUdp),
        ("turn://u:p@1.2.3.4?transport=TLS", "1.2.3.4", 443, TurnTls),
        (
            "turns://u:p@1.2.3.4?transport=udp",
            "1.2.3.4",
            443,
            TurnDtls,
        ),
        ("u:p@1.2.3.4:5", "1.2.3.4", 5, TurnUdp),
        ("1.2.3.4", "1.2.3.4", 3478, TurnUdp),
        ("TURN://u:p@LocalHost:5/", "localhost", 5, TurnUdp),
        (
            "turn:example.com:5?transport=tcp",
            "example.com",
            5,
            TurnTcp,
        ),
        (
            "turns:example.com:5?transport=tcp",
            "example.com",
            5,
            TurnTls,
        ),
        ("turn:u:p@example.com", "example.com", 3478, TurnUdp),
        (
            "turn://u:p@[2001:db8::1]:5?transport=udp",
            "2001:db8::1",
            5,
            TurnUdp,
        ),
        ("turn:[::1]", "::1", 3478, TurnUdp),
        (
            "turn://u:p@1.2.3.4:5?x=y&transport=tcp#frag",
            "1.2.3.4",
            5,
            TurnTcp,
        ),
    ];
    for (text, host, port, protocol) in table {
        assert_eq!(parts(text), (host.to_owned(), port, protocol), "{text}");
    }
}

#[test]
fn rfc7065_3_turns_without_transport_is_tls_over_tcp() {
    assert_eq!(
        parts("turns:example.com"),
        ("example.com".to_owned(), 443, Protocol::TurnTls)
    );
}

#[test]
fn user_and_password_are_percent_decoded() {
    let uri = parse_turn_uri("turn://1700000000%3Auser:p%40ss%2F%25@1.2.3.4").unwrap();
    assert_eq!(
        (uri.user.as_deref(), uri.password.as_deref()),
        (Some("1700000000:user"), Some("p@ss/%"))
    );
    assert_eq!(uri.scheme, Scheme::Turn);
    // What is special in a URI is forgiven in a password.
    let uri = parse_turn_uri("turn://u:a@b/c?d#e=@1.2.3.4:5?transport=tcp").unwrap();
    assert_eq!(
        (uri.password.as_deref(), uri.protocol),
        (Some("a@b/c?d#e="), Protocol::TurnTcp)
    );
}

#[test]
fn bad_uris_are_refused_with_their_reason() {
    let table = [
        ("http://u:p@1.2.3.4", UriError::Scheme("http".to_owned())),
        ("turn://u:p@", UriError::NoHost),
        ("", UriError::NoHost),
        ("turn://u:p@1.2.3.4:0", UriError::Port),
        ("turn://u:p@1.2.3.4:70000", UriError::Port),
        ("turn://u:p@1.2.3.4:x", UriError::Port),
        ("turn://u:p@2001:db8::1", UriError::Host),
        ("turn://u:p@[2001:db8::1", UriError::Host),
        ("turn://u:p@[nope]:1", UriError::Host),
        ("turn://u:p@a b:1", UriError::Host),
        (
            "turn://u:p@1.2.3.4?transport=sctp",
            UriError::Transport("sctp".to_owned()),
        ),
        ("turn://u:%zz@1.2.3.4", UriError::Encoding),
        ("turn://u:%4", UriError::Port),
        ("turn://u:%ff@1.2.3.4", UriError::Encoding),
    ];
    for (text, error) in table {
        assert_eq!(parse_turn_uri(text), Err(error), "{text}");
    }
}

#[test]
fn errors_and_texts_never_show_the_password() {
    for text in [
        "turn://user:hush",
        "turn://user:hush:more",
        "user:hush",
        "turn://user:hush@",
        "turn://user:%hush@1.2.3.4",
        "turn://user:hush@1.2.3.4:x",
        "x://y:hush@1.2.3.4",
        "turn://user:hu?transport=sh@1.2.3.4:99999",
    ] {
        match parse_turn_uri(text) {
            Ok(uri) => assert!(!format!("{uri} {uri:?}").contains("hush"), "{text}"),
            Err(error) => assert!(
                !format!("{error} {error:?}").contains("hush"),
                "{text}: {error}"
            ),
        }
    }
    let uri = parse_turn_uri("turn://user:hush@[::1]:5?transport=tls").unwrap();
    assert_eq!(uri.to_string(), "turns://<SECRET>@[::1]:5?transport=tls");
}

fn uri(text: &str) -> TurnUri {
    parse_turn_uri(text).unwrap()
}

#[test]
fn a_uri_makes_a_config_for_any_peer() {
    let config = default_config(&uri("turn://u:p@127.0.0.1:5000?transport=tcp"), None).unwrap();
    assert_eq!(
        config.auth.method,
        AuthMethod::Static {
            username: "u".into(),
            password: "p".into()
        }
    );
    let listener = &config.listeners[0];
    assert_eq!(
        (listener.name.as_str(), listener.protocol, listener.port),
        ("default-listener", Protocol::TurnTcp, 5000)
    );
    assert_eq!(listener.address_text, "127.0.0.1");
    assert_eq!(listener.routes, ["allow-any"]);
    assert_eq!(config.clusters[0].endpoint_texts(), ["0.0.0.0/0", "::/0"]);
    // It is an ordinary config: written and read it stays the same.
    assert_eq!(super::config(&config.to_json().to_string()), config);
    let wildcard = default_config(&uri("turn://u:p@[::]:5"), None).unwrap();
    assert!(wildcard.listeners[0].addresses.wildcard);
}

#[test]
fn a_config_needs_credentials_an_address_and_for_tls_an_identity() {
    let refused = |text: &str| default_config(&uri(text), None).unwrap_err();
    assert_eq!(refused("turn://1.2.3.4"), UriError::NoCredentials);
    assert_eq!(refused("turn://u@1.2.3.4"), UriError::NoCredentials);
    assert_eq!(refused("turn://:p@1.2.3.4"), UriError::NoCredentials);
    assert_eq!(refused("turn://u:@1.2.3.4"), UriError::NoCredentials);
    assert_eq!(
        refused("turn://u:p@example.com"),
        UriError::HostNotAddress("example.com".to_owned())
    );
    assert_eq!(
        refused("turns://u:p@1.2.3.4"),
        UriError::NoIdentity(Protocol::TurnTls)
    );
    let identity = Some((Pem::new("cert"), SecretPem::new("key")));
    let config = default_config(&uri("turns://u:p@1.2.3.4?transport=udp"), identity).unwrap();
    assert_eq!(config.listeners[0].cert, Some(Pem::new("cert")));
}

#[test]
fn listeners_tell_their_uri() {
    let pem = "cert: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg==, key: LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0tCg==";
    let table = [
        (
            "public_address: 198.51.100.1, public_port: 443".to_owned(),
            "turn:198.51.100.1:443?transport=udp",
        ),
        (
            "address: '2001:db8::1,192.0.2.1', protocol: TCP".to_owned(),
            "turn:[2001:db8::1]:3478?transport=tcp",
        ),
        (
            format!("public_address: a.example, protocol: TLS, {pem}"),
            "turns:a.example:3478?transport=tcp",
        ),
        (
            format!("protocol: DTLS, port: 5349, {pem}"),
            "turns:0.0.0.0:5349?transport=udp",
        ),
    ];
    for (fields, expected) in table {
        let text = format!("version: v1\nauth: {{type: none}}\nlisteners: [{{name: a, {fields}}}]");
        assert_eq!(super::config(&text).listeners[0].turn_uri(), expected);
    }
}

#[test]
fn a_wildcard_or_a_placeholder_is_no_host_for_clients() {
    let table = [
        (
            "public_address: 198.51.100.1, address: $STUNNER_ADDR",
            Some("198.51.100.1"),
        ),
        (
            "public_address: turn.example, address: 0.0.0.0",
            Some("turn.example"),
        ),
        ("address: 192.0.2.9", Some("192.0.2.9")),
        ("address: '2001:db8::9,192.0.2.9'", Some("2001:db8::9")),
        ("address: $STUNNER_ADDR", None),
        ("address: __node_address_placeholder", None),
        ("address: 0.0.0.0", None),
        ("address: '::'", None),
        ("public_address: 0.0.0.0, address: 192.0.2.9", None),
        ("port: 3478", None),
    ];
    for (fields, expected) in table {
        let text = format!("version: v1\nauth: {{type: none}}\nlisteners: [{{name: a, {fields}}}]");
        let options = ParseOptions {
            expand_env: false,
            judge_listeners: false,
        };
        let parsed = parse_with(&text, &|_| None, options).expect(fields);
        let listener = &parsed.config.listeners[0];
        assert_eq!(listener.reachable_host(), expected, "{fields}");
    }
}

#[test]
fn a_listener_tells_its_uri_at_another_host() {
    let text = "version: v1\nauth: {type: none}\nlisteners: [{name: a, public_address: a.example, public_port: 443}]";
    let config = super::config(text);
    let listener = &config.listeners[0];
    assert_eq!(
        listener.turn_uri_at("2001:db8::1"),
        "turn:[2001:db8::1]:443?transport=udp"
    );
}
