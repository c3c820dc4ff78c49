//! From a kubeconfig to the pods of a gateway, and to what they answer.
//!
//! **What it is.** All that the tools need to know about a cluster: which one is meant ([`Kubectl`], the flags and
//! rules of `kubectl`), who is who in it (the pods of gateways, of the config discovery service and of the
//! authentication service), a stream into any of them or to a plain address ([`Place`]), and on it HTTP ([`Http`]), the
//! config discovery service ([`Cds`]) and the admin API of dataplanes ([`Admin`]); beside them the API server's objects
//! of any kind ([`Objects`]). Servers learn from the API server whose a token is ([`TokenReviews`]).
//!
//! **What it is not.** It changes nothing in a cluster unless it is told to, prints nothing, and decides nothing about
//! what it reads.
//! Listeners' certificates in configurations are not judged: whoever shows a configuration need not be able to serve it.
//!
//! Everything that goes wrong is a [`ClusterError`], which says what to do about it in [`ClusterError::hint`].

#![forbid(unsafe_code)]

mod admin;
mod cds;
mod cluster;
mod error;
pub mod flags;
mod forward;
mod http;
mod kubeconfig;
mod kubectl;
pub mod metrics;
mod objects;
mod place;
mod pods;
mod query;
mod reviews;

/// The scope of its log lines, which tell of requests and hold no secrets.
const SCOPE: &str = "cluster";

pub use admin::{
    Admin, ClusterStatistics, Denial, Denials, Explain, Explanation, Filter, GatewayStatistics,
    Grounds, GuestServer, IceTest, ListenerStatistics, Session, SessionPeer, Sessions, Statistics,
    Volume,
};
pub use cds::{Cds, ConfigWatch, Discovered, WatchEvent};
pub use cluster::Cluster;
pub use error::ClusterError;
pub use flags::{AuthFlags, CdsFlags};
pub use forward::Forward;
pub use http::{Answer, Http};
pub use kubectl::Kubectl;
pub use metrics::Sample;
pub use objects::{Kind, Objects, Selection};
pub use place::{Place, Stream};
pub use pods::PodPlace;
pub use query::with_query;
pub use reviews::{TokenOwner, TokenReviews};
pub use stunner_cds::ConfigId;
pub use stunner_cds::server::Scope;
