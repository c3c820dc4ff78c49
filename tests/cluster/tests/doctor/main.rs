//! `stunnerctl doctor` against a real API server, a real operator and, where packets matter, a real dataplane: every
//! fault is made for real, and the hop with the fault must be the first one that is called dead.

mod control_plane;
mod network;
mod rights;
mod servers;
mod world;
