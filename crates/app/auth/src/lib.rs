//! The auth service: hands applications the TURN credentials and ICE configurations of gateways.
//!
//! **What it is.** A small REST server. It knows the configurations of all gateways, from the operator's config
//! discovery service or from files ([`source`]), and answers two questions about them ([`answer`]): a TURN credential
//! (`GET /`) and a configuration for a page's `RTCPeerConnection` (`GET /ice`). Who may ask, how often and from which
//! pages is decided in [`http`].
//!
//! **What it is not.** It keeps no list of users and of credentials handed out: an ephemeral credential proves itself to
//! the gateway, which shares the secret.
//!
//! The central types are [`answer::Gateways`], [`answer::Query`] and [`http::Service`].

#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod answer;
pub mod cli;
pub mod http;
mod run;
pub mod source;

/// As printed by `--version` and in the first log line.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
