//! Real dataplanes fed by the operator: the Go `stunnerd` at the plain port, ours over TLS with the token of a
//! ServiceAccount. What counts is that traffic flows.

mod go_dataplane;
mod stage;
mod tls;
