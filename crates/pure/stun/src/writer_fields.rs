//! Typed writing of single attributes.

use std::net::SocketAddr;

use crate::address::{Family, MAX_ADDRESS_LEN, encode_address, encode_xor_address};
use crate::attr;
use crate::error_code::{encode_code, reason as default_reason};
use crate::fields::Icmp;
use crate::password_algorithm::PasswordAlgorithm;
use crate::writer::{MessageWriter, WriteError};

/// Longest text of a field of fewer than 128 characters, encoding (RFC 8489 §14.8 to §14.10, §14.14).
const MAX_TEXT: usize = 509;
const MAX_TEXT_CHARS: usize = 127;
/// RFC 8489 §14.3: fewer than 509 bytes.
const MAX_USERNAME: usize = 508;

impl MessageWriter<'_> {
    #[inline]
    pub fn xor_address(&mut self, kind: u16, addr: SocketAddr) -> &mut Self {
        let mut value = [0; MAX_ADDRESS_LEN];
        let len = encode_xor_address(addr, &self.transaction_id(), &mut value);
        self.attribute(kind, &value[..len])
    }

    /// A plain address: MAPPED-ADDRESS or ALTERNATE-SERVER.
    pub fn address(&mut self, kind: u16, addr: SocketAddr) -> &mut Self {
        let mut value = [0; MAX_ADDRESS_LEN];
        let len = encode_address(addr, &mut value);
        self.attribute(kind, &value[..len])
    }

    pub fn alternate_server(&mut self, addr: SocketAddr) -> &mut Self {
        self.address(attr::ALTERNATE_SERVER, addr)
    }

    /// One byte and nothing else, as in EVEN-PORT.
    pub fn u8(&mut self, kind: u16, value: u8) -> &mut Self {
        self.attribute(kind, &[value])
    }

    /// Two bytes and two reserved ones, as in CHANNEL-NUMBER.
    pub fn u16(&mut self, kind: u16, value: u16) -> &mut Self {
        let [high, low] = value.to_be_bytes();
        self.attribute(kind, &[high, low, 0, 0])
    }

    pub fn u32(&mut self, kind: u16, value: u32) -> &mut Self {
        self.attribute(kind, &value.to_be_bytes())
    }

    pub fn u64(&mut self, kind: u16, value: u64) -> &mut Self {
        self.attribute(kind, &value.to_be_bytes())
    }

    pub fn username(&mut self, text: &str) -> &mut Self {
        if text.len() > MAX_USERNAME {
            return self.fail(WriteError::Value(attr::USERNAME));
        }
        self.attribute(attr::USERNAME, text.as_bytes())
    }

    pub fn realm(&mut self, text: &str) -> &mut Self {
        self.text(attr::REALM, text)
    }

    pub fn nonce(&mut self, text: &str) -> &mut Self {
        self.text(attr::NONCE, text)
    }

    pub fn software(&mut self, text: &str) -> &mut Self {
        self.text(attr::SOFTWARE, text)
    }

    pub fn alternate_domain(&mut self, domain: &str) -> &mut Self {
        self.attribute(attr::ALTERNATE_DOMAIN, domain.as_bytes())
    }

    pub fn userhash(&mut self, hash: &[u8; 32]) -> &mut Self {
        self.attribute(attr::USERHASH, hash)
    }

    #[inline]
    pub fn data(&mut self, payload: &[u8]) -> &mut Self {
        self.attribute(attr::DATA, payload)
    }

    pub fn lifetime(&mut self, seconds: u32) -> &mut Self {
        self.u32(attr::LIFETIME, seconds)
    }

    pub fn channel_number(&mut self, number: u16) -> &mut Self {
        self.u16(attr::CHANNEL_NUMBER, number)
    }

    /// An IP protocol number: 17 is UDP, 6 is TCP.
    pub fn requested_transport(&mut self, protocol: u8) -> &mut Self {
        self.attribute(attr::REQUESTED_TRANSPORT, &[protocol, 0, 0, 0])
    }

    pub fn requested_family(&mut self, family: Family) -> &mut Self {
        let value = [family.to_wire(), 0, 0, 0];
        self.attribute(attr::REQUESTED_ADDRESS_FAMILY, &value)
    }

    pub fn additional_family(&mut self, family: Family) -> &mut Self {
        let value = [family.to_wire(), 0, 0, 0];
        self.attribute(attr::ADDITIONAL_ADDRESS_FAMILY, &value)
    }

    pub fn even_port(&mut self, reserve_next: bool) -> &mut Self {
        self.u8(attr::EVEN_PORT, u8::from(reserve_next) << 7)
    }

    pub fn dont_fragment(&mut self) -> &mut Self {
        self.attribute(attr::DONT_FRAGMENT, &[])
    }

    pub fn reservation_token(&mut self, token: &[u8; 8]) -> &mut Self {
        self.attribute(attr::RESERVATION_TOKEN, token)
    }

    pub fn connection_id(&mut self, id: u32) -> &mut Self {
        self.u32(attr::CONNECTION_ID, id)
    }

    /// ERROR-CODE; an empty `reason` stands for the registered phrase, a long one is cut
    /// (RFC 8489 §14.8).
    pub fn error(&mut self, code: u16, reason: &str) -> &mut Self {
        self.coded_error(attr::ERROR_CODE, 0, code, reason)
    }

    /// ADDRESS-ERROR-CODE, with the same rules (RFC 8656 §18.12).
    pub fn address_error(&mut self, family: Family, code: u16, reason: &str) -> &mut Self {
        self.coded_error(attr::ADDRESS_ERROR_CODE, family.to_wire(), code, reason)
    }

    pub fn icmp(&mut self, icmp: Icmp) -> &mut Self {
        if icmp.icmp_type > 0x7F || icmp.code > 0x1FF {
            return self.fail(WriteError::Value(attr::ICMP));
        }
        let [code_high, code_low] = icmp.code.to_be_bytes();
        let [a, b, c, d] = icmp.data;
        let type_high = icmp.icmp_type << 1 | code_high;
        self.attribute(attr::ICMP, &[0, 0, type_high, code_low, a, b, c, d])
    }

    pub fn unknown_attributes(&mut self, kinds: &[u16]) -> &mut Self {
        let mut value = [0; 128];
        let (slots, _) = value.as_chunks_mut::<2>();
        if kinds.len() > slots.len() {
            return self.fail(WriteError::Value(attr::UNKNOWN_ATTRIBUTES));
        }
        for (slot, kind) in slots.iter_mut().zip(kinds) {
            *slot = kind.to_be_bytes();
        }
        self.attribute(attr::UNKNOWN_ATTRIBUTES, &value[..kinds.len() * 2])
    }

    /// In order of preference (RFC 8489 §14.11).
    pub fn password_algorithms(&mut self, algorithms: &[PasswordAlgorithm]) -> &mut Self {
        let mut value = [0; 32];
        let (slots, _) = value.as_chunks_mut::<4>();
        if algorithms.len() > slots.len() {
            return self.fail(WriteError::Value(attr::PASSWORD_ALGORITHMS));
        }
        for (slot, algorithm) in slots.iter_mut().zip(algorithms) {
            *slot = algorithm.encode();
        }
        self.attribute(attr::PASSWORD_ALGORITHMS, &value[..algorithms.len() * 4])
    }

    pub fn password_algorithm(&mut self, algorithm: PasswordAlgorithm) -> &mut Self {
        self.attribute(attr::PASSWORD_ALGORITHM, &algorithm.encode())
    }

    fn coded_error(&mut self, kind: u16, family: u8, code: u16, reason: &str) -> &mut Self {
        let Some([class, number]) = encode_code(code) else {
            return self.fail(WriteError::Value(kind));
        };
        let reason = match reason {
            "" => default_reason(code),
            reason => cut(reason),
        };
        let mut value = [0; 4 + MAX_TEXT];
        value[..4].copy_from_slice(&[family, 0, class, number]);
        let end = 4 + reason.len();
        value[4..end].copy_from_slice(reason.as_bytes());
        self.attribute(kind, &value[..end])
    }

    fn text(&mut self, kind: u16, text: &str) -> &mut Self {
        if cut(text).len() < text.len() {
            return self.fail(WriteError::Value(kind));
        }
        self.attribute(kind, text.as_bytes())
    }
}

/// The front of `text` that fits a field of fewer than 128 characters.
fn cut(text: &str) -> &str {
    let by_chars = text
        .char_indices()
        .nth(MAX_TEXT_CHARS)
        .map_or(text.len(), |(index, _)| index);
    &text[..text.floor_char_boundary(by_chars.min(MAX_TEXT))]
}
