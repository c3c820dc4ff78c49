//! `stunner`: the whole gateway from a folder of manifests, in one process.

#![forbid(unsafe_code)]
