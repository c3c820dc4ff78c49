//! Endpoints of clusters: addresses, prefixes and names, each with a port range.

use std::fmt;

use ipnet::IpNet;

/// Ports from `first` to `last`, both included. `first > last` holds no port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PortRange {
    pub first: u16,
    pub last: u16,
}

impl PortRange {
    /// What an endpoint without a port part admits.
    pub const ALL: PortRange = PortRange {
        first: 1,
        last: u16::MAX,
    };

    pub fn new(first: u16, last: u16) -> Self {
        PortRange { first, last }
    }

    pub fn contains(self, port: u16) -> bool {
        self.first <= port && port <= self.last
    }

    pub fn is_empty(self) -> bool {
        self.first > self.last
    }
}

impl fmt::Display for PortRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.first, self.last)
    }
}

/// An endpoint of a STATIC cluster: an address or prefix with a port range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Endpoint {
    /// Host bits are zero.
    pub net: IpNet,
    pub ports: PortRange,
}

/// An endpoint of a STRICT_DNS cluster: a domain name with a port range.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DnsEndpoint {
    /// Lower case, without a final dot.
    pub name: String,
    pub ports: PortRange,
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.net.prefix_len() == self.net.max_prefix_len() {
            write!(f, "{}", self.net.addr())?;
        } else {
            write!(f, "{}", self.net)?;
        }
        write_ports(f, self.ports)
    }
}

impl fmt::Display for DnsEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        write_ports(f, self.ports)
    }
}

fn write_ports(f: &mut fmt::Formatter<'_>, ports: PortRange) -> fmt::Result {
    if ports == PortRange::ALL {
        Ok(())
    } else {
        write!(f, ":<{ports}>")
    }
}
