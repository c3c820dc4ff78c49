//! Dataplanes inside another program: several in one process, without signals and without a config origin.
//!
//! Each [`Instance`] has its own shards, sessions and metrics. What the host has only once is in a [`Host`] that they
//! share: listening ports, so that no dataplane's clients reach another's listeners as peers, relay ports and open
//! files. `stunnerd` itself is made of the same parts.

mod aggregate;
mod events;
mod host;
mod instance;
mod options;
mod plane;
mod prefix;
mod relays;
mod routers;

pub use self::host::Host;
pub(crate) use self::host::{Claim, Member, Neighbours};
pub use self::instance::{Applied, Instance};
pub use self::options::Options;
pub use self::options::defaults;
pub(crate) use self::plane::Plane;
pub(crate) use self::relays::LiveRelays;
pub use self::routers::{Dataplanes, admin_router, aggregate, health_router, metrics_router};
pub use crate::control::{PrepareError, PrepareFault};
