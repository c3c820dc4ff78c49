//! A received message: structure checked once, then read in place.

use std::fmt;

use crate::attr;
use crate::header::{
    COOKIE_BYTES, Class, HEADER_LEN, Method, TransactionId, decode_class, decode_method,
};

/// Why bytes are not a STUN message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    #[error("{0} bytes are too short for a STUN header")]
    Truncated(usize),
    #[error("the first two bits are not zero")]
    NotStun,
    #[error("the magic cookie is missing")]
    Cookie,
    #[error("the length field says `{claimed}` but `{actual}` bytes follow the header")]
    Length { claimed: usize, actual: usize },
    #[error("the length field `{0}` is not a multiple of 4")]
    Unaligned(usize),
    #[error("the attribute at offset {0} reaches beyond the message")]
    Attribute(usize),
    #[error("FINGERPRINT at offset {0} is not the last attribute")]
    FingerprintNotLast(usize),
}

/// One attribute of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attribute<'a> {
    pub kind: u16,
    /// Without padding.
    pub value: &'a [u8],
    /// Where the attribute's header begins, counted from the start of the message.
    pub offset: usize,
}

/// A zero-copy view of a whole STUN message.
///
/// Attributes that RFC 8489 tells a receiver to ignore (§14.5: those after MESSAGE-INTEGRITY other
/// than MESSAGE-INTEGRITY-SHA256 and FINGERPRINT; §14.6: those after MESSAGE-INTEGRITY-SHA256 other
/// than FINGERPRINT) do not exist for any method of this type.
#[derive(Clone, Copy)]
pub struct Message<'a> {
    pub(crate) bytes: &'a [u8],
    /// Where the ordinary attributes end: at the first of the three below, or with the message.
    ordinary_end: u32,
    /// Offsets of the trailing attributes; 0 where there is none.
    integrity_at: u32,
    integrity_sha256_at: u32,
    fingerprint_at: u32,
}

impl<'a> Message<'a> {
    /// Checks header, length and the bounds of every attribute. `bytes` must be exactly one message.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, ParseError> {
        let Some((header, body)) = bytes.split_first_chunk::<HEADER_LEN>() else {
            return Err(ParseError::Truncated(bytes.len()));
        };
        // RFC 8489 §5: the two most significant bits are zero.
        if header[0] & 0xC0 != 0 {
            return Err(ParseError::NotStun);
        }
        if header[4..8] != COOKIE_BYTES {
            return Err(ParseError::Cookie);
        }
        let claimed = usize::from(u16::from_be_bytes([header[2], header[3]]));
        if claimed != body.len() {
            let actual = body.len();
            return Err(ParseError::Length { claimed, actual });
        }
        // RFC 8489 §5: attributes are padded, so the last two bits of the length are zero.
        if !claimed.is_multiple_of(4) {
            return Err(ParseError::Unaligned(claimed));
        }

        let mut message = Message {
            bytes,
            ordinary_end: 0,
            integrity_at: 0,
            integrity_sha256_at: 0,
            fingerprint_at: 0,
        };
        let mut at = HEADER_LEN;
        while at < bytes.len() {
            let (kind, len) = attribute_header(bytes, at).ok_or(ParseError::Attribute(at))?;
            let next = at + 4 + padded(len);
            if next > bytes.len() {
                return Err(ParseError::Attribute(at));
            }
            if is_trailing(kind) {
                message.note_trailing(kind, at, next)?;
            }
            at = next;
        }
        if message.ordinary_end == 0 {
            message.ordinary_end = bytes.len() as u32;
        }
        Ok(message)
    }

    /// Remembers where the attributes that close a message are. Offsets fit: a message has at most
    /// [`MAX_MESSAGE_LEN`](crate::MAX_MESSAGE_LEN) bytes.
    fn note_trailing(&mut self, kind: u16, at: usize, next: usize) -> Result<(), ParseError> {
        let offset = at as u32;
        match kind {
            // RFC 8489 §14.7: FINGERPRINT MUST be the last attribute.
            attr::FINGERPRINT if next != self.bytes.len() => {
                return Err(ParseError::FingerprintNotLast(at));
            }
            attr::FINGERPRINT => self.fingerprint_at = offset,
            // RFC 8489 §14.6: whatever follows the SHA-256 one is ignored, a second one too.
            attr::MESSAGE_INTEGRITY_SHA256 if self.integrity_sha256_at == 0 => {
                self.integrity_sha256_at = offset;
            }
            // RFC 8489 §14.5 and §14.6: only the first counts, and only in front of the SHA-256 one.
            attr::MESSAGE_INTEGRITY if self.integrity_at == 0 && self.integrity_sha256_at == 0 => {
                self.integrity_at = offset;
            }
            _ => return Ok(()),
        }
        if self.ordinary_end == 0 {
            self.ordinary_end = offset;
        }
        Ok(())
    }

    #[inline]
    pub fn class(&self) -> Class {
        decode_class(self.message_type())
    }

    #[inline]
    pub fn method(&self) -> Method {
        decode_method(self.message_type())
    }

    #[inline]
    fn message_type(&self) -> u16 {
        u16::from_be_bytes([self.bytes[0], self.bytes[1]])
    }

    #[inline]
    pub fn transaction_id(&self) -> TransactionId {
        let mut id = [0; 12];
        id.copy_from_slice(&self.bytes[8..HEADER_LEN]);
        TransactionId(id)
    }

    pub fn as_bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The attributes in their order, without those that are to be ignored.
    #[inline]
    pub fn attributes(&self) -> Attributes<'a> {
        Attributes {
            bytes: self.bytes,
            at: HEADER_LEN,
            end: self.ordinary_end as usize,
            trailing: [
                self.integrity_at,
                self.integrity_sha256_at,
                self.fingerprint_at,
            ],
        }
    }

    /// The value of the first attribute of this kind. RFC 8489 §14: of several of one kind only the
    /// first is used, unless the attribute's definition says otherwise.
    #[inline]
    pub fn get(&self, kind: u16) -> Option<&'a [u8]> {
        self.all(kind).next()
    }

    #[inline]
    pub fn contains(&self, kind: u16) -> bool {
        self.get(kind).is_some()
    }

    /// The values of all attributes of this kind, such as the XOR-PEER-ADDRESSes of a
    /// CreatePermission request.
    #[inline]
    pub fn all(&self, kind: u16) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        self.attributes()
            .filter(move |attribute| attribute.kind == kind)
            .map(|attribute| attribute.value)
    }

    pub fn has_integrity(&self) -> bool {
        self.integrity_at != 0
    }

    pub fn has_integrity_sha256(&self) -> bool {
        self.integrity_sha256_at != 0
    }

    pub fn has_fingerprint(&self) -> bool {
        self.fingerprint_at != 0
    }

    pub(crate) fn integrity_attribute(&self) -> Option<Attribute<'a>> {
        attribute_at(self.bytes, self.integrity_at)
    }

    pub(crate) fn integrity_sha256_attribute(&self) -> Option<Attribute<'a>> {
        attribute_at(self.bytes, self.integrity_sha256_at)
    }

    pub(crate) fn fingerprint_attribute(&self) -> Option<Attribute<'a>> {
        attribute_at(self.bytes, self.fingerprint_at)
    }
}

impl fmt::Debug for Message<'_> {
    /// Kinds and sizes only: values may hold user data.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        struct Kinds<'a>(Attributes<'a>);
        impl fmt::Debug for Kinds<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let entries = self.0.clone();
                f.debug_map()
                    .entries(entries.map(|a| (format_args_kind(a.kind), a.value.len())))
                    .finish()
            }
        }
        f.debug_struct("Message")
            .field("class", &self.class())
            .field("method", &self.method())
            .field("transaction_id", &self.transaction_id())
            .field("attributes", &Kinds(self.attributes()))
            .finish()
    }
}

fn format_args_kind(kind: u16) -> impl fmt::Debug {
    struct Hex(u16);
    impl fmt::Debug for Hex {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "{:#06x}", self.0)
        }
    }
    Hex(kind)
}

/// Iterator of [`Message::attributes`].
#[derive(Debug, Clone)]
pub struct Attributes<'a> {
    bytes: &'a [u8],
    at: usize,
    end: usize,
    trailing: [u32; 3],
}

impl<'a> Iterator for Attributes<'a> {
    type Item = Attribute<'a>;

    #[inline]
    fn next(&mut self) -> Option<Attribute<'a>> {
        if self.at < self.end {
            let offset = self.at;
            let (kind, len) = attribute_header(self.bytes, offset)?;
            let value = self.bytes.get(offset + 4..offset + 4 + len)?;
            self.at = offset + 4 + padded(len);
            return Some(Attribute {
                kind,
                value,
                offset,
            });
        }
        let slot = self.trailing.iter_mut().find(|offset| **offset != 0)?;
        attribute_at(self.bytes, std::mem::take(slot))
    }
}

#[inline]
fn is_trailing(kind: u16) -> bool {
    matches!(
        kind,
        attr::MESSAGE_INTEGRITY | attr::MESSAGE_INTEGRITY_SHA256 | attr::FINGERPRINT
    )
}

#[inline]
fn attribute_header(bytes: &[u8], at: usize) -> Option<(u16, usize)> {
    let &[kind_high, kind_low, len_high, len_low] = bytes.get(at..)?.first_chunk::<4>()?;
    let kind = u16::from_be_bytes([kind_high, kind_low]);
    Some((kind, usize::from(u16::from_be_bytes([len_high, len_low]))))
}

#[inline]
fn attribute_at(bytes: &[u8], offset: u32) -> Option<Attribute<'_>> {
    if offset == 0 {
        return None;
    }
    let offset = offset as usize;
    let (kind, len) = attribute_header(bytes, offset)?;
    let value = bytes.get(offset + 4..offset + 4 + len)?;
    Some(Attribute {
        kind,
        value,
        offset,
    })
}

/// RFC 8489 §14: values are padded to a multiple of 4; the padding is not in the length.
#[inline]
pub(crate) const fn padded(len: usize) -> usize {
    (len + 3) & !3
}
