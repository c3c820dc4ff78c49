//! A TURN client for tests, close to the wire: the test decides what is sent and sees every answer.
//!
//! [`TurnClient`] speaks over a [`link::Link`] of any transport. Its blocking calls suit scenario tests; the reload
//! storm drives many at once through [`TurnClient::start`] and [`TurnClient::poll`].

mod dtls;
mod link;
mod messages;
mod tls;
mod turn;

pub use link::{Link, LinkError, wait_readable};
pub use messages::{Credentials, Incoming, Response, long_term_key};
pub use turn::{Refusal, TurnClient};
