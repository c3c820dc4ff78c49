//! The local infrastructure: what a cluster would do for a Gateway, done on this host.
