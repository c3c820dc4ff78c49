//! A WHIP server (RFC 9725) whose peer echoes: the far end of ICE tests.
//!
//! **What it is.** `POST /whip` with an SDP offer of a data channel gives an answer and a session that sends every
//! message back; `DELETE` of the session's address ends it. [`Settings`] say on which TURN servers the peer has
//! candidates; `GET` and `POST` of `/config` read and change them while it runs. [`cli`] is the program, [`whip`] the
//! server.
//!
//! **What it is not.** It takes no media and no trickled candidates: it answers when all of its own are gathered. The
//! WebRTC peer itself is `stunner-peer`.

#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod cli;
mod settings;
pub mod whip;

pub use settings::{Settings, SettingsError};

/// As printed by `icetester --version`.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
