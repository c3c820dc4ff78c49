//! Tests of the operator against a real kube-apiserver and etcd.
//!
//! The library is the harness: [`Cluster`] starts the API server with the CRDs of one Gateway API release and ours,
//! [`Objects`] reads and writes objects as a user of the cluster would, [`Operator`] is the program under test,
//! [`cds`] watches what dataplanes are told, and [`audit`] tells who wrote what. It holds no product code and nothing
//! here is published. There are no nodes and no load balancers, and of a kubelet only what answers port-forwards
//! ([`Kubelet`]): tests write those parts of status themselves.

#![allow(
    clippy::missing_panics_doc,
    reason = "a harness panics to fail the test"
)]

pub mod audit;
mod binaries;
pub mod cds;
mod cluster;
mod console;
mod crds;
mod credentials;
mod eventually;
pub mod kinds;
mod kubelet;
pub mod manifests;
mod objects;
mod operator;
mod rights;
mod scratch;
mod shared;

pub use audit::{Mark, Write};
pub use cluster::{Cluster, User};
pub use console::Console;
pub use crds::GatewayApi;
pub use credentials::certificate;
pub use eventually::{PATIENCE, eventually, eventually_within, stays};
pub use interop_tests::need;
pub use kubelet::{Kubelet, own_address};
pub use objects::{Objects, Refused, parse};
pub use operator::{Operator, OperatorOptions, binary as operator_binary};
