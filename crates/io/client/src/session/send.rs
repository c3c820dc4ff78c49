//! Datagrams on their way out.

use std::io;
use std::net::SocketAddr;

use stunner_turn::client::SendError;

use super::Shared;
use crate::link::{MAX_DTLS, MAX_UDP, Room};
use crate::{ClientError, Lost, ServerTransport};

/// A STUN header, XOR-PEER-ADDRESS and the header of DATA, for peers of either family (RFC 8656 §11.1).
const INDICATION_V4: usize = 20 + 12 + 4;
const INDICATION_V6: usize = 20 + 24 + 4;
/// RFC 8656 §12.4.
const CHANNEL_HEADER: usize = 4;
/// The most that the attributes of a message may be.
const MAX_ATTRIBUTES: usize = u16::MAX as usize;

enum Unsent {
    Machine(SendError),
    Io,
}

impl From<io::Error> for Unsent {
    fn from(_: io::Error) -> Self {
        Unsent::Io
    }
}

impl Shared {
    /// Sends a datagram if the connection takes it now.
    pub(crate) fn try_send(&self, peer: SocketAddr, payload: &[u8]) -> Result<Room, ClientError> {
        let core = &mut *self.core();
        if core.end.is_some() {
            return Err(self.gone().unwrap_or(Lost::Closed).into());
        }
        let limit = self.limit(peer, core.machine.channel(peer).is_some());
        if payload.len() > limit {
            return Err(ClientError::TooLarge {
                size: payload.len(),
                limit,
            });
        }
        let machine = &mut core.machine;
        let size = payload.len().next_multiple_of(4) + INDICATION_V6;
        let sent = core.writer.frame(size, |frame| {
            machine.send(peer, payload, frame).map_err(Unsent::Machine)
        });
        match sent {
            Ok(room) => {
                core.sent = true;
                if core.writer.has_unsent() {
                    self.kick.notify_one();
                }
                Ok(room)
            }
            Err(Unsent::Machine(SendError::NoPermission)) => {
                Err(ClientError::NoPermission { peer })
            }
            Err(Unsent::Machine(SendError::NoAllocation)) => match self.gone() {
                Some(lost) => Err(lost.into()),
                None => Err(stunner_turn::client::ClientError::WrongTransport.into()),
            },
            Err(Unsent::Machine(SendError::TooLarge(_) | SendError::Buffer(_))) => {
                Err(ClientError::TooLarge {
                    size: payload.len(),
                    limit,
                })
            }
            // The path may have got narrower, or a firewall said no: to the sender of a datagram it is lost.
            Err(Unsent::Io) if !self.socket.is_stream() => Ok(Room::Taken),
            Err(Unsent::Io) => Err(self.gone().unwrap_or(Lost::Closed).into()),
        }
    }

    pub(crate) fn max_payload(&self, peer: SocketAddr) -> usize {
        let by_channel = self.core().machine.channel(peer).is_some();
        self.limit(peer, by_channel)
    }

    fn limit(&self, peer: SocketAddr, by_channel: bool) -> usize {
        let frame = match self.connect.transport {
            ServerTransport::Udp => MAX_UDP,
            ServerTransport::Dtls => MAX_DTLS,
            ServerTransport::Tcp | ServerTransport::Tls => usize::MAX,
        };
        let indication = match peer.is_ipv4() {
            true => INDICATION_V4,
            false => INDICATION_V6,
        };
        let carried = match by_channel {
            // Where ChannelData is padded, the limit is a multiple of four, so that the padding fits too.
            true => frame.saturating_sub(CHANNEL_HEADER),
            // DATA is padded to four bytes.
            false => frame.min(20 + MAX_ATTRIBUTES).saturating_sub(indication) / 4 * 4,
        };
        carried.min(MAX_UDP)
    }
}
