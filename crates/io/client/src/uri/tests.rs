//! What is a TURN URI and what is not.

use super::ServerTransport::{Dtls, Tcp, Tls, Udp};
use super::{ServerTransport, ServerUri, UriError};

fn read(text: &str) -> ServerUri {
    text.parse()
        .unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn error(text: &str) -> UriError {
    match text.parse::<ServerUri>() {
        Ok(uri) => panic!("{text} is taken for {uri}"),
        Err(error) => error,
    }
}

#[test]
fn both_spellings_name_host_port_and_transport() {
    let cases: [(&str, &str, u16, ServerTransport); 29] = [
        ("turn:example.org", "example.org", 3478, Udp),
        ("turn:example.org:5000", "example.org", 5000, Udp),
        ("turn:192.0.2.1:3478?transport=udp", "192.0.2.1", 3478, Udp),
        ("turn:192.0.2.1?transport=tcp", "192.0.2.1", 3478, Tcp),
        ("turn:192.0.2.1?transport=tls", "192.0.2.1", 5349, Tls),
        ("turn:192.0.2.1?transport=dtls", "192.0.2.1", 5349, Dtls),
        ("turns:example.org", "example.org", 5349, Tls),
        ("turns:example.org?transport=tcp", "example.org", 5349, Tls),
        ("turns:example.org?transport=udp", "example.org", 5349, Dtls),
        ("turns:example.org?transport=tls", "example.org", 5349, Tls),
        (
            "turns:example.org:443?transport=dtls",
            "example.org",
            443,
            Dtls,
        ),
        ("turn:[2001:db8::1]", "2001:db8::1", 3478, Udp),
        (
            "turn:[2001:db8::1]:65535?transport=tcp",
            "2001:db8::1",
            65535,
            Tcp,
        ),
        ("turns:[::1]", "::1", 5349, Tls),
        ("turn:[fe80::1%eth0]:1", "fe80::1%eth0", 1, Udp),
        ("turn://example.org", "example.org", 3478, Udp),
        ("turn://example.org:5000", "example.org", 5000, Udp),
        (
            "turn://192.0.2.1:3478?transport=udp",
            "192.0.2.1",
            3478,
            Udp,
        ),
        ("turn://192.0.2.1?transport=tcp", "192.0.2.1", 3478, Tcp),
        ("turn://192.0.2.1:443?transport=tls", "192.0.2.1", 443, Tls),
        (
            "turn://192.0.2.1:443?transport=dtls",
            "192.0.2.1",
            443,
            Dtls,
        ),
        (
            "turns://example.org?transport=udp",
            "example.org",
            443,
            Dtls,
        ),
        ("turns://example.org", "example.org", 443, Tls),
        ("turn://[::1]?transport=tls", "::1", 443, Tls),
        ("turn://192.0.2.1?transport=dtls", "192.0.2.1", 443, Dtls),
        (
            "turn://[2001:db8::1]:5000?transport=dtls",
            "2001:db8::1",
            5000,
            Dtls,
        ),
        (
            "turn://example.org:5000/?transport=tcp",
            "example.org",
            5000,
            Tcp,
        ),
        ("TURN:Example.ORG?Transport=TCP", "Example.ORG", 3478, Tcp),
        (
            "turn://media-gw.stunner_1.svc?",
            "media-gw.stunner_1.svc",
            3478,
            Udp,
        ),
    ];
    for (text, host, port, transport) in cases {
        let uri = read(text);
        assert_eq!(
            (uri.host.as_str(), uri.port, uri.transport),
            (host, port, transport),
            "{text}"
        );
        assert_eq!(uri.credentials, None, "{text}");
        assert_eq!(read(&uri.to_string()), uri, "what is shown reads back");
    }
}

#[test]
fn user_names_and_passwords_are_decoded() {
    let cases = [
        (
            "turn://user:pass@192.0.2.1:3478?transport=udp",
            "user",
            "pass",
        ),
        (
            "turn:user:pass@192.0.2.1:3478?transport=udp",
            "user",
            "pass",
        ),
        (
            "turn://1700000000%3Aalice:a%2Fb%2Bc%3D@example.org",
            "1700000000:alice",
            "a/b+c=",
        ),
        // Written without encoding, as people do: what is after the first colon and before the last `@`.
        ("turn://user:p@ss:w/rd?#@example.org", "user", "p@ss:w/rd?#"),
        ("turn://user:@example.org", "user", ""),
        ("turn://user@example.org", "user", ""),
        ("turn://:pass@example.org", "", "pass"),
        ("turn://us%C3%A9r:%25@[::1]:5000", "usér", "%"),
        ("turn://a+b:c+d@example.org", "a+b", "c+d"),
    ];
    for (text, user, password) in cases {
        let expected = Some((user.to_owned(), password.to_owned()));
        assert_eq!(read(text).credentials, expected, "{text}");
    }
}

#[test]
fn what_is_shown_never_has_the_password() {
    let uri = read("turn://user:topsecret@example.org:5000?transport=tls");
    assert_eq!(uri.to_string(), "turns:example.org:5000?transport=tcp");
    assert!(!format!("{uri:?}").contains("topsecret"));
    assert_eq!(
        read("turn://u:p@[::1]?transport=dtls").to_string(),
        "turns:[::1]:443?transport=udp"
    );
    for text in [
        "turn://user:topsecret",
        "turn://user:topsecret/x@",
        "turn://user:topsecret%@host",
        "turn://user:topsecret?x",
        "turn://user:x?topsecret",
        "turn://user:1234?topsecret",
        "turn://user:1234?transport=topsecret",
        "turn://user:x@topsecret !",
        "turn://user:x@y?topsecret",
        "turn:topsecret !",
        "turn://user:topsecret#frag",
        "user:topsecret@host",
        "turn://user:topsecret@host:port",
        "turn://user:topsecret@[host",
    ] {
        let error = error(text);
        assert!(
            !format!("{error} {error:?}").contains("topsecret"),
            "{text}: {error}"
        );
    }
}

#[test]
fn what_is_no_uri_is_told_what_was_expected() {
    let cases = [
        ("", UriError::Scheme),
        ("example.org", UriError::Scheme),
        ("example.org:3478", UriError::Scheme),
        ("stun:example.org", UriError::Scheme),
        ("https://example.org", UriError::Scheme),
        ("turn:", UriError::NoHost),
        ("turn://", UriError::NoHost),
        ("turn://user:pass@", UriError::NoHost),
        ("turn://:3478", UriError::NoHost),
        ("turn:?transport=udp", UriError::NoHost),
        ("turn:exa mple", UriError::Host),
        ("turn:a\nb", UriError::Host),
        ("turn:[example.org]", UriError::NotIpv6),
        ("turn:[192.0.2.1]:3478", UriError::NotIpv6),
        ("turn:[]", UriError::NotIpv6),
        ("turn:[fe80::1%]", UriError::NotIpv6),
        ("turn:[fe80::1%a b]", UriError::NotIpv6),
        ("turn:2001:db8::1", UriError::Brackets),
        ("turn:[2001:db8::1", UriError::Brackets),
        ("turn:[::1]x", UriError::Trailing),
        ("turn:host:", UriError::Port),
        ("turn:host:0", UriError::Port),
        ("turn:host:65536", UriError::Port),
        ("turn:host:+1", UriError::Port),
        ("turn:host:-1", UriError::Port),
        ("turn:host:http", UriError::Port),
        ("turn:host/path", UriError::Trailing),
        ("turn:host#fragment", UriError::Trailing),
        ("turn:host?proto=udp", UriError::Parameter),
        ("turn:host?transport", UriError::Transport),
        ("turn:host?transport=sctp", UriError::Transport),
        ("turn:host?transport=udp&transport=tcp", UriError::Twice),
        ("turn://us%er@host", UriError::Encoding),
        ("turn://user:%4@host", UriError::Encoding),
        ("turn://user:%ff@host", UriError::Encoding),
    ];
    for (text, expected) in cases {
        assert_eq!(error(text), expected, "{text}");
        let message = error(text).to_string();
        assert!(
            message.contains("expected") || message.contains("is not"),
            "{message}"
        );
    }
}
