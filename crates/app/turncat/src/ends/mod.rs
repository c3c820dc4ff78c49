//! The two ends of a tunnel as they are written on the command line: [`LocalEnd`] for clients of this host, and
//! [`PeerEnd`] behind the relay.

mod host_port;
mod local;
mod peer;

pub use host_port::{HostPort, HostPortError};
pub use local::{LocalEnd, LocalEndError};
pub use peer::{PeerEnd, PeerEndError, PeerTransport};
