//! TURN load: many sessions at a given rate, their loss and their latency.

#![forbid(unsafe_code)]
