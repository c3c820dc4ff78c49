//! The gateway operator: Gateway API objects in, running gateways out.
//!
//! **What it is.** The runtime around translation. [`watch`] brings the cluster into the [`engine`]'s snapshot, the
//! engine translates what changed, [`cds`] serves the dataplane configurations, and, on the leader only, [`write`]
//! brings objects and statuses to what the plan says. [`console`] shows it all to people. [`cli`] reads the command line, [`runtime`] is the life of the
//! process.
//!
//! **What it is not.** It decides nothing about Gateways and routes: that is `stunner-translate`.
//!
//! **Nothing happens before everything is known.** No translation, no config served and no write until every cache is
//! complete: an operator that starts, or that cannot reach the API server, must not hurt a dataplane that serves.

#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod cds;
pub mod cli;
pub mod cluster;
pub mod console;
pub mod discovery;
pub mod engine;
pub mod health;
pub mod lease;
pub mod runtime;
pub mod watch;
pub mod write;
