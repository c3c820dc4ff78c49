//! Small HTTP servers: how one is bound, run within limits, and stopped.
//!
//! **What it is.** Everything between a listening socket and an [`axum::Router`], the same for every server of the
//! project: addresses, TLS with a certificate that can be exchanged while connections go on, bounds on what slow and
//! silent clients can hold, an orderly end, and which requests come from a stranger's web page ([`HostNames`]).
//!
//! **What it is not.** It has no routes, knows no passwords and speaks HTTP/1.1 only, which is all its clients need
//! (WebSocket upgrades among them).
//!
//! The central types are [`HttpServer`] and [`Bound`] (a server is bound first and started later, so that a start can
//! fail before anything was touched), [`Running`], and [`LiveCertificate`].

#![forbid(unsafe_code)]

mod address;
mod certificate;
mod connection;
mod guard;
mod hurry;
mod listen;
mod patience;
mod room;
mod serve;

pub use address::{AddressError, BindAddress};
pub use certificate::{CertificateError, LiveCertificate};
pub use guard::{HostNames, Stranger};
pub use listen::{Bound, HttpServer};
pub use serve::{Limits, Running, Serving};
