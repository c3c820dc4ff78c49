//! The 20-byte header of RFC 8489 §5: class, method, length, magic cookie, transaction id.

use std::fmt;

/// The fixed value that tells STUN from other protocols on one port (RFC 8489 §5).
pub const MAGIC_COOKIE: u32 = 0x2112_A442;
/// Bytes before the first attribute.
pub const HEADER_LEN: usize = 20;
/// The longest message the 16-bit length field can describe; its last two bits are zero.
pub const MAX_MESSAGE_LEN: usize = HEADER_LEN + 0xFFFC;

pub(crate) const COOKIE_BYTES: [u8; 4] = MAGIC_COOKIE.to_be_bytes();

/// Ties a response to its request.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct TransactionId(pub [u8; 12]);

impl fmt::Debug for TransactionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for TransactionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    Request,
    Indication,
    Success,
    Error,
}

/// A 12-bit method number.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Method(pub u16);

impl Method {
    pub const BINDING: Method = Method(0x001);
    // RFC 8656 §17
    pub const ALLOCATE: Method = Method(0x003);
    pub const REFRESH: Method = Method(0x004);
    pub const SEND: Method = Method(0x006);
    pub const DATA: Method = Method(0x007);
    pub const CREATE_PERMISSION: Method = Method(0x008);
    pub const CHANNEL_BIND: Method = Method(0x009);
    // RFC 6062 §6.1
    pub const CONNECT: Method = Method(0x00A);
    pub const CONNECTION_BIND: Method = Method(0x00B);
    pub const CONNECTION_ATTEMPT: Method = Method(0x00C);

    /// The registered name, for logs and metric labels.
    pub fn name(self) -> Option<&'static str> {
        Some(match self {
            Method::BINDING => "Binding",
            Method::ALLOCATE => "Allocate",
            Method::REFRESH => "Refresh",
            Method::SEND => "Send",
            Method::DATA => "Data",
            Method::CREATE_PERMISSION => "CreatePermission",
            Method::CHANNEL_BIND => "ChannelBind",
            Method::CONNECT => "Connect",
            Method::CONNECTION_BIND => "ConnectionBind",
            Method::CONNECTION_ATTEMPT => "ConnectionAttempt",
            _ => return None,
        })
    }
}

impl fmt::Debug for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "Method({:#05x})", self.0),
        }
    }
}

/// Interleaves class and method: `M11..M7 C1 M6..M4 C0 M3..M0` (RFC 8489 §5, figure 3).
/// Bits of `method` beyond the twelfth have no place on the wire and are left out.
#[inline]
pub(crate) fn encode_type(class: Class, method: Method) -> u16 {
    let class_bits = match class {
        Class::Request => 0x0000,
        Class::Indication => 0x0010,
        Class::Success => 0x0100,
        Class::Error => 0x0110,
    };
    let m = method.0;
    class_bits | (m & 0x000F) | ((m & 0x0070) << 1) | ((m & 0x0F80) << 2)
}

#[inline]
pub(crate) fn decode_class(message_type: u16) -> Class {
    match message_type & 0x0110 {
        0x0000 => Class::Request,
        0x0010 => Class::Indication,
        0x0100 => Class::Success,
        _ => Class::Error,
    }
}

#[inline]
pub(crate) fn decode_method(message_type: u16) -> Method {
    let t = message_type;
    Method((t & 0x000F) | ((t & 0x00E0) >> 1) | ((t & 0x3E00) >> 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc8489_5_every_class_and_method_survives_the_interleaving() {
        for class in [
            Class::Request,
            Class::Indication,
            Class::Success,
            Class::Error,
        ] {
            for number in 0..0x1000 {
                let encoded = encode_type(class, Method(number));
                assert_eq!(encoded & 0xC000, 0, "the top two bits stay zero");
                assert_eq!(decode_class(encoded), class);
                assert_eq!(decode_method(encoded), Method(number));
            }
        }
    }

    #[test]
    fn rfc8489_5_known_type_values() {
        assert_eq!(encode_type(Class::Request, Method::BINDING), 0x0001);
        assert_eq!(encode_type(Class::Success, Method::BINDING), 0x0101);
        assert_eq!(encode_type(Class::Error, Method::ALLOCATE), 0x0113);
        assert_eq!(encode_type(Class::Indication, Method::DATA), 0x0017);
    }
}
