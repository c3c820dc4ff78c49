//! Cutting a TCP or TLS byte stream into messages (RFC 8489 §6.2.2, RFC 8656 §12.5).
//!
//! A stream that cannot be framed cannot be resynchronised either, so every error here means that
//! the connection is to be closed. Each is reported from the first bytes that show it.

use crate::header::{COOKIE_BYTES, HEADER_LEN, MAX_MESSAGE_LEN};
use crate::message::padded;

/// A whole frame at the front of the buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frame {
    /// A STUN message of this many bytes.
    Message(usize),
    /// A ChannelData message: `total` bytes of header and payload, and `padded` to take off the
    /// stream.
    ChannelData { total: usize, padded: usize },
}

impl Frame {
    /// Bytes that are the message.
    pub const fn len(self) -> usize {
        match self {
            Frame::Message(total) | Frame::ChannelData { total, .. } => total,
        }
    }

    /// No frame is empty.
    pub const fn is_empty(self) -> bool {
        false
    }

    /// Bytes to take off the stream.
    pub const fn consumed(self) -> usize {
        match self {
            Frame::Message(total) => total,
            Frame::ChannelData { padded, .. } => padded,
        }
    }
}

/// Why a stream is not TURN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FramingError {
    #[error("the first byte `{0:#04x}` begins neither a STUN nor a ChannelData message")]
    FirstByte(u8),
    #[error("the magic cookie is missing")]
    Cookie,
    #[error("the STUN length `{0}` is not a multiple of 4")]
    Unaligned(usize),
    #[error("a frame of {0} bytes is longer than allowed")]
    TooLong(usize),
}

/// The longest frame there can be: a buffer of this size always makes progress.
pub const MAX_FRAME_LEN: usize = MAX_MESSAGE_LEN;

/// The frame at the front of `buf`, or `None` while more bytes are needed.
pub fn next_frame(buf: &[u8]) -> Result<Option<Frame>, FramingError> {
    next_frame_within(buf, MAX_FRAME_LEN)
}

/// The same with a bound on what a frame takes off the stream, known as soon as its length is.
///
/// Bytes are judged in their order, so that what is said of a stream does not depend on how much
/// of it has arrived.
pub fn next_frame_within(buf: &[u8], limit: usize) -> Result<Option<Frame>, FramingError> {
    let Some(&first) = buf.first() else {
        return Ok(None);
    };
    if first & 0x80 != 0 {
        return Err(FramingError::FirstByte(first));
    }
    let is_stun = first & 0x40 == 0;
    let Some(&[_, _, len_high, len_low]) = buf.first_chunk::<4>() else {
        return Ok(None);
    };
    let len = usize::from(u16::from_be_bytes([len_high, len_low]));
    let frame = if is_stun {
        if !len.is_multiple_of(4) {
            return Err(FramingError::Unaligned(len));
        }
        Frame::Message(HEADER_LEN + len)
    } else {
        let total = crate::channel_data::HEADER_LEN + len;
        // RFC 8656 §12.5: padded to a multiple of 4 on streams; the padding is not in the length.
        Frame::ChannelData {
            total,
            padded: padded(total),
        }
    };
    if frame.consumed() > limit {
        return Err(FramingError::TooLong(frame.consumed()));
    }
    if is_stun {
        let cookie = buf.get(4..buf.len().min(8)).unwrap_or_default();
        if !COOKIE_BYTES.starts_with(cookie) {
            return Err(FramingError::Cookie);
        }
    }
    Ok((buf.len() >= frame.consumed()).then_some(frame))
}
