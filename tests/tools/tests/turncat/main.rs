//! `turncat` as users run it: local clients through real servers to real peers.
//!
//! Run it with `cargo test -p tools-tests --test turncat`. `TURNCAT_BIN` and `STUNNERD_BIN` name other programs than
//! those of this repository.

mod errors;
mod gateways;
mod local;
mod matrix;
mod others;
mod process;
mod reconnect;
mod scenery;
mod sizes;
mod stdout;
mod tcp_peers;
