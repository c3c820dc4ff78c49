//! The way to the API server: who we are, where it is, and what its refusals mean.

mod connect;
mod namespace;
mod patience;
mod ready;
mod refusal;

pub use connect::{ConnectError, Connection, connect};
pub use namespace::{make_namespace, operator_namespace};
pub use patience::patiently;
pub use ready::wait_until_ready;
pub use refusal::Refusal;
