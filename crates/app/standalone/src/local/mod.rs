//! The local infrastructure: what a cluster would provide for Gateways, provided by this host.
//!
//! A cluster gives a Gateway a Service with an address and pods of its own. Here [`HostAddresses`] are the addresses
//! of this host, [`on_host`] and [`service`] let it carry Gateways as a load balancer would, [`localise`] moves a
//! configuration to the host's addresses and ports, [`decide`] settles who gets a port that two Gateways want, and
//! [`Fleet`] runs one dataplane per Gateway. [`overlay`] says on status what became of it.

mod expose;
mod fleet;
mod host;
mod localise;
mod overlay;
mod ports;
#[cfg(test)]
mod tests;

pub use expose::{on_host, service};
pub use fleet::{DRAIN_TICK, Fleet, FleetOptions, Member, Roster, Round, Sessions};
pub use host::HostAddresses;
pub use localise::{Localised, localise};
pub use overlay::overlay;
pub use ports::{Socket, Trouble, Want, decide};
