//! Endpoints of clusters: addresses, prefixes and names, each with a port range.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use ipnet::IpNet;
use thiserror::Error;

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

/// `FIRST-LAST` with real ports in order, as for relay ports.
impl FromStr for PortRange {
    type Err = PortRangeError;

    fn from_str(text: &str) -> Result<Self, PortRangeError> {
        let (first, last) = text.trim().split_once('-').ok_or(PortRangeError::Shape)?;
        let range = PortRange::new(port(first)?, port(last)?);
        match range {
            PortRange { first: 0, .. } => Err(PortRangeError::Port),
            _ if range.is_empty() => Err(PortRangeError::Backwards),
            _ => Ok(range),
        }
    }
}

fn port(text: &str) -> Result<u16, PortRangeError> {
    let text = text.trim();
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(PortRangeError::Shape);
    }
    text.parse().map_err(|_| PortRangeError::Port)
}

/// Why a text is no range of ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum PortRangeError {
    #[error("two ports with a dash between them are needed")]
    Shape,
    #[error("ports are 1 to 65535")]
    Port,
    #[error("the first port is above the last")]
    Backwards,
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

/// Why a text is no endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum EndpointError {
    #[error("neither an IP address nor a prefix")]
    Address,
    #[error("the ports after it are not in angle brackets")]
    Unbracketed,
    #[error("the port range is not two numbers from 0 to 65535 with a dash between them")]
    Ports,
    #[error("not a domain name")]
    Name,
}

impl EndpointError {
    /// What to write instead.
    pub fn hint(self) -> &'static str {
        match self {
            EndpointError::Address => {
                "write an address or prefix such as `10.0.0.1` or `2001:db8::/32`; \
                 domain names need a cluster of type `STRICT_DNS`"
            }
            EndpointError::Unbracketed | EndpointError::Ports => {
                "write ports as `:<FIRST-LAST>`, such as `10.0.0.1:<9000-9100>`, also for a single one"
            }
            EndpointError::Name => {
                "write a name such as `media.example.com`, or `media.example.com:<9000-9100>`"
            }
        }
    }
}

/// `IP` or `CIDR`, then nothing or `:<LO-HI>`. Host bits are masked.
impl FromStr for Endpoint {
    type Err = EndpointError;

    fn from_str(text: &str) -> Result<Self, EndpointError> {
        let (address, ports) = split_ports(text)?;
        match parse_net(address) {
            Some(net) => Ok(Endpoint {
                net: net.trunc(),
                ports,
            }),
            None if has_bare_port(address) => Err(EndpointError::Unbracketed),
            None => Err(EndpointError::Address),
        }
    }
}

/// A domain name, then nothing or `:<LO-HI>`.
impl FromStr for DnsEndpoint {
    type Err = EndpointError;

    fn from_str(text: &str) -> Result<Self, EndpointError> {
        let (name, ports) = split_ports(text)?;
        let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
        // Underscores are no host name characters, but cluster DNS serves them.
        let is_label = |label: &str| {
            (1..=63).contains(&label.len())
                && label
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
                && !label.starts_with('-')
                && !label.ends_with('-')
        };
        if let Some((host, _)) = name.split_once(':')
            && host.split('.').all(is_label)
        {
            return Err(EndpointError::Unbracketed);
        }
        let is_name = name.len() <= 253 && name.split('.').all(is_label);
        if is_name {
            Ok(DnsEndpoint { name, ports })
        } else {
            Err(EndpointError::Name)
        }
    }
}

fn split_ports(text: &str) -> Result<(&str, PortRange), EndpointError> {
    let Some((host, ports)) = text.split_once(":<") else {
        return Ok((text, PortRange::ALL));
    };
    let (first, last) = ports
        .strip_suffix('>')
        .and_then(|ports| ports.split_once('-'))
        .ok_or(EndpointError::Ports)?;
    let number = |text: &str| port(text).map_err(|_| EndpointError::Ports);
    Ok((host, PortRange::new(number(first)?, number(last)?)))
}

fn parse_net(text: &str) -> Option<IpNet> {
    if text.contains('/') {
        text.parse().ok()
    } else {
        text.parse::<IpAddr>().ok().map(IpNet::from)
    }
}

/// `10.0.0.1:9000` and the like, for a better hint.
fn has_bare_port(text: &str) -> bool {
    text.rsplit_once(':').is_some_and(|(address, _)| {
        parse_net(address.trim_start_matches('[').trim_end_matches(']')).is_some()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_have_one_normal_spelling() {
        let table = [
            ("10.0.0.1", "10.0.0.1"),
            ("10.0.0.1/32", "10.0.0.1"),
            ("10.1.2.3/8", "10.0.0.0/8"),
            ("10.0.0.0/8:<10000-20000>", "10.0.0.0/8:<10000-20000>"),
            ("10.0.0.1:<1-65535>", "10.0.0.1"),
            ("2001:db8::/32:<1-2>", "2001:db8::/32:<1-2>"),
            ("2001:DB8:2::11:<9000-9000>", "2001:db8:2::11:<9000-9000>"),
            ("::/0", "::/0"),
            ("10.0.0.1:<20-10>", "10.0.0.1:<20-10>"),
        ];
        for (text, normal) in table {
            assert_eq!(
                text.parse::<Endpoint>().map(|e| e.to_string()),
                Ok(normal.to_owned()),
                "{text}"
            );
        }
    }

    #[test]
    fn bad_endpoints_say_what_is_wrong() {
        use EndpointError::*;
        let table = [
            ("nonsense", Address),
            ("", Address),
            ("10.0.0.0/33", Address),
            ("10.0.0", Address),
            ("10.0.0.1:9000", Unbracketed),
            ("10.0.0.1:9000-9100", Unbracketed),
            ("[2001:db8::1]:9000", Unbracketed),
            ("10.0.0.1:<9000>", Ports),
            ("10.0.0.1:<a-b>", Ports),
            ("10.0.0.1:<1-65536>", Ports),
            ("10.0.0.1:<1-2", Ports),
            ("10.0.0.1:<-1-2>", Ports),
        ];
        for (text, error) in table {
            assert_eq!(text.parse::<Endpoint>(), Err(error), "{text}");
        }
    }

    #[test]
    fn names_are_lower_case_and_may_carry_ports() {
        let name = |text: &str| text.parse::<DnsEndpoint>().map(|e| e.to_string());
        assert_eq!(
            name("Media.Example.COM."),
            Ok("media.example.com".to_owned())
        );
        assert_eq!(name("media:<1-9>"), Ok("media:<1-9>".to_owned()));
        assert_eq!(name("_sip._udp.x"), Ok("_sip._udp.x".to_owned()));
        assert_eq!(name("media:9000"), Err(EndpointError::Unbracketed));
        assert_eq!(name("-x.y"), Err(EndpointError::Name));
        assert_eq!(name("a..b"), Err(EndpointError::Name));
        assert_eq!(name(""), Err(EndpointError::Name));
        assert_eq!(name(&"a".repeat(64)), Err(EndpointError::Name));
    }

    #[test]
    fn relay_port_ranges_are_real_ports_in_order() {
        assert_eq!("50000-50999".parse(), Ok(PortRange::new(50000, 50999)));
        assert_eq!(" 1 - 1 ".parse(), Ok(PortRange::new(1, 1)));
        assert_eq!("0-5".parse::<PortRange>(), Err(PortRangeError::Port));
        assert_eq!("9-5".parse::<PortRange>(), Err(PortRangeError::Backwards));
        assert_eq!("5".parse::<PortRange>(), Err(PortRangeError::Shape));
        assert_eq!("1-70000".parse::<PortRange>(), Err(PortRangeError::Port));
    }
}
