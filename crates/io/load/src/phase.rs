//! How far a session has come.

/// In this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// Has a socket; nothing was sent.
    New,
    /// The connection or the handshake is under way.
    Connecting,
    /// Connected.
    Connected,
    /// The Allocate request is under way.
    Allocating,
    /// Has a relayed address.
    Allocated,
    /// The ChannelBind request is under way.
    Binding,
    /// Has a channel.
    Bound,
    /// The first packets to the peer are under way.
    Greeting,
    /// Packets pass.
    Ready,
    /// The last Refresh is under way.
    Releasing,
    /// Over: released, refused or lost.
    Over,
}
