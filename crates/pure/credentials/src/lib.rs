//! TURN REST credentials: user names that carry their expiry, and the passwords that go with them.
//!
//! **What it is.** The one place that knows the format of draft-uberti-behave-turn-rest: a user name `EXPIRY:USER` or a
//! bare `EXPIRY` in UNIX seconds, and as password the base64 form of HMAC-SHA1 over the whole name under a shared
//! secret. Servers read names with [`expiry`] and [`user_id`] and prove them with [`password`]; whoever hands out
//! credentials calls [`Credential::of`], which also knows the fixed pair of static authentication, or [`mint`].
//! [`Secret`] is for those who keep one.
//!
//! **What it is not.** It has no clock: the time is an argument. It decides nothing about who gets a credential, nor,
//! on the server, how long a name may still have to live.

#![forbid(unsafe_code)]

mod mint;
mod secret;
mod username;

pub use mint::{Credential, mint, mint_bare, password};
pub use secret::Secret;
pub use username::{MAX_USERNAME, UserError, check_user, expiry, user_id};
