//! Several dataplanes in one process, with real clients, peers and HTTP servers on loopback.

mod aggregate;
mod instances;
mod world;
