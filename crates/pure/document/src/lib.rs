//! YAML and JSON texts as trees in which every node knows its place.

#![forbid(unsafe_code)]
