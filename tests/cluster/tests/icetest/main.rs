//! `stunnerctl icetest` against a real API server and operator: what it makes, calls through it, and that nothing is
//! left.
//!
//! The pods that it asks for are processes of this machine, see [`node`].

mod calls;
mod node;
mod refusals;
mod stunnerctl;
