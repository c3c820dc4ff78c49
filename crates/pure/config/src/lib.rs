//! The dataplane configuration: its model, its reader, and the questions asked of it.
//!
//! **What it is.** A pure library that turns configuration text (YAML or JSON, schema `v1` or `v1alpha1`) into a
//! validated, defaulted and normalised [`Config`], says everything that is wrong with the text and where
//! ([`Problem`]), tells what changed between two configs ([`diff::Changes`]), and compiles the routes of a listener
//! into a lookup that decides which peers a client may reach ([`admission::Admission`]).
//!
//! **What it is not.** It opens no file and no socket and reads no environment: the environment is an argument.
//! It does not judge whether a certificate is usable, which takes a TLS library, nor does it resolve names.
//!
//! Start at [`parse`], [`Config`] and [`admission::Admission`]. [`documents`] takes several configs apart that are one
//! text, [`uri`] reads TURN URIs, [`status`] renders the config for everybody's eyes.

#![forbid(unsafe_code)]

pub mod admission;
pub mod diff;
mod json;
mod model;
mod problem;
mod read;
mod split;
pub mod status;
pub mod uri;
mod zero;

pub use model::{
    Admin, ApiVersion, Auth, AuthMethod, Cluster, ClusterKind, Config, DnsEndpoint, Endpoint,
    EndpointError, HttpEndpoint, HttpEndpointError, HttpHost, License, Listener, OffloadEngine,
    PeerTransport, Pem, PortRange, PortRangeError, Protocol, RelayAddresses, SecretPem, defaults,
};
pub use problem::{Problem, Severity};
pub use read::{ParseOptions, Parsed, parse, parse_with};
pub use split::documents;
pub use zero::bootstrap;
