//! Numbers that only have to differ: transaction ids of indications, connection ids. They guard nothing.

use stunner_stun::TransactionId;

/// SplitMix64.
#[derive(Debug)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Random(seed)
    }

    #[inline]
    pub(super) fn u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(super) fn transaction(&mut self) -> TransactionId {
        let mut id = [0; 12];
        id[..8].copy_from_slice(&self.u64().to_be_bytes());
        id[8..].copy_from_slice(&(self.u64() as u32).to_be_bytes());
        TransactionId(id)
    }
}
