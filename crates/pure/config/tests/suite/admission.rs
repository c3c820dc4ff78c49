//! The rules on peers, one test per sentence.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use stunner_config::admission::{
    Admission, ClusterId, DenyReason, OwnAddresses, RelayPorts, Rule, Verdict, listener_rules,
};
use stunner_config::{Endpoint, PeerTransport, PortRange};

use DenyReason::*;
use PeerTransport::{Tcp, Udp};

/// A gateway at 10.9.9.9 and fd00:9::9 with a TURN-UDP listener on 3478, and the given rules in route order.
struct Gateway {
    rules: Vec<Rule>,
    allow_loopback: bool,
    relay_ports: Arc<RelayPorts>,
}

fn gateway(endpoints: &[&str]) -> Gateway {
    let rules = endpoints
        .iter()
        .zip(0..)
        .map(|(text, id)| rule(id, Udp, text, false))
        .collect();
    Gateway {
        rules,
        allow_loopback: false,
        relay_ports: Arc::default(),
    }
}

fn rule(id: u32, transport: PeerTransport, text: &str, named: bool) -> Rule {
    let Endpoint { net, ports } = text.parse().unwrap();
    Rule {
        cluster: ClusterId(id),
        transport,
        net,
        ports,
        named,
    }
}

impl Gateway {
    fn named(mut self, address: &str) -> Self {
        let id = self.rules.len() as u32;
        self.rules.push(rule(id, Udp, address, true));
        self
    }

    fn tcp(mut self, endpoint: &str) -> Self {
        let id = self.rules.len() as u32;
        self.rules.push(rule(id, Tcp, endpoint, false));
        self
    }

    fn allow_loopback(mut self) -> Self {
        self.allow_loopback = true;
        self
    }

    fn relays(self, port: u16) -> Self {
        self.relay_ports.set(Udp, port);
        self
    }

    fn compile(&self) -> Admission {
        let own = OwnAddresses {
            addresses: ["10.9.9.9", "fd00:9::9", "127.0.0.1", "::1"]
                .map(|text| text.parse().unwrap())
                .into(),
            listeners: vec![(Udp, 3478), (Tcp, 3479)],
        };
        Admission::compile(
            self.rules.clone(),
            Arc::new(own),
            self.relay_ports.clone(),
            self.allow_loopback,
        )
    }

    fn asks(&self, peer: &str) -> Result<u32, DenyReason> {
        match self.compile().admit(Udp, peer.parse().unwrap()) {
            Verdict::Admitted { cluster, .. } => Ok(cluster.0),
            Verdict::Denied(reason) => Err(reason),
        }
    }

    fn asks_address(&self, address: &str) -> Result<u32, DenyReason> {
        match self.compile().admit_address(Udp, address.parse().unwrap()) {
            Verdict::Admitted { cluster, .. } => Ok(cluster.0),
            Verdict::Denied(reason) => Err(reason),
        }
    }
}

#[test]
fn nothing_is_admitted_without_a_rule() {
    assert_eq!(gateway(&[]).asks("10.0.0.1:5"), Err(NoRoute));
    assert_eq!(gateway(&["10.0.0.0/24"]).asks("10.0.1.1:5"), Err(NoRoute));
    assert_eq!(
        gateway(&["0.0.0.0/0"]).asks("[2001:db8::1]:5"),
        Err(NoRoute)
    );
    assert_eq!(gateway(&["::/0"]).asks("10.0.0.1:5"), Err(NoRoute));
}

#[test]
fn clusters_that_overlap_add_up_and_the_first_gives_the_label() {
    let gateway = gateway(&[
        "10.0.0.1:<100-200>",
        "10.0.0.1:<150-300>",
        "10.0.0.0/8:<1-400>",
    ]);
    assert_eq!(gateway.asks("10.0.0.1:100"), Ok(0));
    assert_eq!(gateway.asks("10.0.0.1:200"), Ok(0));
    assert_eq!(gateway.asks("10.0.0.1:201"), Ok(1));
    assert_eq!(gateway.asks("10.0.0.1:301"), Ok(2));
    assert_eq!(gateway.asks("10.0.0.1:401"), Err(Port));
    assert_eq!(gateway.asks("10.0.0.2:100"), Ok(2));
}

#[test]
fn a_backwards_port_range_admits_nothing() {
    assert_eq!(
        gateway(&["10.0.0.1:<200-100>"]).asks("10.0.0.1:150"),
        Err(NoRoute)
    );
    assert_eq!(
        gateway(&["10.0.0.1:<200-100>"]).asks_address("10.0.0.1"),
        Err(NoRoute)
    );
}

#[test]
fn transports_are_kept_apart() {
    let gateway = gateway(&["10.0.0.1:<1-10>"])
        .tcp("10.0.0.1:<20-30>")
        .tcp("10.0.0.2");
    assert_eq!(gateway.asks("10.0.0.1:5"), Ok(0));
    assert_eq!(gateway.asks("10.0.0.1:25"), Err(Transport));
    assert_eq!(gateway.asks("10.0.0.1:50"), Err(Port));
    assert_eq!(gateway.asks("10.0.0.2:5"), Err(Transport));
    assert_eq!(gateway.asks_address("10.0.0.2"), Err(Transport));
    let verdict = gateway.compile().admit(Tcp, "10.0.0.2:5".parse().unwrap());
    assert_eq!(
        verdict,
        Verdict::Admitted {
            cluster: ClusterId(2),
            cacheable: true
        }
    );
}

#[test]
fn special_ranges_stay_denied_under_wide_prefixes() {
    let wide = gateway(&[
        "0.0.0.0/0",
        "::/0",
        "126.0.0.0/7",
        "fe80::/9",
        "224.0.0.0/3",
        "169.254.0.0/15",
    ]);
    let table = [
        ("127.0.0.1:5", Loopback),
        ("127.8.8.8:5", Loopback),
        ("[::1]:5", Loopback),
        ("169.254.169.254:80", LinkLocal),
        ("[fe80::1]:5", LinkLocal),
        ("[fd00:ec2::254]:80", LinkLocal),
        ("224.0.0.1:5", Multicast),
        ("[ff02::1]:5", Multicast),
        ("0.0.0.0:5", Unspecified),
        ("0.1.2.3:5", Unspecified),
        ("[::]:5", Unspecified),
        ("255.255.255.255:5", Broadcast),
    ];
    for (peer, reason) in table {
        assert_eq!(wide.asks(peer), Err(reason), "{peer}");
        let address: SocketAddr = peer.parse().unwrap();
        assert_eq!(
            wide.asks_address(&address.ip().to_string()),
            Err(reason),
            "{peer}"
        );
    }
    assert_eq!(wide.asks("126.1.1.1:5"), Ok(0));
}

#[test]
fn a_prefix_wholly_inside_a_special_range_admits_it() {
    let table = [
        ("127.0.0.0/8", "127.0.0.1:5"),
        ("127.0.0.1", "127.0.0.1:5"),
        ("::1", "[::1]:5"),
        ("169.254.0.0/16", "169.254.169.254:80"),
        ("169.254.169.254", "169.254.169.254:80"),
        ("fe80::/10", "[fe80::1]:5"),
        ("fd00:ec2::254", "[fd00:ec2::254]:80"),
        ("224.0.0.0/4", "239.1.1.1:5"),
        ("ff00::/8", "[ff02::1]:5"),
        ("0.0.0.0/8", "0.1.2.3:5"),
        ("255.255.255.255", "255.255.255.255:5"),
    ];
    for (endpoint, peer) in table {
        assert_eq!(gateway(&[endpoint]).asks(peer), Ok(0), "{endpoint} {peer}");
    }
    assert_eq!(
        gateway(&["127.0.0.1:<1-9>"]).asks("127.0.0.1:10"),
        Err(Port)
    );
}

#[test]
fn own_addresses_need_a_cluster_that_names_them() {
    for wide in [
        "0.0.0.0/0",
        "10.0.0.0/8",
        "10.9.9.8/31",
        "::/0",
        "fd00:9::/127",
    ] {
        let peer = if wide.contains(':') {
            "[fd00:9::9]:80"
        } else {
            "10.9.9.9:80"
        };
        assert_ne!(gateway(&[wide]).asks(peer), Ok(0), "{wide}");
    }
    assert_eq!(gateway(&["0.0.0.0/0"]).asks("10.9.9.9:80"), Err(OwnAddress));
    assert_eq!(gateway(&["10.9.9.9"]).asks("10.9.9.9:80"), Ok(0));
    assert_eq!(
        gateway(&["0.0.0.0/0", "10.9.9.9:<80-90>"]).asks("10.9.9.9:80"),
        Ok(1)
    );
    assert_eq!(
        gateway(&["0.0.0.0/0", "10.9.9.9:<80-90>"]).asks("10.9.9.9:91"),
        Err(OwnAddress)
    );
    assert_eq!(
        gateway(&["10.9.9.9:<80-90>"]).asks("10.9.9.9:91"),
        Err(Port)
    );
    assert_eq!(gateway(&[]).asks("10.9.9.9:80"), Err(NoRoute));
    assert_eq!(gateway(&["0.0.0.0/0"]).asks("10.9.9.8:80"), Ok(0));
}

#[test]
fn live_relay_ports_are_ordinary_peers() {
    let gateway = gateway(&["0.0.0.0/0", "::/0"]).relays(50000);
    assert_eq!(gateway.asks("10.9.9.9:50000"), Ok(0));
    assert_eq!(gateway.asks("[fd00:9::9]:50000"), Ok(1));
    assert_eq!(gateway.asks("10.9.9.9:50001"), Err(OwnAddress));
    // Ordinary peers at a loopback address are still at a loopback address.
    assert_eq!(gateway.asks("127.0.0.1:50000"), Err(Loopback));
    // A permission is for an address, where relay ports may go live.
    assert_eq!(gateway.asks_address("10.9.9.9"), Ok(0));
}

#[test]
fn a_verdict_that_hangs_on_a_relay_port_is_not_cacheable_and_follows_it() {
    let gateway = gateway(&["0.0.0.0/0", "10.9.9.9:<80-80>"])
        .relays(50000)
        .relays(80);
    let admission = gateway.compile();
    let ask = |peer: &str| admission.admit(Udp, peer.parse().unwrap());
    assert_eq!(
        ask("10.9.9.9:50000"),
        Verdict::Admitted {
            cluster: ClusterId(0),
            cacheable: false
        }
    );
    assert_eq!(
        ask("10.9.9.9:80"),
        Verdict::Admitted {
            cluster: ClusterId(0),
            cacheable: false
        }
    );
    assert_eq!(
        ask("10.1.1.1:80"),
        Verdict::Admitted {
            cluster: ClusterId(0),
            cacheable: true
        }
    );
    gateway.relay_ports.clear(Udp, 50000);
    assert_eq!(ask("10.9.9.9:50000"), Verdict::Denied(OwnAddress));
    assert!(!ask("10.9.9.9:50000").is_cacheable());
    assert!(ask("[2001:db8::1]:5").is_cacheable());
    gateway.relay_ports.set(Tcp, 50000);
    assert_eq!(
        ask("10.9.9.9:50000"),
        Verdict::Denied(OwnAddress),
        "another transport's port"
    );
}

#[test]
fn own_listener_sockets_are_never_admitted() {
    let every = gateway(&["10.9.9.9", "127.0.0.0/8", "::1", "0.0.0.0/8", "0.0.0.0/0"]).relays(3478);
    for gateway in [&every, &gateway(&["0.0.0.0/0", "::/0"]).allow_loopback()] {
        for peer in [
            "10.9.9.9:3478",
            "127.0.0.1:3478",
            "127.7.7.7:3478",
            "[::ffff:127.0.0.1]:3478",
        ] {
            assert_eq!(gateway.asks(peer), Err(OwnListener), "{peer}");
        }
    }
    assert_eq!(every.asks("[::1]:3478"), Err(OwnListener));
    assert_eq!(every.asks("0.0.0.0:3478"), Err(OwnListener));
    // The TCP listener's port is free to UDP, and other hosts have ports too.
    assert_eq!(every.asks("10.9.9.9:3479"), Ok(0));
    assert_eq!(every.asks("10.9.9.8:3478"), Ok(4));
}

#[test]
fn a_name_admits_own_and_loopback_addresses_but_no_other_special_ones() {
    for address in ["127.0.0.1", "::1", "10.9.9.9", "fd00:9::9", "10.0.0.1"] {
        let peer = SocketAddr::new(address.parse().unwrap(), 80).to_string();
        assert_eq!(gateway(&[]).named(address).asks(&peer), Ok(0), "{address}");
    }
    for (address, reason) in [
        ("169.254.169.254", LinkLocal),
        ("fe80::1", LinkLocal),
        ("224.0.0.1", Multicast),
        ("0.0.0.0", Unspecified),
        ("::", Unspecified),
        ("255.255.255.255", Broadcast),
        ("64:ff9b::169.254.169.254", LinkLocal),
    ] {
        let peer = SocketAddr::new(address.parse().unwrap(), 80).to_string();
        assert_eq!(
            gateway(&[]).named(address).asks(&peer),
            Err(reason),
            "{address}"
        );
        assert_eq!(
            gateway(&[]).named(address).asks_address(address),
            Err(reason),
            "{address}"
        );
    }
}

#[test]
fn allowing_loopback_lifts_the_rules_on_loopback_and_own_addresses_only() {
    let gateway = gateway(&["0.0.0.0/0", "::/0"]).allow_loopback();
    assert_eq!(gateway.asks("127.0.0.1:80"), Ok(0));
    assert_eq!(gateway.asks("[::1]:80"), Ok(1));
    assert_eq!(gateway.asks("10.9.9.9:80"), Ok(0));
    assert_eq!(gateway.asks("169.254.169.254:80"), Err(LinkLocal));
    assert_eq!(gateway.asks("0.0.0.0:80"), Err(Unspecified));
    assert_eq!(
        self::gateway(&["10.0.0.0/8"])
            .allow_loopback()
            .asks("127.0.0.1:80"),
        Err(NoRoute)
    );
}

#[test]
fn embedded_ipv4_addresses_count_as_what_they_embed() {
    let wide = gateway(&["0.0.0.0/0", "::/0"]);
    for (peer, expected) in [
        ("[::ffff:10.0.0.1]:5", Ok(0)),
        ("[::ffff:127.0.0.1]:5", Err(Loopback)),
        ("[64:ff9b::10.0.0.1]:5", Ok(0)),
        ("[64:ff9b::169.254.169.254]:5", Err(LinkLocal)),
        ("[2002:7f00:1::1]:5", Err(Loopback)),
        ("[2002:a09:909::1]:5", Err(OwnAddress)),
        ("[::ffff:10.9.9.9]:3478", Err(OwnAddress)),
    ] {
        assert_eq!(wide.asks(peer), expected, "{peer}");
    }
    assert_eq!(
        gateway(&["::/0"]).asks("[64:ff9b::10.0.0.1]:5"),
        Err(NoRoute)
    );
    assert_eq!(gateway(&["::ffff:10.0.0.0/104"]).asks("10.0.0.1:5"), Ok(0));
    // A rule for the translator's own range admits peers in that form, within the limits of what they embed.
    let nat64 = gateway(&["64:ff9b::/96"]);
    assert_eq!(nat64.asks("[64:ff9b::10.0.0.1]:5"), Ok(0));
    assert_eq!(nat64.asks("10.0.0.1:5"), Err(NoRoute));
    assert_eq!(nat64.asks("[64:ff9b::127.0.0.1]:5"), Err(Loopback));
    assert_eq!(nat64.asks("[64:ff9b::10.9.9.9]:5"), Err(OwnAddress));
    assert_eq!(
        gateway(&["64:ff9b::127.0.0.1"]).asks("[64:ff9b::127.0.0.1]:5"),
        Ok(0)
    );
}

#[test]
fn an_explanation_names_the_rule_or_the_nearest_one() {
    let gateway = gateway(&[
        "10.0.0.1:<100-200>",
        "10.0.0.1:<900-999>",
        "10.0.0.0/24:<1-1>",
        "192.168.0.0/16",
        "::1",
    ])
    .tcp("10.0.0.1:<500-600>");
    let admission = gateway.compile();
    let explain = |peer: &str| admission.explain(Udp, peer.parse().unwrap());
    let admitted = explain("10.0.0.1:150");
    assert_eq!(admitted.matched, Some((ClusterId(0), gateway.rules[0])));
    assert_eq!(admitted.nearest, None);
    let nearest = |peer: &str| explain(peer).nearest.map(|rule| rule.cluster.0);
    assert_eq!(nearest("10.0.0.1:210"), Some(0));
    assert_eq!(nearest("10.0.0.1:890"), Some(1));
    assert_eq!(nearest("10.0.0.9:500"), Some(2));
    assert_eq!(nearest("10.0.1.1:500"), Some(0));
    assert_eq!(nearest("192.169.0.1:500"), Some(3));
    assert_eq!(nearest("[2001:db8::1]:500"), Some(4));
    assert_eq!(explain("10.0.0.1:550").verdict, Verdict::Denied(Transport));
    assert_eq!(
        self::gateway(&[])
            .compile()
            .explain(Udp, "10.0.0.1:5".parse().unwrap())
            .nearest,
        None
    );
}

#[test]
fn rules_come_from_routes_in_sorted_order() {
    let config = super::config(
        "version: v1\nauth: {type: none}\nlisteners: [{name: l, routes: [c, b, a, gone]}]\nclusters:\n\
         - {name: a, type: STRICT_DNS, endpoints: ['media:<5-6>', unknown]}\n\
         - {name: b, protocol: TCP, endpoints: [10.0.0.0/8]}\n- {name: c, endpoints: ['10.0.0.1:<1-2>']}\n- {name: d}",
    );
    let id_of = |name: &str| ClusterId(u32::from(name.as_bytes()[0] - b'a'));
    let resolve = |name: &str| match name {
        "media" => ["10.0.0.7", "fd00::7"]
            .map(|text| text.parse::<IpAddr>().unwrap())
            .into(),
        _ => Vec::new(),
    };
    let rules = listener_rules(&config, &config.listeners[0], id_of, resolve);
    let shown: Vec<_> = rules
        .iter()
        .map(|r| {
            (
                r.cluster.0,
                r.transport,
                r.net.to_string(),
                r.ports,
                r.named,
            )
        })
        .collect();
    let ports = PortRange::new;
    assert_eq!(
        shown,
        [
            (0, Udp, "10.0.0.7/32".to_owned(), ports(5, 6), true),
            (0, Udp, "fd00::7/128".to_owned(), ports(5, 6), true),
            (1, Tcp, "10.0.0.0/8".to_owned(), PortRange::ALL, false),
            (2, Udp, "10.0.0.1/32".to_owned(), ports(1, 2), false),
        ]
    );
}

#[test]
fn labels_of_reasons_differ() {
    let labels: std::collections::HashSet<_> = DenyReason::ALL
        .iter()
        .map(|reason| reason.as_str())
        .collect();
    assert_eq!(labels.len(), DenyReason::ALL.len());
}
