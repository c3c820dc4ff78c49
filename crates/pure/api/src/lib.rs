//! Kubernetes objects: our custom resources and the parts of the Gateway API that are used.
//!
//! Types, names and schemas only: nothing here talks to a cluster, and nothing here decides what a
//! manifest means (that is `stunner-translate`). Central are the specs in [`v1`] and [`gateway`],
//! [`names`], which holds every name that other programs rely on, and [`crd`], which makes the
//! CustomResourceDefinitions from the types.
//!
//! **Readers are lenient.** Whatever an API server has stored must be readable, since one unreadable
//! object stops the watch of its whole kind: words of fixed sets are plain strings, every field may
//! be missing, unknown fields are ignored. What a value must look like is said by the schema, to
//! the person who writes it; what an odd stored value means is decided, and reported, by translation.

pub mod crd;
pub mod gateway;
pub mod install;
mod lenient;
pub mod names;
mod namespaced_name;
mod object;
pub mod v1;
pub mod v1alpha1;

pub use namespaced_name::{NamespacedName, ParseNamespacedNameError};
