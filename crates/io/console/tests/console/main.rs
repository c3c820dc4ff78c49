//! The console as a browser or a stranger meets it. No network: requests go to the router itself.

mod fake;
mod page;
mod router;
