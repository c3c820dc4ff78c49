//! What the fuzz targets do, as plain functions.
//!
//! What it is: one function per target that takes arbitrary bytes and panics when something that
//! must hold does not. `fuzz/` feeds them from libFuzzer; the test of this crate replays the
//! corpora that are checked in there, so that every input that was once interesting is tried with
//! every run of the tests, on any toolchain.
//!
//! What it is not: a place for expectations about particular inputs; those are ordinary tests of the
//! crates themselves.
//!
//! Start at [`TARGETS`]: a target is in both places as soon as it is in this list and in
//! `fuzz/fuzz_targets/`.
#![forbid(unsafe_code)]

mod auth_query;
mod config;
mod framing;
mod jsonpath;
mod manifest;
mod server;
mod server_uri;
mod stun;
mod translate;

pub use auth_query::auth_query;
pub use config::config;
pub use framing::stream_framing;
pub use jsonpath::jsonpath;
pub use manifest::manifest;
pub use server::server;
pub use server_uri::server_uri;
pub use stun::stun_message;
pub use translate::translate_manifests;

/// Takes arbitrary bytes and panics when something that must hold does not.
pub type Target = fn(&[u8]);

/// Every target by the name of its corpus folder.
pub const TARGETS: [(&str, Target); 9] = [
    ("stun_message", stun_message),
    ("stream_framing", stream_framing),
    ("config", config),
    ("server", server),
    ("server_uri", server_uri),
    ("translate", translate_manifests),
    ("manifest", manifest),
    ("jsonpath", jsonpath),
    ("auth_query", auth_query),
];
