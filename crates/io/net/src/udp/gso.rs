//! What a socket has learned about UDP segmentation offload on its paths.

use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU32, Ordering::Relaxed};

/// The kernel sends no more segments in one message (`UDP_MAX_SEGMENTS` of older kernels).
pub(super) const MAX_SEGMENTS: usize = 64;
/// Payload bytes of one segmented message, with room for the headers the kernel counts in.
pub(super) const MAX_GROUP: usize = 65_000;
/// Every path carries datagrams of this size (RFC 8200 §5: 1280 with the headers off), so a
/// refusal below it is a matter of one odd path and not remembered.
const SAFE_SEGMENT: u16 = 1232;
/// A remembered size limit is given up after so many datagrams were kept apart by it.
const RETRY_AFTER: u32 = 4096;

/// Interior state of a socket; atomics only so that the socket may be shared, all relaxed.
#[derive(Debug)]
pub(super) struct GsoState {
    enabled: AtomicBool,
    /// Largest segment that may be merged. The kernel refuses segments that do not fit the path
    /// MTU with EINVAL, and each refusal costs a system call.
    limit: AtomicU16,
    kept_apart: AtomicU32,
}

impl Default for GsoState {
    fn default() -> Self {
        Self {
            enabled: AtomicBool::new(true),
            limit: AtomicU16::new(u16::MAX),
            kept_apart: AtomicU32::new(0),
        }
    }
}

impl GsoState {
    pub(super) fn set_enabled(&self, enabled: bool) {
        self.enabled.store(enabled, Relaxed);
        self.limit.store(u16::MAX, Relaxed);
    }

    /// Whether a message of `segments` segments of `size` may go out as one.
    #[inline]
    pub(super) fn allows(&self, size: u16, segments: usize) -> bool {
        if !self.enabled.load(Relaxed) {
            return false;
        }
        if size <= self.limit.load(Relaxed) {
            return true;
        }
        let kept = self
            .kept_apart
            .load(Relaxed)
            .saturating_add(segments as u32);
        if kept >= RETRY_AFTER {
            self.limit.store(u16::MAX, Relaxed);
            self.kept_apart.store(0, Relaxed);
            return true;
        }
        self.kept_apart.store(kept, Relaxed);
        false
    }

    /// Notes that the kernel refused a message of segments of `size`.
    pub(super) fn refused(&self, errno: i32, size: u16) {
        match errno {
            // No checksum offload on the device, or no such option: true for every send.
            libc::EIO | libc::ENOPROTOOPT | libc::EOPNOTSUPP => self.enabled.store(false, Relaxed),
            _ if size > SAFE_SEGMENT => {
                self.limit.fetch_min(size - 1, Relaxed);
            }
            _ => {}
        }
    }

    /// Whether `errno` on a segmented message means that its segments may pass one by one.
    pub(super) fn is_refusal(errno: i32) -> bool {
        matches!(
            errno,
            libc::EINVAL | libc::EIO | libc::EMSGSIZE | libc::EOPNOTSUPP | libc::ENOPROTOOPT
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_without_offload_turns_it_off_for_good() {
        for errno in [libc::EIO, libc::ENOPROTOOPT, libc::EOPNOTSUPP] {
            let state = GsoState::default();
            assert!(state.allows(100, 2));
            state.refused(errno, 100);
            assert!(!state.allows(100, 2));
        }
    }

    #[test]
    fn a_refused_size_is_tried_again_after_a_while() {
        let state = GsoState::default();
        state.refused(libc::EINVAL, 1400);
        assert!(state.allows(1399, 64) && !state.allows(1400, 64));
        let waited = (0..1000).take_while(|_| !state.allows(1400, 64)).count();
        assert_eq!(waited, RETRY_AFTER as usize / 64 - 2);
        assert!(state.allows(u16::MAX, 1));
    }
}
