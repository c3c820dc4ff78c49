//! Gateway API objects in, dataplane configurations, workloads and statuses out.
//!
//! **What it is.** A pure function from a [`Snapshot`] of the world to a [`Plan`]: what every Gateway's dataplane is to
//! run, which Kubernetes objects are to exist, and what every object's status is to say. It is total (a broken object
//! becomes a condition on that object, never an error of the whole) and deterministic (the same world gives the same
//! bytes, whatever order it was learned in).
//!
//! **What it is not.** It reads no clock and no environment and talks to no API server; it does not decide whether a
//! write is needed.
//!
//! **The unit is one object.** A [`Unit`] (a class, a Gateway or a route) is translated from what it depends on, and
//! the whole is the union of its units. [`Snapshot::apply`] and [`Snapshot::remove`] say which units a change touches,
//! so that the cost of a change does not grow with the world.

#![forbid(unsafe_code)]

mod address;
mod admin;
mod attach;
mod auth;
mod backend;
mod class;
mod condition;
mod context;
mod farewell;
#[cfg(test)]
mod fixture;
mod gateway;
mod grants;
mod inputs;
mod key;
mod last_good;
mod legacy;
mod listener;
#[cfg(test)]
mod manifests;
mod merge;
mod metadata;
mod options;
pub mod overview;
mod ownership;
mod plan;
mod pod;
mod route;
mod secret;
mod service;
mod settings;
mod snapshot;
#[cfg(test)]
#[path = "../tests/support/mod.rs"]
mod support;
mod tls;
mod translate;
mod workload;

// What tests inside and outside the crate share names it as those outside do.
#[cfg(test)]
extern crate self as stunner_translate;

pub use auth::{AuthError, auth_problem, auth_secret_problem};
pub use farewell::farewell;
pub use key::{Object, ObjectKey, ObjectKind, RouteKind, Unit};
pub use last_good::{Certificate, EffectiveConfig, LastGood};
pub use listener::listener_protocol;
pub use merge::{merge_class_status, merge_gateway_status, merge_route_status};
pub use plan::{ClassPlan, GatewayPlan, Plan, RoutePlan, Workload, WorkloadKind};
pub use settings::{CdsAccess, GatewayApi, Mode, ReferenceGrants, Settings};
pub use snapshot::{Dirty, Snapshot, WriteFailure};
pub use tls::{CertificateError, certificate_problem};
pub use translate::{translate, translate_units};
