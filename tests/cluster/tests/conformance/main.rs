//! The cases of the Go operator's integration suites, run against ours, each under its old id.
//!
//! The cases of one context build on each other, so a context is one test and a case is a step of it; a step that fails
//! is reported with its id and the next ones still run. Where we differ on purpose, the step asserts what we do and says
//! why. `ids` checks that no case was forgotten.

mod expect;
mod finalizer;
mod fixtures;
mod ids;
mod legacy;
mod legacy_attachment;
mod legacy_dynamic;
mod legacy_endpoints;
mod managed;
mod managed_deployment;
mod managed_endpoints;
mod managed_many;
mod managed_routes;
mod managed_service;
mod world;
