//! What the suites of the tools share.

#![forbid(unsafe_code)]
