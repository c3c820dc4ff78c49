//! The pods of a Gateway's dataplane.
