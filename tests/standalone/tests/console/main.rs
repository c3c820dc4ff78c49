//! The console as visitors see it: headless Chromium on the page of a real `stunner run`.
//!
//! `cargo test -p standalone-tests --test console`. Screenshots go to `target/artefacts` (`STUNNER_ARTEFACTS` names
//! another folder). With `UPDATE_PICTURES=1` the pictures of the README, `docs/console-light.png` and
//! `docs/console-dark.png`, are made anew.

mod access;
mod denials;
mod follow;
mod ice;
mod looks;
mod pictures;
mod secrets;
mod visit;
