//! What the suites of `stunner` share: [`binary`] finds or builds the program, [`command`] runs commands to their end,
//! [`stunner`] runs gateways and hears their events, [`manifests`] writes folders for them, [`golden`] compares with
//! stored results.

#![forbid(unsafe_code)]
#![allow(
    clippy::missing_panics_doc,
    reason = "a harness panics to fail the test"
)]

pub mod binary;
pub mod command;
pub mod golden;
pub mod manifests;
pub mod stunner;
