//! Every example folder as its reader runs it: it starts, relays what it promises and nothing else, and stops cleanly.
//!
//! Each runs on a host of its own (a network namespace), on the ports of its manifests, with clients on another host.
//! [`documented`] runs the commands that READMEs and guides show.

mod documented;
mod dual_stack;
mod ephemeral_credentials;
mod every;
mod media_server;
mod public_turn;
mod quickstart;
mod stage;
mod tls_443;
