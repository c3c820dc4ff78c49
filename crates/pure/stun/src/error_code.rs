//! Error codes and the ERROR-CODE value (RFC 8489 §14.8, RFC 8656 §19, RFC 6062 §6.3).

use crate::fields::{AttributeError, valid_utf8_prefix};

pub const TRY_ALTERNATE: u16 = 300;
pub const BAD_REQUEST: u16 = 400;
pub const UNAUTHENTICATED: u16 = 401;
pub const FORBIDDEN: u16 = 403;
pub const MOBILITY_FORBIDDEN: u16 = 405;
pub const UNKNOWN_ATTRIBUTE: u16 = 420;
pub const ALLOCATION_MISMATCH: u16 = 437;
pub const STALE_NONCE: u16 = 438;
pub const ADDRESS_FAMILY_NOT_SUPPORTED: u16 = 440;
pub const WRONG_CREDENTIALS: u16 = 441;
pub const UNSUPPORTED_TRANSPORT: u16 = 442;
pub const PEER_ADDRESS_FAMILY_MISMATCH: u16 = 443;
pub const CONNECTION_ALREADY_EXISTS: u16 = 446;
pub const CONNECTION_TIMEOUT_OR_FAILURE: u16 = 447;
pub const ALLOCATION_QUOTA_REACHED: u16 = 486;
pub const SERVER_ERROR: u16 = 500;
pub const INSUFFICIENT_CAPACITY: u16 = 508;

/// The registered reason phrase, or the name of the code's class for codes we do not know.
pub const fn reason(code: u16) -> &'static str {
    match code {
        TRY_ALTERNATE => "Try Alternate",
        BAD_REQUEST => "Bad Request",
        UNAUTHENTICATED => "Unauthenticated",
        FORBIDDEN => "Forbidden",
        MOBILITY_FORBIDDEN => "Mobility Forbidden",
        UNKNOWN_ATTRIBUTE => "Unknown Attribute",
        ALLOCATION_MISMATCH => "Allocation Mismatch",
        STALE_NONCE => "Stale Nonce",
        ADDRESS_FAMILY_NOT_SUPPORTED => "Address Family not Supported",
        WRONG_CREDENTIALS => "Wrong Credentials",
        UNSUPPORTED_TRANSPORT => "Unsupported Transport Protocol",
        PEER_ADDRESS_FAMILY_MISMATCH => "Peer Address Family Mismatch",
        CONNECTION_ALREADY_EXISTS => "Connection Already Exists",
        CONNECTION_TIMEOUT_OR_FAILURE => "Connection Timeout or Failure",
        ALLOCATION_QUOTA_REACHED => "Allocation Quota Reached",
        SERVER_ERROR => "Server Error",
        INSUFFICIENT_CAPACITY => "Insufficient Capacity",
        _ => match code / 100 {
            3 => "Redirect",
            4 => "Client Error",
            5 => "Server Error",
            _ => "Global Error",
        },
    }
}

/// A received ERROR-CODE value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrorCode<'a> {
    /// 300 to 699.
    pub code: u16,
    /// Meant for people; cut before the first byte that is not UTF-8.
    pub reason: &'a str,
}

impl<'a> ErrorCode<'a> {
    /// RFC 8489 §14.8: 21 reserved bits, a class of 3 to 6, a number below 100, a phrase of up to
    /// 763 bytes.
    pub fn decode(value: &'a [u8]) -> Result<Self, AttributeError> {
        let (head, reason) = value
            .split_first_chunk::<4>()
            .ok_or(AttributeError::Length(value.len()))?;
        Ok(ErrorCode {
            code: decode_code(head[2], head[3])?,
            reason: valid_utf8_prefix(reason),
        })
    }
}

/// The class and number bytes that ERROR-CODE and ADDRESS-ERROR-CODE share.
pub(crate) fn decode_code(class: u8, number: u8) -> Result<u16, AttributeError> {
    // The upper five bits are reserved: a receiver ignores them.
    let class = class & 0x07;
    if !(3..=6).contains(&class) || number > 99 {
        return Err(AttributeError::ErrorCode { class, number });
    }
    Ok(u16::from(class) * 100 + u16::from(number))
}

/// The class and number bytes of `code`, unless it is outside 300 to 699.
pub(crate) fn encode_code(code: u16) -> Option<[u8; 2]> {
    (300..700)
        .contains(&code)
        .then_some([(code / 100) as u8, (code % 100) as u8])
}
