//! The provider: files in, the objects of a small world out.
//!
//! [`Follower`] watches the files and reads what has changed and come to rest. [`World`] is the set of objects that the
//! files define: it keeps what was good while a file is broken, settles who defines an object that is there twice, and
//! adds what a cluster would (namespaces, endpoints, UIDs).

mod follow;
mod world;

pub use follow::{Follower, News};
pub use world::{Change, FileId, Happened, Source, Told, World};
