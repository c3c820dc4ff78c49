//! What all servers of a process share: fixed in size, without locks.

use super::nonce::NonceMaker;
use super::rate::RateTable;

/// The nonce key and the rate limit for clients that have not authenticated.
#[derive(Debug)]
pub struct Shared {
    pub(super) nonces: NonceMaker,
    pub(super) unauthenticated: RateTable,
}

impl Shared {
    /// `key` has to be random. `unauth_per_second` is how many challenges and refusals one source (IPv4 address, IPv6
    /// /64) gets per second; 0 sets no limit.
    pub fn new(key: [u8; 32], unauth_per_second: u32) -> Self {
        let nonces = NonceMaker::new(key);
        let table_key = nonces.derive(b"rate table", 0);
        Shared {
            nonces,
            unauthenticated: RateTable::new(table_key, unauth_per_second),
        }
    }
}
