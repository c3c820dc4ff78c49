//! A WebRTC peer that echoes what it gets on data channels.

#![forbid(unsafe_code)]
