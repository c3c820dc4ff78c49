//! Allocations per user, exact across shards.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Allocations of one guest: a browser makes one for each network that it has, and may try some twice.
const GUEST_LIMIT: u32 = 32;

/// Counts live allocations per user id and refuses those above the limit.
///
/// A grant is taken before the relay socket opens and given back exactly once, when the allocation
/// ends or its socket could not be opened, so the count cannot drift on error paths.
#[derive(Debug, Default)]
pub struct UserQuota {
    limit: AtomicU32,
    allocations_by_user: Mutex<HashMap<Arc<str>, u32>>,
}

impl UserQuota {
    /// Changes the limit; 0 means no limit. Live allocations above a lowered limit stay.
    pub fn set_limit(&self, limit: u32) {
        self.limit.store(limit, Ordering::Relaxed);
    }

    /// Takes one allocation for `user`, or says that the quota is used up.
    pub fn acquire(&self, user: &Arc<str>) -> bool {
        let limit = match self.limit.load(Ordering::Relaxed) {
            0 => u32::MAX,
            limit => limit,
        };
        self.acquire_below(user, limit)
    }

    /// The same for a guest, who has a limit also where users have none.
    pub fn acquire_for_guest(&self, user: &Arc<str>) -> bool {
        let limit = match self.limit.load(Ordering::Relaxed) {
            0 => GUEST_LIMIT,
            limit => limit.min(GUEST_LIMIT),
        };
        self.acquire_below(user, limit)
    }

    fn acquire_below(&self, user: &Arc<str>, limit: u32) -> bool {
        let mut counts = self.lock();
        let count = counts.entry(Arc::clone(user)).or_insert(0);
        if *count >= limit {
            if *count == 0 {
                counts.remove(user);
            }
            return false;
        }
        *count += 1;
        true
    }

    /// Gives one allocation of `user` back.
    pub fn release(&self, user: &Arc<str>) {
        let mut counts = self.lock();
        if let Some(count) = counts.get_mut(user) {
            *count -= 1;
            if *count == 0 {
                counts.remove(user);
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Arc<str>, u32>> {
        self.allocations_by_user
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_has_a_limit_where_users_have_none() {
        let quota = UserQuota::default();
        let guest: Arc<str> = "guest".into();
        assert!((0..GUEST_LIMIT).all(|_| quota.acquire_for_guest(&guest)));
        assert!(!quota.acquire_for_guest(&guest));
        quota.release(&guest);
        assert!(quota.acquire_for_guest(&guest));
        quota.set_limit(1);
        assert!(quota.acquire_for_guest(&"other".into()));
        assert!(!quota.acquire_for_guest(&"other".into()));
    }

    #[test]
    fn refuses_above_the_limit_and_grants_again_after_a_release() {
        let quota = UserQuota::default();
        quota.set_limit(2);
        let user: Arc<str> = "alice".into();
        assert!(quota.acquire(&user));
        assert!(quota.acquire(&user));
        assert!(!quota.acquire(&user));
        quota.release(&user);
        assert!(quota.acquire(&user));
    }

    #[test]
    fn a_lowered_limit_keeps_what_is_there() {
        let quota = UserQuota::default();
        let user: Arc<str> = "alice".into();
        assert!((0..5).all(|_| quota.acquire(&user)));
        quota.set_limit(1);
        assert!(!quota.acquire(&user));
        (0..5).for_each(|_| quota.release(&user));
        assert!(quota.acquire(&user));
    }

    #[test]
    fn an_ended_user_leaves_no_entry_behind() {
        let quota = UserQuota::default();
        let user: Arc<str> = "alice".into();
        quota.acquire(&user);
        quota.release(&user);
        quota.release(&user);
        assert!(quota.lock().is_empty());
    }
}
