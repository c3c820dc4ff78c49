//! A load generator for TURN servers and a comparison that runs on one machine.
//!
//! It opens sessions ([`session::Sessions`]), sends stamped packets through their channels at a
//! fixed rate or as fast as they come back ([`load::Generator`]), and sets what arrives against the
//! server's own CPU time and memory ([`process::Process`]). [`compare`] does so for several servers
//! in turns and prints medians.
//!
//! It is not a conformance test and knows only UDP between client, server and peer.

pub mod allocations;
pub mod cli;
pub mod compare;
pub mod forwarder;
mod gaps;
pub mod load;
pub mod process;
pub mod report;
pub mod server;
pub mod session;
pub mod stamp;
pub mod statistics;
mod table;
pub mod traffic;
