//! What becomes of a packet.

use std::net::SocketAddr;

use stunner_config::admission::ClusterId;
use stunner_stun::{Class, MessageWriter, Method, TransactionId, attr, channel_data};

use super::DropReason;
use crate::{AllocationId, ClientPath};

/// What to do with a packet from a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FromClient<'p> {
    /// Send the payload to a peer. No effects wait.
    Relay(ToPeer<'p>),
    /// Taken; effects may wait.
    Handled,
    /// Not taken; effects may wait.
    Dropped(DropReason),
    /// The stream carries something else than TURN and has to be closed.
    Close,
}

/// Application data on its way to a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToPeer<'p> {
    pub allocation: AllocationId,
    pub peer: SocketAddr,
    /// A part of the packet that was handed in.
    pub payload: &'p [u8],
    pub cluster: ClusterId,
    pub dont_fragment: bool,
}

/// What to do with a datagram from a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FromPeer {
    /// Send prefix, payload and padding to the client. No effects wait.
    Relay(ToClient),
    /// Not taken; effects may wait.
    Dropped(DropReason),
}

/// Application data on its way to a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToClient {
    pub allocation: AllocationId,
    pub path: ClientPath,
    pub cluster: ClusterId,
    pub header: RelayHeader,
}

/// What goes before a peer's payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RelayHeader {
    /// ChannelData with this channel number.
    Channel(u16),
    /// A Data indication.
    Data {
        peer: SocketAddr,
        transaction: TransactionId,
    },
}

impl RelayHeader {
    /// The longest prefix: a Data indication with an IPv6 peer.
    pub const MAX: usize = 48;

    /// Writes the prefix for a payload; gives its length and the number of zero bytes that follow the payload.
    ///
    /// ChannelData is padded on streams only (RFC 8656 §12.4); the DATA attribute always (RFC 8489 §14).
    pub fn write(
        &self,
        payload_len: usize,
        stream: bool,
        buf: &mut [u8; Self::MAX],
    ) -> (usize, usize) {
        match *self {
            RelayHeader::Channel(number) => {
                buf[..4].copy_from_slice(&channel_data::header(number, payload_len as u16));
                let padding = match stream {
                    true => channel_data::stream_padding(payload_len),
                    false => 0,
                };
                (channel_data::HEADER_LEN, padding)
            }
            RelayHeader::Data { peer, transaction } => {
                let mut writer =
                    MessageWriter::new(buf, Class::Indication, Method::DATA, transaction);
                writer.xor_address(attr::XOR_PEER_ADDRESS, peer);
                match writer.finish_with_tail(attr::DATA, payload_len) {
                    Ok(tail) => (tail.prefix, tail.padding),
                    // A payload that no message can hold never gets here: `from_peer` drops it.
                    Err(_) => (0, 0),
                }
            }
        }
    }

    /// The length of the whole message around a payload.
    pub fn message_len(&self, payload_len: usize, stream: bool) -> usize {
        let padded = payload_len.next_multiple_of(4);
        match self {
            RelayHeader::Channel(_) if stream => 4 + padded,
            RelayHeader::Channel(_) => 4 + payload_len,
            RelayHeader::Data { peer, .. } if peer.is_ipv4() => 36 + padded,
            RelayHeader::Data { .. } => 48 + padded,
        }
    }
}
