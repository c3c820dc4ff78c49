use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use tracing::{Level, Metadata};

/// How many lines per second one place in the code may log for one scope. Errors are never held back.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub warn: u32,
    pub info: u32,
    pub debug: u32,
    pub trace: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            warn: 20,
            info: 50,
            debug: 200,
            trace: 1000,
        }
    }
}

impl Limits {
    fn of(&self, level: &Level) -> u32 {
        match *level {
            Level::ERROR => u32::MAX,
            Level::WARN => self.warn,
            Level::INFO => self.info,
            Level::DEBUG => self.debug,
            Level::TRACE => self.trace,
        }
    }
}

const SLOTS: usize = 1024;

/// A fixed table of one-second budgets, keyed by call site and scope.
///
/// Lock-free where it matters: the log call of a shard takes no lock unless it is the first one held back in its
/// second. Two noisy places that hash to one slot share its budget, which is harmless.
#[derive(Debug)]
pub(super) struct Limiter {
    limits: Limits,
    epoch: Instant,
    slots: Box<[Slot]>,
}

#[derive(Debug, Default)]
struct Slot {
    /// The second in the upper half, the lines of that second in the lower.
    window: AtomicU64,
    held_back: AtomicU64,
    what: Mutex<Option<HeldBack>>,
}

/// Lines that were not written, and where they would have come from.
#[derive(Clone, Debug)]
pub(super) struct HeldBack {
    pub(super) metadata: &'static Metadata<'static>,
    pub(super) scope: String,
    pub(super) count: u64,
}

impl Limiter {
    pub(super) fn new(limits: Limits) -> Self {
        Limiter {
            limits,
            epoch: Instant::now(),
            slots: (0..SLOTS).map(|_| Slot::default()).collect(),
        }
    }

    /// Whether this event may be written; if not, it has been counted.
    pub(super) fn admit(&self, metadata: &'static Metadata<'static>, scope: &str) -> bool {
        self.admit_at(self.epoch.elapsed().as_secs() as u32, metadata, scope)
    }

    fn admit_at(&self, second: u32, metadata: &'static Metadata<'static>, scope: &str) -> bool {
        let limit = self.limits.of(metadata.level());
        if limit == u32::MAX {
            return true;
        }
        let hash =
            BuildHasherDefault::<DefaultHasher>::default().hash_one((metadata.callsite(), scope));
        let slot = &self.slots[hash as usize % SLOTS];
        let taken = slot.window.fetch_update(Relaxed, Relaxed, |window| {
            let count = if (window >> 32) as u32 == second {
                window as u32
            } else {
                0
            };
            (count < limit).then(|| (u64::from(second) << 32) | u64::from(count + 1))
        });
        if taken.is_err() && slot.held_back.fetch_add(1, Relaxed) == 0 {
            let mut what = slot.what.lock().unwrap_or_else(PoisonError::into_inner);
            *what = Some(HeldBack {
                metadata,
                scope: scope.to_owned(),
                count: 0,
            });
        }
        taken.is_ok()
    }

    /// What was held back since the last call.
    pub(super) fn take_held_back(&self) -> Vec<HeldBack> {
        let mut all = Vec::new();
        for slot in self
            .slots
            .iter()
            .filter(|slot| slot.held_back.load(Relaxed) > 0)
        {
            // The place is written after the first count; until then the count waits for the next call.
            let Some(what) = slot
                .what
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take()
            else {
                continue;
            };
            all.push(HeldBack {
                count: slot.held_back.swap(0, Relaxed),
                ..what
            });
        }
        all
    }
}
