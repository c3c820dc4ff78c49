//! What the suites of `stunner` share.

#![forbid(unsafe_code)]
