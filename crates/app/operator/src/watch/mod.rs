//! Watches: one task for each kind, namespace and name that is looked at.
//!
//! A task lists and watches, decodes and trims, and reports to the engine. It knows nothing of what the objects mean.
//! [`Wanted`] says which watches there are to be, [`Watches`] starts and ends their tasks.

mod decode;
mod raw;
mod running;
mod task;
mod trim;
mod wanted;

pub use decode::Unreadable;
pub use running::Watches;
pub use task::{Report, WatchEvent};
pub use wanted::{Need, Wanted, WatchKey, secret_watch, wanted};
