//! One client's way to the peer: an allocation, what goes through it, and a new allocation when it is lost.
//!
//! [`Route`] knows the way and opens [`Link`]s; a [`Session`] carries one client's traffic over one link after the other.
//! Where the traffic comes from and goes to is the business of the local ends: to a session it is a queue ([`Inbox`])
//! and an [`Outlet`].

mod activity;
mod backoff;
mod datagrams;
mod outage;
mod outlet;
mod route;
mod seldom;
mod session;
mod statistics;
mod stream;
mod watch;

pub use outlet::Outlet;
pub use route::{Link, OpenError, Route, Settings};
pub use seldom::Seldom;
pub use session::{End, Inbox, Origin, Session, SessionError, inbox};
pub use statistics::{Counts, Statistics};
