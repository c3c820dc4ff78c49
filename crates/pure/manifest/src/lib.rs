//! Kubernetes manifests from text, with what is wrong with them and where.

#![forbid(unsafe_code)]
