//! Addresses that need more than a wide prefix, and addresses that hide another one.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use super::DenyReason;

/// A range that is denied under prefixes wider than itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpecialRange {
    /// How a denial reads.
    pub reason: DenyReason,
    /// Prefixes at least this long that hold an address of the range lie wholly inside it.
    pub prefix_len: u8,
}

/// The special range that holds the address.
#[inline]
pub fn special_range(address: IpAddr) -> Option<SpecialRange> {
    let (reason, prefix_len) = match address {
        IpAddr::V4(v4) => match v4.octets() {
            [127, ..] => (DenyReason::Loopback, 8),
            [169, 254, ..] => (DenyReason::LinkLocal, 16),
            [224..=239, ..] => (DenyReason::Multicast, 4),
            // RFC 1122 §3.2.1.3: all of 0/8 is "this network"; Linux takes 0.0.0.0 for itself.
            [0, ..] => (DenyReason::Unspecified, 8),
            [255, 255, 255, 255] => (DenyReason::Broadcast, 32),
            _ => return None,
        },
        IpAddr::V6(v6) => match v6 {
            Ipv6Addr::LOCALHOST => (DenyReason::Loopback, 128),
            Ipv6Addr::UNSPECIFIED => (DenyReason::Unspecified, 128),
            _ if v6.is_unicast_link_local() => (DenyReason::LinkLocal, 10),
            _ if v6.is_multicast() => (DenyReason::Multicast, 8),
            _ if METADATA_V6.contains(&v6) => (DenyReason::LinkLocal, 128),
            _ => return None,
        },
    };
    Some(SpecialRange { reason, prefix_len })
}

/// Instance metadata services that are reached over IPv6 at addresses which are not link-local: `fd00:ec2::254` and
/// `fd20:ce::254`.
const METADATA_V6: [Ipv6Addr; 2] = [
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254),
];

/// How an IPv6 address carries an IPv4 address that a network on the way turns it into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Embedding {
    /// `64:ff9b::/96`, RFC 6052 §2.1.
    Nat64,
    /// `2002::/16`, RFC 3056 §2.
    SixToFour,
}

impl Embedding {
    /// Bits before the IPv4 address.
    pub fn offset(self) -> u8 {
        match self {
            Embedding::Nat64 => 96,
            Embedding::SixToFour => 16,
        }
    }

    fn of(v6: Ipv6Addr) -> Option<Self> {
        match v6.segments() {
            [0x2002, ..] => Some(Embedding::SixToFour),
            [0x64, 0xff9b, 0, 0, 0, 0, _, _] => Some(Embedding::Nat64),
            _ => None,
        }
    }

    fn v4(self, v6: Ipv6Addr) -> Ipv4Addr {
        let below = 96 - self.offset();
        // The cast keeps the low 32 bits, which is the point.
        Ipv4Addr::from_bits((v6.to_bits() >> below) as u32)
    }
}

/// A peer address as the rules see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    /// Where packets end up: IPv4 for every address that embeds one.
    pub address: IpAddr,
    /// The address itself, where it embeds the other.
    pub embedded_in: Option<(Embedding, Ipv6Addr)>,
}

impl Target {
    #[inline]
    pub fn of(address: IpAddr) -> Self {
        let IpAddr::V6(v6) = address else {
            return Target {
                address,
                embedded_in: None,
            };
        };
        if let Some(v4) = v6.to_ipv4_mapped() {
            return Target {
                address: v4.into(),
                embedded_in: None,
            };
        }
        match Embedding::of(v6) {
            Some(embedding) => Target {
                address: embedding.v4(v6).into(),
                embedded_in: Some((embedding, v6)),
            },
            None => Target {
                address,
                embedded_in: None,
            },
        }
    }
}

/// A rule's prefix as the tables keep it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleNet {
    V4(Ipv4Net),
    V6(Ipv6Net),
    /// Wholly inside a range that embeds IPv4: matches only peers given in that form, while the special ranges are
    /// those of the IPv4 address inside.
    Embedded(Ipv6Net),
}

impl RuleNet {
    pub fn of(net: IpNet) -> Self {
        let v6 = match net.trunc() {
            IpNet::V4(v4) => return RuleNet::V4(v4),
            IpNet::V6(v6) => v6,
        };
        let (address, len) = (v6.network(), v6.prefix_len());
        if len >= 96
            && let Some(v4) = address.to_ipv4_mapped()
            && let Ok(v4) = Ipv4Net::new(v4, len - 96)
        {
            return RuleNet::V4(v4);
        }
        match Embedding::of(address) {
            Some(embedding) if len >= embedding.offset() => RuleNet::Embedded(v6),
            _ => RuleNet::V6(v6),
        }
    }

    /// Whether the prefix holds the peer.
    pub fn contains(self, target: &Target) -> bool {
        match (self, target.address, target.embedded_in) {
            (RuleNet::V4(net), IpAddr::V4(v4), _) => net.contains(&v4),
            (RuleNet::V6(net), IpAddr::V6(v6), _) => net.contains(&v6),
            (RuleNet::Embedded(net), _, Some((_, v6))) => net.contains(&v6),
            _ => false,
        }
    }

    /// How many leading bits the prefix has in common with the peer; `None` across families.
    pub fn common_prefix(self, target: &Target) -> Option<u32> {
        let (common, len) = match (self, target.address, target.embedded_in) {
            (RuleNet::V4(net), IpAddr::V4(v4), _) => (
                (net.network().to_bits() ^ v4.to_bits()).leading_zeros(),
                net.prefix_len(),
            ),
            (RuleNet::V6(net), IpAddr::V6(v6), _) | (RuleNet::Embedded(net), _, Some((_, v6))) => (
                (net.network().to_bits() ^ v6.to_bits()).leading_zeros(),
                net.prefix_len(),
            ),
            _ => return None,
        };
        Some(common.min(len.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_embed_ipv4_are_seen_through() {
        let seen = |text: &str| Target::of(text.parse().unwrap()).address.to_string();
        assert_eq!(seen("::ffff:127.0.0.1"), "127.0.0.1");
        assert_eq!(seen("64:ff9b::169.254.169.254"), "169.254.169.254");
        assert_eq!(seen("2002:7f00:1::5"), "127.0.0.1");
        assert_eq!(seen("2001:db8::1"), "2001:db8::1");
        assert_eq!(seen("64:ff9b:1::1"), "64:ff9b:1::1");
        assert_eq!(seen("::127.0.0.1"), "::7f00:1");
    }

    #[test]
    fn special_ranges_are_those_of_the_contract() {
        use DenyReason::*;
        let table = [
            ("127.0.0.1", Some((Loopback, 8))),
            ("127.255.255.255", Some((Loopback, 8))),
            ("169.254.169.254", Some((LinkLocal, 16))),
            ("224.0.0.1", Some((Multicast, 4))),
            ("239.255.255.255", Some((Multicast, 4))),
            ("0.0.0.0", Some((Unspecified, 8))),
            ("0.1.2.3", Some((Unspecified, 8))),
            ("255.255.255.255", Some((Broadcast, 32))),
            ("255.255.255.254", None),
            ("240.0.0.1", None),
            ("10.0.0.1", None),
            ("::1", Some((Loopback, 128))),
            ("::", Some((Unspecified, 128))),
            ("fe80::1", Some((LinkLocal, 10))),
            ("febf::1", Some((LinkLocal, 10))),
            ("ff02::1", Some((Multicast, 8))),
            ("fd00:ec2::254", Some((LinkLocal, 128))),
            ("fd00:ec2::253", None),
            ("2001:db8::1", None),
        ];
        for (text, expected) in table {
            let found =
                special_range(text.parse().unwrap()).map(|range| (range.reason, range.prefix_len));
            assert_eq!(found, expected, "{text}");
        }
    }
}
