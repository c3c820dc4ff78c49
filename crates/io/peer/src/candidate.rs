//! What the two ends can be reached at.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

/// RFC 8445 §5.1.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CandidateKind {
    Host,
    ServerReflexive,
    /// Learned from a check; it stands in neither offer nor answer.
    PeerReflexive,
    Relay,
}

impl CandidateKind {
    /// As SDP writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            CandidateKind::Host => "host",
            CandidateKind::ServerReflexive => "srflx",
            CandidateKind::PeerReflexive => "prflx",
            CandidateKind::Relay => "relay",
        }
    }
}

impl fmt::Display for CandidateKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A candidate of this side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalCandidate {
    pub kind: CandidateKind,
    pub address: SocketAddr,
    /// The TURN server of a relay candidate, without credentials.
    pub server: Option<String>,
}

/// A candidate of the other side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RemoteCandidate {
    pub kind: CandidateKind,
    pub address: SocketAddr,
}

/// Where data flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pair {
    pub local: SocketAddr,
    pub remote: SocketAddr,
}

/// The UDP candidates of an offer or answer. Those with a name instead of an address (mDNS) are left out.
pub(crate) fn candidates_of(sdp: &str) -> Vec<RemoteCandidate> {
    let mut all = Vec::new();
    for line in sdp.lines() {
        if let Some(candidate) = line.strip_prefix("a=candidate:").and_then(candidate)
            && !all.contains(&candidate)
        {
            all.push(candidate);
        }
    }
    all
}

/// RFC 8839 §5.1: foundation, component, transport, priority, address, port, `typ`, type.
fn candidate(line: &str) -> Option<RemoteCandidate> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let (transport, address, port) = (words.get(2)?, words.get(4)?, words.get(5)?);
    if !transport.eq_ignore_ascii_case("udp") {
        return None;
    }
    let kind = match *words.get(7)? {
        "host" => CandidateKind::Host,
        "srflx" => CandidateKind::ServerReflexive,
        "prflx" => CandidateKind::PeerReflexive,
        "relay" => CandidateKind::Relay,
        _ => return None,
    };
    let address: IpAddr = address.parse().ok()?;
    let address = SocketAddr::new(address, port.parse().ok()?);
    Some(RemoteCandidate { kind, address })
}

/// Whether an offer or answer comes from this host for this host: then loopback addresses are worth a try.
pub fn has_loopback(sdp: &str) -> bool {
    let all = candidates_of(sdp);
    all.iter()
        .any(|candidate| candidate.address.ip().is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_are_read_as_far_as_they_are_addresses() {
        let sdp = "v=0\r\na=candidate:1 1 udp 2113937151 0c1a.local 57512 typ host\r\n\
            a=candidate:2 1 UDP 8331007 203.0.113.1 50000 typ relay raddr 0.0.0.0 rport 0\r\n\
            a=candidate:2 1 UDP 8331007 203.0.113.1 50000 typ relay raddr 0.0.0.0 rport 0\r\n\
            a=candidate:3 1 tcp 8331007 203.0.113.1 9 typ host tcptype active\r\n\
            a=candidate:4 1 udp 1 2001:db8::1 5 typ host\r\na=candidate:5 1 udp\r\n";
        let read: Vec<String> = candidates_of(sdp)
            .iter()
            .map(|candidate| format!("{} {}", candidate.kind, candidate.address))
            .collect();
        assert_eq!(read, ["relay 203.0.113.1:50000", "host [2001:db8::1]:5"]);
        assert!(!has_loopback(sdp));
        assert!(has_loopback("a=candidate:1 1 udp 1 127.0.0.1 5 typ host"));
    }
}
