//! Logs and metrics, as users and their tooling see them.
//!
//! This crate owns two formats: the log line (text or JSON, filtered by scope) and the Prometheus text exposition.
//! It is deliberately not a tracing back-end: spans are ignored, nothing leaves the process but lines on standard
//! output, and it serves no HTTP (the dataplane does).
//!
//! Central types:
//! - [`logging::LogHandle`] changes the log spec of a running process;
//! - [`metrics::Registry`] holds the series, [`metrics::names`] is the one table that says which series exist;
//! - [`metrics::Stunnerd`] is the dataplane's set of handles, [`metrics::ShardMetrics`] what one shard writes to.

#![forbid(unsafe_code)]

pub mod logging;
pub mod metrics;
