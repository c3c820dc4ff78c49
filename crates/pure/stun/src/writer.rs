//! Building a message in a caller's buffer.

use crate::attr;
use crate::header::{
    COOKIE_BYTES, Class, HEADER_LEN, MAX_MESSAGE_LEN, Method, TransactionId, encode_type,
};
use crate::integrity::{Covered, SHA256_LEN, fingerprint, is_sha256_len};
use crate::key::Key;
use crate::message::padded;

/// Why a message could not be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    #[error("the message does not fit the buffer")]
    Overflow,
    #[error("attribute `{0:#06x}` cannot come after one that closes the message")]
    Order(u16),
    #[error("the value of attribute `{0:#06x}` is not allowed")]
    Value(u16),
}

/// How far a message has been closed; later attributes would be ignored by the receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Open,
    Integrity,
    IntegritySha256,
    Fingerprint,
}

/// Writes one message. The first failure is remembered, makes all later calls do nothing, and is
/// reported by [`finish`](Self::finish).
#[derive(Debug)]
pub struct MessageWriter<'b> {
    buf: &'b mut [u8],
    len: usize,
    stage: Stage,
    failure: Option<WriteError>,
}

/// What [`MessageWriter::finish_with_tail`] wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tail {
    /// Bytes in the buffer, to send in front of the value.
    pub prefix: usize,
    /// Zero bytes to send behind the value.
    pub padding: usize,
}

impl<'b> MessageWriter<'b> {
    #[inline]
    pub fn new(buf: &'b mut [u8], class: Class, method: Method, txid: TransactionId) -> Self {
        let failure = match buf.first_chunk_mut::<HEADER_LEN>() {
            Some(header) => {
                header[..2].copy_from_slice(&encode_type(class, method).to_be_bytes());
                header[2..4].fill(0);
                header[4..8].copy_from_slice(&COOKIE_BYTES);
                header[8..].copy_from_slice(&txid.0);
                None
            }
            None => Some(WriteError::Overflow),
        };
        MessageWriter {
            buf,
            len: HEADER_LEN,
            stage: Stage::Open,
            failure,
        }
    }

    /// The transaction id the message was begun with.
    #[inline]
    pub fn transaction_id(&self) -> TransactionId {
        let id = self.buf.get(8..HEADER_LEN);
        TransactionId(id.and_then(|id| id.try_into().ok()).unwrap_or_default())
    }

    /// Adds an attribute with any value. The integrity attributes and FINGERPRINT have methods of
    /// their own and are refused here.
    #[inline]
    pub fn attribute(&mut self, kind: u16, value: &[u8]) -> &mut Self {
        let closes = matches!(
            kind,
            attr::MESSAGE_INTEGRITY | attr::MESSAGE_INTEGRITY_SHA256 | attr::FINGERPRINT
        );
        if closes || self.stage != Stage::Open {
            return self.fail(WriteError::Order(kind));
        }
        self.push(kind, value);
        self
    }

    /// Adds MESSAGE-INTEGRITY over all that was written so far (RFC 8489 §14.5).
    pub fn integrity(&mut self, key: &Key) -> &mut Self {
        if !self.close(Stage::Integrity, attr::MESSAGE_INTEGRITY) {
            return self;
        }
        let mac = key.mac_sha1(&Covered::new(&self.buf[..self.len], 20).parts());
        self.push(attr::MESSAGE_INTEGRITY, &mac);
        self
    }

    /// Adds a complete MESSAGE-INTEGRITY-SHA256 (RFC 8489 §14.6).
    pub fn integrity_sha256(&mut self, key: &Key) -> &mut Self {
        self.truncated_integrity_sha256(key, SHA256_LEN)
    }

    /// Adds the first `len` bytes of it: 16 to 32, a multiple of 4.
    pub fn truncated_integrity_sha256(&mut self, key: &Key, len: usize) -> &mut Self {
        let kind = attr::MESSAGE_INTEGRITY_SHA256;
        if !is_sha256_len(len) {
            return self.fail(WriteError::Value(kind));
        }
        if !self.close(Stage::IntegritySha256, kind) {
            return self;
        }
        let mac = key.mac_sha256(&Covered::new(&self.buf[..self.len], len).parts());
        self.push(kind, &mac[..len]);
        self
    }

    /// Adds FINGERPRINT, after which nothing can follow (RFC 8489 §14.7).
    pub fn fingerprint(&mut self) -> &mut Self {
        if !self.close(Stage::Fingerprint, attr::FINGERPRINT) {
            return self;
        }
        let before = self.len;
        if self.push(attr::FINGERPRINT, &[0; 4]) {
            // The CRC covers the header with the length that counts this attribute.
            self.write_length(self.len);
            let crc = fingerprint(&self.buf[..before]);
            self.buf[before + 4..before + 8].copy_from_slice(&crc);
        }
        self
    }

    /// Ends the message: its length in bytes.
    #[inline]
    pub fn finish(mut self) -> Result<usize, WriteError> {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        self.write_length(self.len);
        Ok(self.len)
    }

    /// Ends the message with an attribute whose value of `value_len` bytes is not copied: the
    /// caller sends the prefix, the value and the padding one behind the other. This is how a Data
    /// indication is wrapped around a payload where it lies.
    #[inline]
    pub fn finish_with_tail(mut self, kind: u16, value_len: usize) -> Result<Tail, WriteError> {
        if self.failure.is_none() && self.stage != Stage::Open {
            self.fail(WriteError::Order(kind));
        }
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        let prefix = self.len + 4;
        let end = prefix + padded(value_len.min(MAX_MESSAGE_LEN));
        if prefix > self.buf.len() || end > MAX_MESSAGE_LEN {
            return Err(WriteError::Overflow);
        }
        self.buf[self.len..self.len + 2].copy_from_slice(&kind.to_be_bytes());
        self.buf[self.len + 2..prefix].copy_from_slice(&(value_len as u16).to_be_bytes());
        self.write_length(end);
        Ok(Tail {
            prefix,
            padding: padded(value_len) - value_len,
        })
    }

    pub(crate) fn fail(&mut self, failure: WriteError) -> &mut Self {
        self.failure.get_or_insert(failure);
        self
    }

    /// Moves on to a closing attribute; says whether it may be written.
    fn close(&mut self, stage: Stage, kind: u16) -> bool {
        if self.stage >= stage {
            self.fail(WriteError::Order(kind));
        }
        self.stage = stage;
        self.failure.is_none()
    }

    /// Appends header, value and zero padding; says whether they fitted.
    #[inline]
    fn push(&mut self, kind: u16, value: &[u8]) -> bool {
        if self.failure.is_some() {
            return false;
        }
        let start = self.len;
        let value_end = start + 4 + value.len();
        let end = start + 4 + padded(value.len());
        if end > self.buf.len() || end > MAX_MESSAGE_LEN {
            self.fail(WriteError::Overflow);
            return false;
        }
        self.buf[start..start + 2].copy_from_slice(&kind.to_be_bytes());
        self.buf[start + 2..start + 4].copy_from_slice(&(value.len() as u16).to_be_bytes());
        self.buf[start + 4..value_end].copy_from_slice(value);
        self.buf[value_end..end].fill(0);
        self.len = end;
        true
    }

    /// `end` is where the message ends; it is within [`MAX_MESSAGE_LEN`].
    #[inline]
    fn write_length(&mut self, end: usize) {
        let length = (end - HEADER_LEN) as u16;
        self.buf[2..4].copy_from_slice(&length.to_be_bytes());
    }
}
