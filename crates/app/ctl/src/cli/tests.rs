//! What can be said to `stunnerctl`.
