//! The STUN and TURN wire format.
//!
//! What it is: a zero-copy reader and an in-place writer for STUN messages (RFC 8489) with the
//! attributes of TURN (RFC 8656) and TURN-TCP (RFC 6062), the ChannelData message, and the
//! framing of both on a byte stream. Nothing here allocates, and no input makes it panic.
//!
//! What it is not: it knows no sockets, clocks or transactions and makes no decision about a
//! message; the state machines that do live in `stunner-turn`. Text is compared and hashed as the
//! bytes that were sent: preparing strings (OpaqueString, RFC 8265) is the caller's business.
//!
//! Central types: [`Message`] is a view of received bytes whose structure has been checked,
//! [`MessageWriter`] builds a message in a caller's buffer, and [`Key`] is a credential with its
//! HMAC states computed ahead.
//!
//! ```
//! use stunner_stun::{Class, Message, MessageWriter, Method, TransactionId, attr};
//!
//! let mut buffer = [0; 128];
//! let mut writer =
//!     MessageWriter::new(&mut buffer, Class::Success, Method::BINDING, TransactionId([7; 12]));
//! writer.xor_address(attr::XOR_MAPPED_ADDRESS, "192.0.2.1:3478".parse().unwrap());
//! writer.fingerprint();
//! let len = writer.finish().unwrap();
//!
//! let message = Message::parse(&buffer[..len]).unwrap();
//! assert_eq!(message.xor_address(attr::XOR_MAPPED_ADDRESS), Some(Ok("192.0.2.1:3478".parse().unwrap())));
//! assert_eq!(message.check_fingerprint(), Some(true));
//! ```
#![forbid(unsafe_code)]

mod address;
pub mod attr;
pub mod channel_data;
pub mod error_code;
mod fields;
pub mod framing;
mod header;
mod integrity;
mod key;
mod message;
pub mod nonce;
pub mod password_algorithm;
mod unknown;
mod writer;
mod writer_fields;

pub use address::{Family, decode_address, decode_xor_address};
pub use error_code::ErrorCode;
pub use fields::{AddressErrorCode, AttributeError, Icmp};
pub use header::{Class, HEADER_LEN, MAGIC_COOKIE, MAX_MESSAGE_LEN, Method, TransactionId};
pub use key::{Key, userhash};
pub use message::{Attribute, Attributes, Message, ParseError};
pub use password_algorithm::PasswordAlgorithm;
pub use unknown::UnknownAttributes;
pub use writer::{MessageWriter, Tail, WriteError};
