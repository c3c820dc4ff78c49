//! Target `config`: a configuration text, as a file or the discovery service would give it.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use stunner_config::admission::{Admission, ClusterId, OwnAddresses, RelayPorts, listener_rules};
use stunner_config::{AuthMethod, Config, ParseOptions, PeerTransport, SecretPem, uri};

/// Reads `data` as a configuration and as a TURN URI. What is accepted must survive its own
/// rendering, differ from itself in nothing, keep its secrets, and compile.
pub fn config(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    if let Ok(turn_uri) = uri::parse_turn_uri(text) {
        let _ = format!("{turn_uri:?}");
        if let Ok(config) = uri::default_config(&turn_uri, None) {
            check(&config);
        }
    }
    let env = |name: &str| (name.len() == 1).then(|| "value".to_owned());
    match stunner_config::parse(text, &env) {
        Ok(parsed) => {
            assert!(!parsed.warnings.iter().any(|problem| problem.is_error()));
            check(&parsed.config);
        }
        Err(problems) => {
            assert!(problems.iter().any(|problem| problem.is_error()));
            for problem in problems {
                let _ = problem.to_string();
            }
        }
    }
}

fn check(config: &Config) {
    let unchanged = stunner_config::diff::diff(config, config);
    assert!(unchanged.is_empty(), "{unchanged}");
    reads_back(config);
    keeps_secrets(config);
    compiles(config);
}

pub(crate) fn reads_back(config: &Config) {
    let options = ParseOptions {
        expand_env: false,
        judge_listeners: false,
    };
    let text = config.to_json().to_string();
    match stunner_config::parse_with(&text, &|_| None, options) {
        Ok(again) => assert_eq!(&again.config, config, "{text}"),
        Err(problems) => panic!("{problems:?} in {text}"),
    }
}

/// Whatever is shown of a config is the same with other secrets in it.
fn keeps_secrets(config: &Config) {
    let mut other = config.clone();
    match &mut other.auth.method {
        AuthMethod::Static { username, password } => {
            *username = "another user".to_owned();
            *password = "another password".to_owned();
        }
        AuthMethod::Ephemeral { secret } => *secret = "another secret".to_owned(),
        AuthMethod::None => (),
    }
    for listener in &mut other.listeners {
        if listener.key.is_some() {
            listener.key = Some(SecretPem::new("another key"));
        }
    }
    assert_eq!(format!("{config:?}"), format!("{other:?}"));
    assert_eq!(config.to_string(), other.to_string());
    let (status, other_status) = (config.status_document(), other.status_document());
    assert_eq!(status.to_string(), other_status.to_string());
}

fn compiles(config: &Config) {
    let own = Arc::new(OwnAddresses {
        addresses: vec![IpAddr::from([192, 0, 2, 1])],
        listeners: vec![(PeerTransport::Udp, 3478)],
    });
    let relay_ports = Arc::new(RelayPorts::new());
    for listener in &config.listeners {
        let id_of = |name: &str| {
            let position = config.clusters.iter().position(|c| c.name == name);
            ClusterId(position.map_or(u32::MAX, |position| position as u32))
        };
        let resolve = |_: &str| vec![IpAddr::from([10, 0, 0, 1])];
        let rules = listener_rules(config, listener, id_of, resolve);
        let admits_anything = !rules.is_empty();
        let admission =
            Admission::compile(rules, Arc::clone(&own), Arc::clone(&relay_ports), false);
        for peer in [
            "10.0.0.1:1000",
            "192.0.2.1:3478",
            "127.0.0.1:80",
            "[2001:db8::1]:9",
            "[64:ff9b::a00:1]:5000",
        ] {
            let peer: SocketAddr = peer.parse().expect("an address");
            for transport in [PeerTransport::Udp, PeerTransport::Tcp] {
                let verdict = admission.admit(transport, peer);
                assert!(admits_anything || !verdict.is_admitted());
                assert_eq!(admission.explain(transport, peer).verdict, verdict);
                // A peer that passes has an address that some port of passes.
                let address = admission.admit_address(transport, peer.ip());
                assert!(address.is_admitted() || !verdict.is_admitted());
            }
        }
        let own_listener = SocketAddr::from(([192, 0, 2, 1], 3478));
        let verdict = admission.admit(PeerTransport::Udp, own_listener);
        assert!(
            !verdict.is_admitted(),
            "the gateway's listeners are no peers"
        );
    }
}
