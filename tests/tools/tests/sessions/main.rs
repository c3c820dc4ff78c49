//! `stunnerctl top`, `sessions` and `explain` as users run them: against a real `stunner run` and a real `stunnerd` with
//! live sessions, on a pseudo terminal and without one.
//!
//! Run it with `cargo test -p tools-tests --test sessions`. `STUNNERCTL_BIN`, `STUNNER_BIN` and `STUNNERD_BIN` name other
//! programs than those of this repository.

mod explain;
mod failures;
mod kill;
mod list;
mod scenery;
mod terminal;
mod top;
