//! Config discovery: the plain port as the original has it, and a TLS port for dataplanes that show who they are.

mod authority;
mod origin;
mod servers;
mod token;

pub use authority::{Authority, AuthorityError, Unavailable, obtain};
pub use origin::{access, advertised_host};
pub use servers::{BoundServers, CdsError, RunningServers, Tls};
pub use token::TokenReviewer;
