//! Time as an argument.

/// The moment of an event, as the caller's clocks show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Now {
    /// Milliseconds of a monotonic clock. All shards of a process share its origin, because nonces carry it.
    pub millis: u64,
    /// Seconds since the UNIX epoch, for credentials that expire at a wall-clock time.
    pub unix: u64,
}
