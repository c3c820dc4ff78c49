//! Kubernetes manifests from text, with what is wrong with them and where.
//!
//! **What it is.** [`read`] turns the bytes of a file into the [`Manifest`]s that it holds, and says what breaks the
//! schema of its objects as a compiler would: place, field, what was expected, a hint. What an older
//! version wrote is read as the current one. [`check`] looks at many readings together and says what
//! no single document shows: references to nothing, objects and listeners that are there twice.
//!
//! **What it is not.** It opens no file, and it does not judge what only a cluster or a clock can tell. What objects mean is the
//! business of `stunner-translate`.
//!
//! **What breaks the schema is left out at the smallest place that leaves a valid object** (one prefix, one backend, one
//! optional field), else the whole object is; each time there is an error that says so. That goes for everything the schema of one
//! object can say: types, fields, patterns and ranges, prefixes of a StaticService, `port` and `endPort`. So [`check`] finds
//! only valid values and leaves such things alone.

#![forbid(unsafe_code)]

mod base64;
mod check;
mod problem;
mod read;
mod reading;
mod schema;

pub use check::check;
pub use problem::{Fault, Problem, Severity};
pub use read::{MAX_BYTES, read, too_large};
pub use reading::{Manifest, Reading};
