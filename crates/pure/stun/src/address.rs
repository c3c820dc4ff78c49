//! Transport addresses in attributes: plain (MAPPED-ADDRESS, ALTERNATE-SERVER; RFC 8489 §14.1)
//! and obfuscated with the cookie and transaction id (the XOR- family; §14.2).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::fields::AttributeError;
use crate::header::{COOKIE_BYTES, TransactionId};

/// An address family number as STUN writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Family {
    V4,
    V6,
}

impl Family {
    pub const fn of(addr: &IpAddr) -> Self {
        match addr {
            IpAddr::V4(_) => Family::V4,
            IpAddr::V6(_) => Family::V6,
        }
    }

    pub const fn to_wire(self) -> u8 {
        match self {
            Family::V4 => 0x01,
            Family::V6 => 0x02,
        }
    }

    pub const fn from_wire(byte: u8) -> Result<Self, AttributeError> {
        match byte {
            0x01 => Ok(Family::V4),
            0x02 => Ok(Family::V6),
            other => Err(AttributeError::Family(other)),
        }
    }
}

/// Longest encoded address: reserved byte, family, port and 16 bytes of IPv6.
pub(crate) const MAX_ADDRESS_LEN: usize = 20;

/// The 16 bytes an obfuscated address is xored with: the cookie, then the transaction id.
#[inline]
fn mask(txid: &TransactionId) -> [u8; 16] {
    let mut mask = [0; 16];
    mask[..4].copy_from_slice(&COOKIE_BYTES);
    mask[4..].copy_from_slice(&txid.0);
    mask
}

/// Reads an XOR-MAPPED-ADDRESS, XOR-PEER-ADDRESS or XOR-RELAYED-ADDRESS value.
#[inline]
pub fn decode_xor_address(
    value: &[u8],
    txid: &TransactionId,
) -> Result<SocketAddr, AttributeError> {
    decode_masked(value, mask(txid))
}

/// Reads a MAPPED-ADDRESS or ALTERNATE-SERVER value.
pub fn decode_address(value: &[u8]) -> Result<SocketAddr, AttributeError> {
    decode_masked(value, [0; 16])
}

#[inline]
fn decode_masked(value: &[u8], mask: [u8; 16]) -> Result<SocketAddr, AttributeError> {
    let (&[_reserved, family, port_high, port_low], address) = value
        .split_first_chunk::<4>()
        .ok_or(AttributeError::Length(value.len()))?;
    let wrong_length = AttributeError::Length(value.len());
    let ip = match Family::from_wire(family)? {
        Family::V4 => {
            let octets: [u8; 4] = address.try_into().map_err(|_| wrong_length)?;
            let [m0, m1, m2, m3, ..] = mask;
            let key = u32::from_be_bytes([m0, m1, m2, m3]);
            IpAddr::V4(Ipv4Addr::from(u32::from_be_bytes(octets) ^ key))
        }
        Family::V6 => {
            let octets: [u8; 16] = address.try_into().map_err(|_| wrong_length)?;
            let bits = u128::from_be_bytes(octets) ^ u128::from_be_bytes(mask);
            IpAddr::V6(Ipv6Addr::from(bits))
        }
    };
    let port = u16::from_be_bytes([port_high ^ mask[0], port_low ^ mask[1]]);
    Ok(SocketAddr::new(ip, port))
}

/// Writes an obfuscated address into `out` and says how many bytes it took.
#[inline]
pub(crate) fn encode_xor_address(
    addr: SocketAddr,
    txid: &TransactionId,
    out: &mut [u8; MAX_ADDRESS_LEN],
) -> usize {
    encode_masked(addr, mask(txid), out)
}

pub(crate) fn encode_address(addr: SocketAddr, out: &mut [u8; MAX_ADDRESS_LEN]) -> usize {
    encode_masked(addr, [0; 16], out)
}

#[inline]
fn encode_masked(addr: SocketAddr, mask: [u8; 16], out: &mut [u8; MAX_ADDRESS_LEN]) -> usize {
    let port = addr.port().to_be_bytes();
    out[0] = 0;
    out[1] = Family::of(&addr.ip()).to_wire();
    out[2] = port[0] ^ mask[0];
    out[3] = port[1] ^ mask[1];
    match addr.ip() {
        IpAddr::V4(ip) => {
            let [m0, m1, m2, m3, ..] = mask;
            let bits = u32::from(ip) ^ u32::from_be_bytes([m0, m1, m2, m3]);
            out[4..8].copy_from_slice(&bits.to_be_bytes());
            8
        }
        IpAddr::V6(ip) => {
            let bits = u128::from(ip) ^ u128::from_be_bytes(mask);
            out[4..20].copy_from_slice(&bits.to_be_bytes());
            20
        }
    }
}
