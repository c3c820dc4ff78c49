//! The dataplane's edge to the kernel: batched UDP with GRO/GSO and packet info, an epoll poller,
//! TCP sockets, and TLS and DTLS as state machines that the caller feeds with bytes.
//!
//! It is not a runtime and takes no product decision: it starts no threads, keeps no timers and
//! knows nothing of STUN or TURN. Linux only. It is also the one place with `unsafe` code.
//!
//! Central types: [`udp::RecvBatch`] and [`udp::SendBatch`] (the packet path),
//! [`poll::Poller`], [`tls::TlsSession`] and [`dtls::DtlsSession`].

pub mod dtls;
pub mod host;
pub mod identity;
mod mapping;
pub mod poll;
mod sockaddr;
pub mod stream;
pub mod tls;
pub mod udp;
