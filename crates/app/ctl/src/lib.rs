//! `stunnerctl`: looks into gateways, their dataplanes and the way to them.
//!
//! **What it is.** One program with a command for every question about a running system. [`cli`] finds the command
//! and reads what was said to it, `commands` holds a folder for each, `output` the forms in which results are printed,
//! `failure` how it is told that there is none.
//!
//! **What it is not.** It knows no Kubernetes and no TURN of its own: reaching pods is `stunner-cluster`, speaking TURN
//! is `stunner-client`.

#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod cli;
mod commands;
mod dataplanes;
mod failure;
mod output;

/// As printed by `stunnerctl --version`.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
