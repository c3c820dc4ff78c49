//! The far end of sessions.

use std::net::SocketAddr;

use stunner_net::udp::{UdpOptions, UdpSocket};

/// The far end of all sessions.
#[derive(Debug)]
pub enum PeerPlace {
    /// A socket of ours, which receives and sends.
    Here(UdpSocket),
    /// Somebody who sends everything back.
    Echo(SocketAddr),
}

impl PeerPlace {
    /// A peer on this machine.
    pub fn here(address: SocketAddr, gro: bool) -> std::io::Result<Self> {
        UdpSocket::bind(address, &endpoint_options(gro)).map(PeerPlace::Here)
    }

    pub fn address(&self) -> SocketAddr {
        match self {
            PeerPlace::Here(socket) => socket.local_addr(),
            PeerPlace::Echo(address) => *address,
        }
    }
}

/// The socket options of clients and the peer.
pub fn endpoint_options(gro: bool) -> UdpOptions {
    UdpOptions {
        reuse_port: false,
        packet_info: false,
        gro,
        recv_buffer: Some(4 << 20),
        send_buffer: Some(4 << 20),
    }
}
