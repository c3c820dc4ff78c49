//! Attribute numbers, from the IANA registry of STUN attributes.

// RFC 8489 §18.3.1, comprehension-required
pub const MAPPED_ADDRESS: u16 = 0x0001;
pub const USERNAME: u16 = 0x0006;
pub const MESSAGE_INTEGRITY: u16 = 0x0008;
pub const ERROR_CODE: u16 = 0x0009;
pub const UNKNOWN_ATTRIBUTES: u16 = 0x000A;
pub const REALM: u16 = 0x0014;
pub const NONCE: u16 = 0x0015;
pub const MESSAGE_INTEGRITY_SHA256: u16 = 0x001C;
pub const PASSWORD_ALGORITHM: u16 = 0x001D;
pub const USERHASH: u16 = 0x001E;
pub const XOR_MAPPED_ADDRESS: u16 = 0x0020;

// RFC 8656 §18, comprehension-required
pub const CHANNEL_NUMBER: u16 = 0x000C;
pub const LIFETIME: u16 = 0x000D;
pub const XOR_PEER_ADDRESS: u16 = 0x0012;
pub const DATA: u16 = 0x0013;
pub const XOR_RELAYED_ADDRESS: u16 = 0x0016;
pub const REQUESTED_ADDRESS_FAMILY: u16 = 0x0017;
pub const EVEN_PORT: u16 = 0x0018;
pub const REQUESTED_TRANSPORT: u16 = 0x0019;
pub const DONT_FRAGMENT: u16 = 0x001A;
pub const RESERVATION_TOKEN: u16 = 0x0022;

// RFC 8445 §16.1: seen in connectivity checks that share a port
pub const PRIORITY: u16 = 0x0024;
pub const USE_CANDIDATE: u16 = 0x0025;

// RFC 6062 §6.2
pub const CONNECTION_ID: u16 = 0x002A;

// Comprehension-optional
pub const ADDITIONAL_ADDRESS_FAMILY: u16 = 0x8000;
/// ADDITIONAL-ADDRESS-FAMILY as drafts of RFC 8656 numbered it; clients of coturn still send it.
pub const ADDITIONAL_ADDRESS_FAMILY_DRAFT: u16 = 0x8032;
pub const ADDRESS_ERROR_CODE: u16 = 0x8001;
pub const PASSWORD_ALGORITHMS: u16 = 0x8002;
pub const ALTERNATE_DOMAIN: u16 = 0x8003;
pub const ICMP: u16 = 0x8004;
pub const SOFTWARE: u16 = 0x8022;
pub const ALTERNATE_SERVER: u16 = 0x8023;
pub const FINGERPRINT: u16 = 0x8028;
pub const ICE_CONTROLLED: u16 = 0x8029;
pub const ICE_CONTROLLING: u16 = 0x802A;
// RFC 8016
pub const MOBILITY_TICKET: u16 = 0x8030;

/// Whether an agent that does not know `kind` must refuse the message (RFC 8489 §14).
pub const fn is_comprehension_required(kind: u16) -> bool {
    kind < 0x8000
}
