//! The tools' way into a cluster, against a real API server: which cluster a kubeconfig and flags mean, whose rights
//! suffice for what, and what is reached through port-forwards.

mod dataplane;
mod discovery;
mod kubeconfig;
mod rights;
mod world;
