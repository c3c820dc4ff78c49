//! What the operator promises beyond the Go system's suites: it writes only what differs, harms nothing that serves,
//! tells what is wrong, and keeps to what is its own.

mod authority;
mod churn;
mod command_line;
mod discovery;
mod edits;
mod features;
mod frozen;
mod grants;
mod last_good;
mod late_crd;
mod leadership;
mod namespaced;
mod nodes;
mod odd_objects;
mod outage;
mod ownership;
mod privacy;
mod quiet;
mod replicas;
mod reported;
mod site;
mod tls_discovery;
mod workload_kind;
