//! TURN REST credentials: user names that carry their expiry, and the passwords that go with them.

#![forbid(unsafe_code)]
