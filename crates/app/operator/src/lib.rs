//! The gateway operator: Gateway API objects in, running gateways out.

#![forbid(unsafe_code)]

pub mod runtime;
pub mod write;
