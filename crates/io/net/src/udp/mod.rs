//! Batched UDP. A shard reads many datagrams with one system call into a [`RecvBatch`], decides,
//! and sends many with one call through a [`SendBatch`]; payload bytes are not copied in between.
//!
//! ```no_run
//! # use stunner_net::udp::*;
//! # fn main() -> std::io::Result<()> {
//! let socket = UdpSocket::bind("127.0.0.1:3478".parse().unwrap(), &UdpOptions::listener())?;
//! let mut received = RecvBatch::new(32)?;
//! let mut storage = SendBatch::new();
//! let count = received.recv(&socket, 0, 32)?;
//! let mut out = storage.begin();
//! for slot in 0..count {
//!     let group = received.get(slot);
//!     for datagram in group.datagrams() {
//!         // ChannelData header, then the payload where it lies, no padding.
//!         let _ = out.push(group.from, group.local_ip, &[0x40, 0, 0, 4], datagram, 0);
//!     }
//! }
//! let report = out.flush(&socket);
//! # let _ = report; Ok(())
//! # }
//! ```

mod arena;
mod control;
mod flush;
mod gso;
mod recv;
mod report;
mod send;
mod socket;

pub use recv::{Received, RecvBatch, SLOT_SIZE};
pub use report::SendReport;
pub use send::{MAX_DATAGRAM, Outgoing, SendBatch, TooBig};
pub use socket::{UdpOptions, UdpSocket};
