//! The service from a request to its answer, without a network: rules, recordings, callers and documents.

mod callers;
mod deployment;
mod document;
mod recorded;
mod reference;
mod reviews;
mod rules;
mod service;
