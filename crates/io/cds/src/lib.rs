//! Where a dataplane gets its configuration from, and how it hears of changes.
//!
//! **What it is.** The client side of config origins: a file, or a config discovery service (CDS) spoken to over
//! HTTP and WebSocket, in the clear or over TLS. Texts are read, parsed and validated here, so that only usable
//! configurations come out; what is wrong with the others is logged with its place. The other side, a discovery
//! service over a store of configurations, is in [`server`].
//!
//! **What it is not.** It makes no configuration and applies none, and the client keeps none but the last good one
//! (optionally on disk). Losing an origin never takes a configuration back.
//!
//! Programs that show configurations rather than serve them speak with a discovery service one exchange at a time:
//! [`get_over`] and [`Session`], over a connection of [`connect`] or one they have from elsewhere.
//!
//! The central types are [`Origin`] (where), [`load_once`] and [`watch`] (how), and [`Update`] (what comes out); of
//! the service, [`server::ConfigStore`] and [`server::Server`].

#![forbid(unsafe_code)]

mod backoff;
mod cache;
mod connect;
mod error;
mod file;
mod file_watch;
mod id;
mod interpret;
mod load;
mod options;
mod origin;
mod outbox;
mod rest;
pub mod server;
mod session;
mod subscription;
mod trust;

pub use backoff::Backoff;
pub use cache::ConfigCache;
pub use connect::{Stream, connect};
pub use error::LoadError;
pub use id::{ConfigId, default_id, hostname};
pub use load::{Update, fetch, load_once, watch};
pub use options::{Env, Judge, Notice, Observer, Options, Timing, process_env};
pub use origin::{CdsServer, DEFAULT_CDS_PORT, Origin, OriginError};
pub use outbox::Provenance;
pub use rest::get_over;
pub use session::Session;
