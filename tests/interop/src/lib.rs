//! Tests of the real `stunnerd` binary against real clients.
//!
//! The library is the harness: [`stunnerd::Stunnerd`] starts and reconfigures the server under test,
//! [`server::TurnServer`] is what the client interop tests use (it can also be coturn, to check the tests
//! themselves), [`echo`] has the peers behind the relay and [`skip`] says what happens when an outside program
//! is missing. It holds no product code and nothing here is published.

#![allow(
    clippy::missing_panics_doc,
    reason = "a harness panics to fail the test"
)]

pub mod binary;
pub mod browser;
pub mod cache;
pub mod cds;
pub mod client;
pub mod config;
pub mod drops;
pub mod echo;
pub mod ended;
pub mod go;
pub mod http;
pub mod netns;
pub mod pki;
pub mod ports;
pub mod process;
pub mod python;
pub mod rounds;
pub mod scene;
pub mod server;
pub mod skip;
pub mod stunnerd;
