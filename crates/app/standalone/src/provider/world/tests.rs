//! World tests.
