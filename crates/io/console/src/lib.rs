//! The web console: one page, and the API behind it.

#![forbid(unsafe_code)]
