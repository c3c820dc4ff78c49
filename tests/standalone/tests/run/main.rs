//! `stunner run` as users run it: the real binary, real folders, real TURN clients.
//!
//! `cargo test -p standalone-tests --test run`; times are judged for an optimised binary only (`--release`, or
//! `STUNNER_BIN`).

mod clashes;
mod edits;
mod end;
mod hangup;
mod hostile;
mod listening;
mod minted;
mod problems;
mod returning;
mod saves;
mod sessions;
mod speed;
mod start;
mod strangers;
mod unread;
