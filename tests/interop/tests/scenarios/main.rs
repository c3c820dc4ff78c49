//! The running server through its life: starting, reloading, refusing, reporting, draining. Real sockets, real time; what
//! needs a clock is tested with a virtual one in `stunner-turn`.

mod command_line;
mod drain;
mod drained_ports;
mod limits;
mod observe;
mod origins;
mod quiet;
mod recorded_frames;
mod reload_auth;
mod reload_listeners;
mod reload_policy;
mod rounds;
mod tcp_relay;
mod versions_apart;
