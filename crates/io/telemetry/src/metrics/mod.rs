//! Prometheus series with per-writer cells.
//!
//! A shard must be able to count a packet without a locked instruction and without sharing a cache line with another
//! shard. So every series has one cell per writer thread, written with a plain load and store by that thread alone,
//! plus one shared cell for everybody else; a scrape adds them up.

mod block;
mod exposition;
mod family;
mod handles;
mod merge;
pub mod names;
mod operator;
pub mod operator_names;
mod process;
mod reference;
mod registry;
mod stunnerd;
mod traffic;

pub use exposition::CONTENT_TYPE;
pub use family::{Family, Kind, Label, Merge};
pub use handles::{
    Counter, Gauge, Histogram, LabelledCounter, LabelledGauge, LocalCounter, LocalGauge,
    LocalHistogram,
};
pub use operator::{Operation, Operator, WriteScope, mark_active};
pub use reference::{operator_reference, reference};
pub use registry::Registry;
pub use stunnerd::{ShardMetrics, Stunnerd};
pub use traffic::{ClusterCells, ClusterIndex, ListenerCells, ListenerIndex, Totals};
