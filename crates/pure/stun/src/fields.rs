//! Typed reading of single attributes. Each method answers `None` when the attribute is not there.

use std::net::SocketAddr;

use crate::address::{Family, decode_address, decode_xor_address};
use crate::attr;
use crate::error_code::{ErrorCode, decode_code};
use crate::message::Message;
use crate::password_algorithm::{AlgorithmEntries, AlgorithmEntry};

/// Why an attribute's value makes no sense.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AttributeError {
    #[error("a value of {0} bytes has the wrong length")]
    Length(usize),
    #[error("address family `{0}` does not exist")]
    Family(u8),
    #[error("the text is not UTF-8")]
    Utf8,
    #[error("error class `{class}` and number `{number}` are out of range")]
    ErrorCode { class: u8, number: u8 },
}

type Field<T> = Option<Result<T, AttributeError>>;

/// Longest text of a field of fewer than 128 characters, decoding (RFC 8489 §14.8 to §14.10, §14.14).
const MAX_TEXT: usize = 763;
/// RFC 8489 §14.3: fewer than 509 bytes.
const MAX_USERNAME: usize = 508;
/// RFC 8489 §14.16.
const MAX_DOMAIN: usize = 255;

/// ADDRESS-ERROR-CODE: why one family of a dual allocation was refused (RFC 8656 §18.12).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddressErrorCode<'a> {
    pub family: Family,
    pub code: u16,
    pub reason: &'a str,
}

/// ICMP: what a relay's socket was told about a peer (RFC 8656 §18.13).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Icmp {
    pub icmp_type: u8,
    /// Nine bits on the wire.
    pub code: u16,
    pub data: [u8; 4],
}

impl<'a> Message<'a> {
    /// One of the XOR- addresses, such as [`attr::XOR_PEER_ADDRESS`].
    #[inline]
    pub fn xor_address(&self, kind: u16) -> Field<SocketAddr> {
        let value = self.get(kind)?;
        Some(decode_xor_address(value, &self.transaction_id()))
    }

    /// Every XOR- address of this kind, in order.
    pub fn xor_addresses(
        &self,
        kind: u16,
    ) -> impl Iterator<Item = Result<SocketAddr, AttributeError>> + use<'a> {
        let id = self.transaction_id();
        self.all(kind)
            .map(move |value| decode_xor_address(value, &id))
    }

    /// A plain address: [`attr::MAPPED_ADDRESS`] or [`attr::ALTERNATE_SERVER`].
    pub fn address(&self, kind: u16) -> Field<SocketAddr> {
        self.get(kind).map(decode_address)
    }

    pub fn alternate_server(&self) -> Field<SocketAddr> {
        self.address(attr::ALTERNATE_SERVER)
    }

    pub fn username(&self) -> Field<&'a str> {
        self.text(attr::USERNAME, MAX_USERNAME)
    }

    pub fn realm(&self) -> Field<&'a str> {
        self.text(attr::REALM, MAX_TEXT)
    }

    pub fn nonce(&self) -> Field<&'a str> {
        self.text(attr::NONCE, MAX_TEXT)
    }

    pub fn software(&self) -> Field<&'a str> {
        self.text(attr::SOFTWARE, MAX_TEXT)
    }

    pub fn alternate_domain(&self) -> Field<&'a str> {
        self.text(attr::ALTERNATE_DOMAIN, MAX_DOMAIN)
    }

    pub fn userhash(&self) -> Field<&'a [u8; 32]> {
        self.get(attr::USERHASH).map(exact)
    }

    #[inline]
    pub fn data(&self) -> Option<&'a [u8]> {
        self.get(attr::DATA)
    }

    /// Seconds.
    pub fn lifetime(&self) -> Field<u32> {
        self.u32(attr::LIFETIME)
    }

    /// As sent; whether it is in the channel range is for the caller to say. Two reserved bytes
    /// follow it (RFC 8656 §18.1).
    pub fn channel_number(&self) -> Field<u16> {
        let value = self.get(attr::CHANNEL_NUMBER)?;
        Some(exact::<4>(value).map(|&[high, low, _, _]| u16::from_be_bytes([high, low])))
    }

    /// An IP protocol number: 17 is UDP, 6 is TCP (RFC 8656 §18.8).
    pub fn requested_transport(&self) -> Field<u8> {
        self.first_of_four(attr::REQUESTED_TRANSPORT)
    }

    pub fn requested_family(&self) -> Field<Family> {
        self.family(attr::REQUESTED_ADDRESS_FAMILY)
    }

    /// The family of a second relayed address, under its number of RFC 8656 or of the drafts before.
    pub fn additional_family(&self) -> Field<Family> {
        self.family(attr::ADDITIONAL_ADDRESS_FAMILY)
            .or_else(|| self.family(attr::ADDITIONAL_ADDRESS_FAMILY_DRAFT))
    }

    /// Whether the next port is to be reserved too: the R bit (RFC 8656 §18.7).
    pub fn even_port(&self) -> Field<bool> {
        let value = self.get(attr::EVEN_PORT)?;
        Some(exact::<1>(value).map(|&[bits]| bits & 0x80 != 0))
    }

    #[inline]
    pub fn dont_fragment(&self) -> bool {
        self.contains(attr::DONT_FRAGMENT)
    }

    pub fn reservation_token(&self) -> Field<[u8; 8]> {
        self.get(attr::RESERVATION_TOKEN)
            .map(|value| exact(value).copied())
    }

    pub fn connection_id(&self) -> Field<u32> {
        self.u32(attr::CONNECTION_ID)
    }

    pub fn error(&self) -> Field<ErrorCode<'a>> {
        self.get(attr::ERROR_CODE).map(ErrorCode::decode)
    }

    pub fn address_errors(
        &self,
    ) -> impl Iterator<Item = Result<AddressErrorCode<'a>, AttributeError>> + use<'a> {
        self.all(attr::ADDRESS_ERROR_CODE).map(|value| {
            let (&[family, _, class, number], reason) = value
                .split_first_chunk::<4>()
                .ok_or(AttributeError::Length(value.len()))?;
            Ok(AddressErrorCode {
                family: Family::from_wire(family)?,
                code: decode_code(class, number)?,
                reason: valid_utf8_prefix(reason),
            })
        })
    }

    pub fn icmp(&self) -> Field<Icmp> {
        let value = self.get(attr::ICMP)?;
        // 16 reserved bits, 7 of type, 9 of code, 32 of data.
        Some(
            exact::<8>(value).map(|&[_, _, high, low, a, b, c, d]| Icmp {
                icmp_type: high >> 1,
                code: u16::from_be_bytes([high & 1, low]),
                data: [a, b, c, d],
            }),
        )
    }

    /// The kinds listed by UNKNOWN-ATTRIBUTES.
    pub fn unknown_attributes(&self) -> Field<impl Iterator<Item = u16> + use<'a>> {
        let value = self.get(attr::UNKNOWN_ATTRIBUTES)?;
        if !value.len().is_multiple_of(2) {
            return Some(Err(AttributeError::Length(value.len())));
        }
        let kinds = value.as_chunks::<2>().0;
        Some(Ok(kinds.iter().map(|kind| u16::from_be_bytes(*kind))))
    }

    /// What a server offers, in its order of preference.
    pub fn password_algorithms(&self) -> Option<AlgorithmEntries<'a>> {
        self.get(attr::PASSWORD_ALGORITHMS)
            .map(AlgorithmEntries::new)
    }

    /// What a client chose.
    pub fn password_algorithm(&self) -> Field<AlgorithmEntry<'a>> {
        self.get(attr::PASSWORD_ALGORITHM)
            .map(AlgorithmEntry::decode)
    }

    pub fn u32(&self, kind: u16) -> Field<u32> {
        let value = self.get(kind)?;
        Some(exact(value).map(|bytes| u32::from_be_bytes(*bytes)))
    }

    pub fn u64(&self, kind: u16) -> Field<u64> {
        let value = self.get(kind)?;
        Some(exact(value).map(|bytes| u64::from_be_bytes(*bytes)))
    }

    fn family(&self, kind: u16) -> Field<Family> {
        Some(self.first_of_four(kind)?.and_then(Family::from_wire))
    }

    /// A byte with three reserved ones behind it.
    fn first_of_four(&self, kind: u16) -> Field<u8> {
        let value = self.get(kind)?;
        Some(exact::<4>(value).map(|bytes| bytes[0]))
    }

    fn text(&self, kind: u16, max: usize) -> Field<&'a str> {
        let value = self.get(kind)?;
        if value.len() > max {
            return Some(Err(AttributeError::Length(value.len())));
        }
        Some(str::from_utf8(value).map_err(|_| AttributeError::Utf8))
    }
}

fn exact<const N: usize>(value: &[u8]) -> Result<&[u8; N], AttributeError> {
    value
        .try_into()
        .map_err(|_| AttributeError::Length(value.len()))
}

/// A reason phrase is for people: what can be read of it is better than an error.
pub(crate) fn valid_utf8_prefix(bytes: &[u8]) -> &str {
    match str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(),
    }
}
