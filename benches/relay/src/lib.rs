//! A comparison of TURN servers on one machine.
//!
//! It sends load ([`stunner_load::Generator`]) through servers that it starts itself, and sets what arrives against the
//! server's own CPU time and memory ([`process::Process`]). [`compare`] does so for several servers
//! in turns and prints medians.
//!
//! It is not a conformance test and knows only UDP between client, server and peer.

pub mod allocations;
pub mod cli;
pub mod compare;
pub mod forwarder;
pub mod process;
pub mod report;
pub mod server;
pub mod statistics;
mod table;
