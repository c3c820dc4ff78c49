//! `stunnerd`: a STUN/TURN server that reconfigures live.
//!
//! This crate puts the pure machines and the io crates together. [`runtime`] is the life of the
//! process, [`embed`] is a dataplane inside another one, [`control`] applies configurations, [`shard`] moves packets, [`http`] answers probes,
//! scrapes and the admin API, [`ice_test`] lets browsers try a listener, [`cli`] reads the command line.
//!
//! It decides nothing about protocols: what TURN does with a packet is in `stunner-turn`, what a
//! config means in `stunner-config`.

#![deny(clippy::print_stdout, clippy::print_stderr)]

mod certificate;
pub mod cli;
mod clock;
mod control;
pub mod embed;
pub mod http;
mod ice_test;
mod journal;
pub mod runtime;
mod shard;
mod shared;
mod state;
