//! Scenarios of the TURN server machine on a virtual clock.
//!
//! Each file is one topic. [`world::World`] plays the runtime: it owns the clock, opens pretended relay ports and keeps
//! what the server wants done. [`client::TestClient`] composes requests and answers challenges.

mod allocate;
mod auth;
mod auth_live;
mod binding;
mod channels;
mod client;
mod data;
mod drain;
mod expiry;
mod families;
mod guests;
mod hygiene;
mod listeners;
mod model;
mod pair;
mod permissions;
mod policy;
mod refresh;
mod speed;
mod tcp;
mod tcp_bind;
mod timers;
mod world;
