//! The operator's web console against a real API server: what it shows to whom, and what it does with whose rights.

mod dataplane;
mod hierarchy;
mod strangers;
mod visitors;
mod world;
