//! What an epoll event or a TURN link points to, packed into 64 bits.

use stunner_turn::LinkId;

/// The kinds of file descriptors a shard waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Another thread left a command.
    Wake = 0,
    /// A UDP socket of a listener port.
    Datagram = 1,
    /// A listening TCP socket of a listener port.
    Accept = 2,
    /// A client's TCP or TLS connection.
    Stream = 3,
    /// A client's DTLS session (never an epoll token: it shares the port's socket).
    Dtls = 4,
    /// A UDP relay socket.
    Relay = 5,
    /// The listening socket of a TCP allocation.
    RelayAccept = 6,
    /// A TCP connection to or from a peer.
    Peer = 7,
    /// Time has passed.
    Tick = 8,
}

/// A kind, an index into that kind's table, and whether the IPv6 socket of a pair is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token {
    pub kind: Kind,
    pub index: u32,
    pub ipv6: bool,
}

impl Token {
    pub fn new(kind: Kind, index: u32) -> Self {
        Self {
            kind,
            index,
            ipv6: false,
        }
    }

    pub fn for_family(kind: Kind, index: u32, ipv6: bool) -> Self {
        Self { kind, index, ipv6 }
    }

    pub fn to_u64(self) -> u64 {
        (self.kind as u64) << 40 | u64::from(self.ipv6) << 32 | u64::from(self.index)
    }

    /// The inverse of `to_u64`; `None` for numbers that it never makes.
    pub fn from_u64(value: u64) -> Option<Self> {
        let kind = match value >> 40 {
            0 => Kind::Wake,
            1 => Kind::Datagram,
            2 => Kind::Accept,
            3 => Kind::Stream,
            4 => Kind::Dtls,
            5 => Kind::Relay,
            6 => Kind::RelayAccept,
            7 => Kind::Peer,
            8 => Kind::Tick,
            _ => return None,
        };
        Some(Self {
            kind,
            index: value as u32,
            ipv6: value >> 32 & 1 == 1,
        })
    }

    pub fn for_poll(self) -> stunner_net::poll::Token {
        stunner_net::poll::Token(self.to_u64())
    }

    pub fn link(self) -> LinkId {
        LinkId(self.to_u64())
    }

    pub fn of_link(link: LinkId) -> Option<Self> {
        Self::from_u64(link.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn survives_the_round_trip() {
        for kind in [
            Kind::Wake,
            Kind::Datagram,
            Kind::Dtls,
            Kind::Relay,
            Kind::Peer,
        ] {
            for ipv6 in [false, true] {
                let token = Token::for_family(kind, u32::MAX - 3, ipv6);
                assert_eq!(Token::from_u64(token.to_u64()), Some(token));
            }
        }
        assert_eq!(Token::from_u64(u64::MAX), None);
    }
}
