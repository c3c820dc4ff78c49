//! `icetester` and `stunnerctl icetest` as users run them: WebRTC calls through real gateways.
//!
//! Run it with `cargo test -p tools-tests --test icetest`. `ICETESTER_BIN`, `STUNNERCTL_BIN`, `STUNNERD_BIN` and
//! `STUNNER_BIN` name other programs than those of this repository.

mod browsers;
mod cleaning;
mod failures;
mod interrupted;
mod local;
mod matrix;
mod program;
mod scenery;
mod traces;
