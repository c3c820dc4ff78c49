//! `stunnerctl top`, `sessions` and `explain` against a real API server and operator, with real dataplanes for pods.
//!
//! Run it with `cargo test -p cluster-tests --test sessions`.

mod explain;
mod live;
mod stage;
