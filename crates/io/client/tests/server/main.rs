//! The client against the real server, in one process.

mod certificates;
mod echo;
mod failures;
mod icmp;
mod lost;
mod redirects;
mod scripted;
mod tcp_peers;
mod world;
