//! `stunner`: the whole gateway from a folder of manifests, in one process.
//!
//! **What it is.** One program for every way to use the product. [`run`] serves the Gateways of a folder in this
//! process: [`provider`] follows the files and adds what a cluster would, [`local`] stands in for the cluster's
//! infrastructure. [`translate`], [`check`] and [`init`] are the commands around it, [`input`] finds and reads what
//! they are given, [`cli`] reads the command line. `stunner operator` and `stunner dataplane` are the other two
//! programs.
//!
//! **What it is not.** It decides nothing about Gateways and routes: that is `stunner-translate`, the operator's own
//! function. It reads no manifest itself: that is `stunner-manifest`.

#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod bench;
pub mod check;
pub mod cli;
pub mod init;
pub mod input;
pub mod local;
pub mod provider;
pub mod run;
pub mod translate;

/// As printed by `stunner version`.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
