//! The compiled lookup against a plain walk over the rules.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, LazyLock};

use ipnet::IpNet;
use proptest::prelude::*;
use stunner_config::admission::{
    Admission, ClusterId, DenyReason, OwnAddresses, RelayPorts, Rule, Verdict,
};
use stunner_config::{PeerTransport, PortRange};

/// The rules of the contract, written down as directly as possible.
#[derive(Clone)]
struct Model {
    rules: Vec<Rule>,
    own: OwnAddresses,
    live: Vec<(PeerTransport, u16)>,
    allow_loopback: bool,
}

fn net(text: &str) -> IpNet {
    text.parse().unwrap()
}

/// The IPv4 prefix that an IPv6 prefix stands for: the ranges that embed it, and the bits before it.
fn embedded(net: &IpNet) -> Option<(IpNet, bool)> {
    let IpNet::V6(v6) = net else { return None };
    let octets = v6.network().octets();
    let (at, before, mapped) = match () {
        () if EMBEDDING[0].contains(net) => (12, 96, true),
        () if EMBEDDING[1].contains(net) => (12, 96, false),
        () if EMBEDDING[2].contains(net) => (2, 16, false),
        () => return None,
    };
    let v4 = Ipv4Addr::new(octets[at], octets[at + 1], octets[at + 2], octets[at + 3]);
    let len = (v6.prefix_len() - before).min(32);
    Some((IpNet::new(v4.into(), len).unwrap().trunc(), mapped))
}

fn seen_as(address: IpAddr) -> IpAddr {
    embedded(&IpNet::from(address)).map_or(address, |(net, _)| net.addr())
}

static LOOPBACK: LazyLock<Vec<IpNet>> =
    LazyLock::new(|| ["127.0.0.0/8", "::1/128"].map(net).into());
static OTHERS: LazyLock<Vec<IpNet>> = LazyLock::new(|| {
    let texts = [
        "169.254.0.0/16",
        "fe80::/10",
        "fd00:ec2::254/128",
        "fd20:ce::254/128",
        "224.0.0.0/4",
        "ff00::/8",
        "0.0.0.0/8",
        "::/128",
        "255.255.255.255/32",
    ];
    texts.map(net).into()
});
/// Mapped, NAT64, 6to4.
static EMBEDDING: LazyLock<[IpNet; 3]> =
    LazyLock::new(|| ["::ffff:0:0/96", "64:ff9b::/96", "2002::/16"].map(net));

impl Model {
    fn matches(&self, rule: &Rule, peer: IpAddr) -> bool {
        match embedded(&rule.net) {
            Some((v4, true)) => v4.contains(&seen_as(peer)),
            Some((_, false)) => rule.net.contains(&peer),
            // An IPv4 rule holds every form of the address; an IPv6 rule does not hold forms of IPv4.
            None => rule.net.contains(&seen_as(peer)),
        }
    }

    fn is_own(&self, peer: IpAddr) -> bool {
        self.own
            .addresses
            .iter()
            .any(|own| seen_as(*own) == seen_as(peer))
    }

    fn admits(&self, rule: &Rule, transport: PeerTransport, peer: SocketAddr) -> bool {
        let address = seen_as(peer.ip());
        let rule_net = embedded(&rule.net).map_or(rule.net, |(net, _)| net).trunc();
        if rule.transport != transport
            || !rule.ports.contains(peer.port())
            || !self.matches(rule, peer.ip())
        {
            return false;
        }
        let in_range = |range: &&IpNet| range.contains(&address);
        if let Some(range) = OTHERS.iter().find(in_range)
            && (rule.named || !range.contains(&rule_net))
        {
            return false;
        }
        let loopback = LOOPBACK.iter().find(in_range);
        if let Some(range) = loopback
            && !self.allow_loopback
            && !range.contains(&rule_net)
        {
            return false;
        }
        let is_local = self.is_own(peer.ip()) || loopback.is_some() || address.is_unspecified();
        if is_local && self.own.listeners.contains(&(transport, peer.port())) {
            return false;
        }
        let is_host = rule_net.prefix_len() == rule_net.max_prefix_len();
        let is_live = self.live.contains(&(transport, peer.port()));
        !self.is_own(peer.ip()) || loopback.is_some() || self.allow_loopback || is_live || is_host
    }

    fn admit(&self, transport: PeerTransport, peer: SocketAddr) -> Option<ClusterId> {
        self.rules
            .iter()
            .find(|rule| self.admits(rule, transport, peer))
            .map(|rule| rule.cluster)
    }

    fn compile(&self) -> Admission {
        let relay_ports = RelayPorts::new();
        self.live
            .iter()
            .for_each(|(transport, port)| relay_ports.set(*transport, *port));
        Admission::compile(
            self.rules.clone(),
            Arc::new(self.own.clone()),
            Arc::new(relay_ports),
            self.allow_loopback,
        )
    }
}

fn transport() -> impl Strategy<Value = PeerTransport> {
    prop_oneof![3 => Just(PeerTransport::Udp), 1 => Just(PeerTransport::Tcp)]
}

/// Few distinct addresses, so that rules and peers meet: interesting places and their neighbours.
fn address() -> impl Strategy<Value = IpAddr> {
    let v4 = prop::sample::select(vec![
        "10.0.0.0",
        "10.0.0.255",
        "127.0.0.1",
        "126.255.255.255",
        "128.0.0.0",
        "169.254.169.254",
        "224.0.0.1",
        "0.0.0.0",
        "255.255.255.255",
        "192.0.2.1",
    ]);
    let v6 = prop::sample::select(vec![
        "::1",
        "::",
        "fe80::1",
        "fd00:ec2::254",
        "ff02::1",
        "2001:db8::",
        "fd00:9::9",
    ]);
    let v4 = (v4, 0u32..4).prop_map(|(text, add)| {
        let base: Ipv4Addr = text.parse().unwrap();
        Ipv4Addr::from_bits(base.to_bits().wrapping_add(add))
    });
    let v6 = (v6, 0u128..3).prop_map(|(text, add)| {
        let base: Ipv6Addr = text.parse().unwrap();
        IpAddr::V6(Ipv6Addr::from_bits(base.to_bits().wrapping_add(add)))
    });
    let embedded = (v4.clone(), 0..3).prop_map(|(v4, form)| {
        let bits = u128::from(v4.to_bits());
        IpAddr::V6(Ipv6Addr::from_bits(match form {
            0 => 0xffff_0000_0000 | bits,
            1 => (0x0064_ff9b << 96) | bits,
            _ => (0x2002 << 112) | (bits << 80) | 7,
        }))
    });
    prop_oneof![5 => v4.prop_map(IpAddr::V4), 3 => v6, 2 => embedded]
}

fn prefix() -> impl Strategy<Value = IpNet> {
    (address(), 0u8..=128, any::<bool>()).prop_map(|(address, len, host)| {
        let max = if address.is_ipv4() { 32 } else { 128 };
        let len = if host { max } else { len % (max + 1) };
        IpNet::new(address, len).unwrap().trunc()
    })
}

fn port() -> impl Strategy<Value = u16> {
    prop_oneof![0u16..12, Just(65535), Just(3478)]
}

fn rule() -> impl Strategy<Value = Rule> {
    (0u32..6, transport(), prefix(), port(), port(), 0..6).prop_map(
        |(cluster, transport, net, first, last, named)| {
            // What a name resolves to is an address.
            let named = named == 0;
            let net = if named { IpNet::from(net.addr()) } else { net };
            Rule {
                cluster: ClusterId(cluster),
                transport,
                net,
                ports: PortRange::new(first, last),
                named,
            }
        },
    )
}

fn model() -> impl Strategy<Value = Model> {
    let own = (
        prop::collection::vec(address(), 0..4),
        prop::collection::vec((transport(), port()), 0..3),
    );
    let live = prop::collection::vec((transport(), port()), 0..4);
    (
        prop::collection::vec(rule(), 0..24),
        own,
        live,
        prop::bool::weighted(0.2),
    )
        .prop_map(
            |(rules, (addresses, listeners), live, allow_loopback)| Model {
                rules,
                own: OwnAddresses {
                    addresses,
                    listeners,
                },
                live,
                allow_loopback,
            },
        )
}

impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(
            f,
            "own {:?} live {:?} allow {}",
            self.own, self.live, self.allow_loopback
        )?;
        for r in &self.rules {
            writeln!(
                f,
                "  {} {} {} {} named {}",
                r.cluster.0, r.transport, r.net, r.ports, r.named
            )?;
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn the_compiled_lookup_agrees_with_a_walk_over_the_rules(
        model in model(),
        peers in prop::collection::vec((transport(), address(), port()), 1..16),
    ) {
        let admission = model.compile();
        for (transport, address, port) in peers {
            let peer = SocketAddr::new(address, port);
            let verdict = admission.admit(transport, peer);
            let found = match verdict {
                Verdict::Admitted { cluster, .. } => Some(cluster),
                Verdict::Denied(_) => None,
            };
            prop_assert_eq!(found, model.admit(transport, peer), "{} {}: {:?}", transport, peer, verdict);
            prop_assert_eq!(admission.explain(transport, peer).verdict, verdict);

            // A permission is given exactly where some port may pass, if need be one that goes live.
            let mut any_live = model.clone();
            any_live.own.listeners.clear();
            any_live.live = [PeerTransport::Udp, PeerTransport::Tcp].into_iter().flat_map(|t| {
                (0..12).chain([65535, 3478]).map(move |port| (t, port))
            }).collect();
            let some_port = (0..12).chain([65535, 3478])
                .any(|port| any_live.admit(transport, SocketAddr::new(address, port)).is_some());
            let permission = admission.admit_address(transport, address);
            prop_assert_eq!(permission.is_admitted(), some_port, "{} {}: {:?}", transport, address, permission);
        }
    }

    #[test]
    fn a_reason_is_honest(model in model(), transport in transport(), address in address(), port in port()) {
        let peer = SocketAddr::new(address, port);
        let Verdict::Denied(reason) = model.compile().admit(transport, peer) else { return Ok(()) };
        let same_transport = |rule: &&Rule| rule.transport == transport && !rule.ports.is_empty();
        let holds = model.rules.iter().filter(same_transport).any(|rule| model.matches(rule, address));
        match reason {
            DenyReason::NoRoute => prop_assert!(!holds || model.is_own(address)),
            DenyReason::Port | DenyReason::OwnAddress | DenyReason::OwnListener => prop_assert!(holds),
            DenyReason::Transport => prop_assert!(model.rules.iter().any(|rule| rule.transport != transport)),
            // A name may resolve to another form of the address.
            _ => {
                let named = |rule: &Rule| rule.named && seen_as(rule.net.addr()) == seen_as(address);
                prop_assert!(holds || model.rules.iter().any(named), "{:?}", reason);
            }
        }
    }
}
