//! The operator's writer against a real API server: what it sends, what it leaves alone, and what becomes of it.
//!
//! Only the API server knows what server-side apply does with an object, so these cases cannot be told from mocks.

mod adoption;
mod apply;
mod dispatch;
mod objects;
mod refusal;
mod release;
mod scaling;
mod status;
mod translated;
mod world;

#[path = "../../../../crates/pure/translate/tests/support/mod.rs"]
mod manifests;
