//! A TURN client with sockets: UDP, TCP, TLS and DTLS around the machine of `stunner-turn`.

#![forbid(unsafe_code)]
