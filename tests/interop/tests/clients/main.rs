//! Foreign clients against the real server, one module each. What a client sends through the relay must come back.

mod aioice;
mod chromium;
mod coturn_tools;
mod discovery;
mod go_stunnerd;
mod go_turncat;
mod openssl_handshakes;
mod our_client;
mod pion;
