//! The write side: brings the objects and statuses of the cluster to what a plan says. Only the leader writes.
//!
//! **What it is.** A [`Writer`] takes plans unit by unit and keeps, for each unit, only the newest; it writes what
//! differs and nothing else, tries again what failed, and tells the engine by [`Feedback`] what the API server refuses.
//! It starts from [`Live`], the engine's view of the cluster, and asks the API server where that view has nothing.
//!
//! **What it is not.** It does not decide what is to be: that is translation. It never deletes for want of inputs: only
//! what a plan retires, and what belonged to a Gateway that is gone or no longer ours.
//!
//! **One owner for every field.** Objects are written by server-side apply, so the API server knows which fields are
//! ours, and a field that a plan no longer has goes away without touching those of others.

mod apply;
mod back_off;
mod desired;
mod differs;
mod error;
mod events;
mod gateway;
mod kind;
mod last_good;
mod live;
mod managed_fields;
mod owner;
mod ports;
mod progress;
mod quantity;
mod release;
mod replicas;
mod route_apis;
mod status;
mod status_overlay;
mod takeover;
mod unit;
mod writer;

pub use last_good::{LastGoodError, LastGoodSecrets};
pub use live::Live;
pub use route_apis::RouteApis;
pub use writer::{Batch, Feedback, Setup, Writer};
