//! The policies a run switches between.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use stunner_config::admission::{Admission, ClusterId, OwnAddresses, RelayPorts, Rule};
use stunner_config::{AuthMethod, PeerTransport, PortRange, RelayAddresses};
use stunner_turn::ListenerId;
use stunner_turn::server::{AuthPolicy, Credentials, Draining, ListenerPolicy, Policy};

pub const USERNAME: &str = "user";
pub const PASSWORD: &str = "password";
pub const LISTENERS: [ListenerId; 2] = [ListenerId(0), ListenerId(1)];

/// The policy that the bits of `choice` describe.
pub fn policy(generation: u64, choice: u8) -> Policy {
    let method = match choice & 0x07 {
        0..=4 => AuthMethod::Static {
            username: USERNAME.to_owned(),
            password: PASSWORD.to_owned(),
        },
        5 => AuthMethod::Ephemeral {
            secret: "secret".to_owned(),
        },
        6 => AuthMethod::None,
        _ => AuthMethod::Static {
            username: "another".to_owned(),
            password: "another".to_owned(),
        },
    };
    let realm = match choice & 0x08 {
        0 => "stunner.l7mp.io",
        _ => "another.example.org",
    };
    let listeners: HashMap<_, _> = LISTENERS
        .into_iter()
        .filter(|listener| listener.0 == 0 || choice & 0x10 == 0)
        .map(|listener| {
            let policy = ListenerPolicy {
                name: format!("listener-{}", listener.0).into(),
                admission: Arc::new(admission(choice & 0x20 == 0)),
                addresses: addresses(listener),
            };
            (listener, policy)
        })
        .collect();
    let draining = match choice & 0xC0 {
        0x40 => Some(None),
        0x80 => Some(Some(SocketAddr::from(([192, 0, 2, 99], 3478)))),
        _ => None,
    };
    Policy {
        generation,
        auth: AuthPolicy::new(Credentials::new(realm, method, None)),
        listeners,
        guests: Vec::new(),
        draining: draining.map(|alternate_server| Draining { alternate_server }),
    }
}

fn addresses(listener: ListenerId) -> RelayAddresses {
    match listener.0 {
        0 => RelayAddresses {
            v4: Some([192, 0, 2, 1].into()),
            v6: Some([0x2001, 0xdb8, 0, 0, 0, 0, 0, 1].into()),
            wildcard: false,
        },
        _ => RelayAddresses::WILDCARD,
    }
}

fn admission(open: bool) -> Admission {
    let prefixes: &[&str] = match open {
        true => &["10.0.0.0/8", "2001:db8::/32", "0.0.0.0/0"],
        false => &["10.0.0.1/32"],
    };
    let rule = |(transport, net): (PeerTransport, &&str)| Rule {
        cluster: ClusterId(0),
        transport,
        net: net.parse().expect("a prefix"),
        ports: PortRange::new(1, 65_535),
        named: false,
    };
    let transports = [PeerTransport::Udp, PeerTransport::Tcp];
    let rules = transports
        .iter()
        .flat_map(|transport| prefixes.iter().map(|net| (*transport, net)))
        .map(rule)
        .collect();
    let own = OwnAddresses {
        addresses: vec![IpAddr::from([192, 0, 2, 1])],
        listeners: vec![(PeerTransport::Udp, 3478), (PeerTransport::Tcp, 3478)],
    };
    Admission::compile(rules, Arc::new(own), Arc::new(RelayPorts::new()), false)
}
