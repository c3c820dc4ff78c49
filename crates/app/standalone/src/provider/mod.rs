//! The file provider: follows manifests and keeps the world they describe.
