//! `turncat`: local connections, tunnelled through a TURN server to a peer behind it.
//!
//! **What it is.** [`cli`] reads the command line; [`ends`] and [`server`] are what its three arguments say. [`run`]
//! finds the server and tries it, opens the [`local`] end and gives every client a [`tunnel`] of its own: an allocation that
//! is made again when it is lost, while the client keeps its socket.
//!
//! **What it is not.** It speaks no TURN itself: that is `stunner-client`, which does not reconnect. How a cluster is
//! reached is `stunner-cluster`.

#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod cli;
pub mod ends;
pub mod local;
pub mod run;
pub mod server;
pub mod tunnel;

/// As printed by `turncat --version`.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
