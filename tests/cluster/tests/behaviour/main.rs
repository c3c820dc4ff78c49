//! What the operator promises beyond the Go system's suites: it writes only what differs, harms nothing that serves,
//! tells what is wrong, and keeps to what is its own.

mod authority;
mod features;
mod grants;
mod last_good;
mod late_crd;
mod namespaced;
mod nodes;
mod odd_objects;
mod outage;
mod ownership;
mod quiet;
mod replicas;
mod reported;
mod site;
mod tls_discovery;
mod workload_kind;
