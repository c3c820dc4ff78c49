//! Checks of MESSAGE-INTEGRITY, MESSAGE-INTEGRITY-SHA256 and FINGERPRINT (RFC 8489 §14.5 to §14.7).

use subtle::ConstantTimeEq;

use crate::header::HEADER_LEN;
use crate::key::Key;
use crate::message::Message;

/// What the CRC-32 is xored with, so that it differs from other protocols' (RFC 8489 §14.7).
const FINGERPRINT_XOR: u32 = 0x5354_554E;

pub(crate) const SHA1_LEN: usize = 20;
pub(crate) const SHA256_LEN: usize = 32;
pub(crate) const SHA256_MIN_LEN: usize = 16;

impl Message<'_> {
    /// Whether MESSAGE-INTEGRITY is there and right for `key`. Takes the same time for every wrong
    /// value.
    pub fn verify_integrity(&self, key: &Key) -> bool {
        let Some(attribute) = self.integrity_attribute() else {
            return false;
        };
        if attribute.value.len() != SHA1_LEN {
            return false;
        }
        let covered = self.covered(attribute.offset, SHA1_LEN);
        let expected = key.mac_sha1(&covered.parts());
        expected.as_slice().ct_eq(attribute.value).into()
    }

    /// Whether MESSAGE-INTEGRITY-SHA256 is there, complete, and right for `key`. RFC 8489 §14.6
    /// wants all 32 bytes unless a STUN usage allows truncation, and TURN does not.
    pub fn verify_integrity_sha256(&self, key: &Key) -> bool {
        self.verify_truncated_integrity_sha256(key, SHA256_LEN)
    }

    /// The same for a usage that accepts the first `minimum` or more bytes of the HMAC; never fewer
    /// than 16, and only multiples of 4 (RFC 8489 §14.6).
    pub fn verify_truncated_integrity_sha256(&self, key: &Key, minimum: usize) -> bool {
        let Some(attribute) = self.integrity_sha256_attribute() else {
            return false;
        };
        let len = attribute.value.len();
        if !is_sha256_len(len) || len < minimum {
            return false;
        }
        let covered = self.covered(attribute.offset, len);
        let expected = key.mac_sha256(&covered.parts());
        expected[..len].ct_eq(attribute.value).into()
    }

    /// Whether FINGERPRINT is right; `None` without one.
    pub fn check_fingerprint(&self) -> Option<bool> {
        let attribute = self.fingerprint_attribute()?;
        // It is the last attribute, so the header already has the length it was computed with.
        let expected = fingerprint(&self.bytes[..attribute.offset]);
        Some(attribute.value == expected)
    }

    /// What a MAC in an attribute at `offset` covers: everything before it, with the header's
    /// length set as if the message ended behind that attribute (RFC 8489 §14.5).
    fn covered(&self, offset: usize, value_len: usize) -> Covered<'_> {
        Covered::new(&self.bytes[..offset], value_len)
    }
}

/// The input of an integrity check: bytes 0..2, the adjusted length, and the rest.
pub(crate) struct Covered<'a> {
    message_type: &'a [u8],
    length: [u8; 2],
    rest: &'a [u8],
}

impl<'a> Covered<'a> {
    /// `before` is the message up to the attribute; it holds at least the header.
    pub(crate) fn new(before: &'a [u8], value_len: usize) -> Self {
        let length = before.len() - HEADER_LEN + 4 + value_len;
        Covered {
            message_type: &before[..2],
            length: (length as u16).to_be_bytes(),
            rest: &before[4..],
        }
    }

    pub(crate) fn parts(&self) -> [&[u8]; 3] {
        [self.message_type, &self.length, self.rest]
    }
}

/// The FINGERPRINT value for a message whose header already counts the attribute.
pub(crate) fn fingerprint(before: &[u8]) -> [u8; 4] {
    (crc32fast::hash(before) ^ FINGERPRINT_XOR).to_be_bytes()
}

pub(crate) fn is_sha256_len(len: usize) -> bool {
    (SHA256_MIN_LEN..=SHA256_LEN).contains(&len) && len.is_multiple_of(4)
}
