//! The calls of a test: how those went that were made, and those still to be made.
//!
//! It outlives the work on it: a test that runs out of time, or is interrupted, is told as far as it came.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::call::{Call, Run, Verdict};

#[derive(Debug, Default)]
pub(super) struct Ledger {
    pages: Mutex<Pages>,
}

#[derive(Debug, Default)]
struct Pages {
    done: Vec<Run>,
    /// In the order in which they are made.
    open: VecDeque<Call>,
}

impl Ledger {
    pub(super) fn plan(&self, calls: &[Call]) {
        self.lock().open.extend(calls.iter().cloned());
    }

    /// How the next of the planned calls went.
    pub(super) fn record(&self, run: Run) {
        let mut pages = self.lock();
        pages.open.pop_front();
        pages.done.push(run);
    }

    /// How all went so far.
    pub(super) fn is_good(&self) -> bool {
        super::report::is_good(&self.lock().done)
    }

    /// All calls in their order.
    pub(super) fn close(&self) -> Vec<Run> {
        let mut pages = self.lock();
        let open = std::mem::take(&mut pages.open).into_iter().map(|call| Run {
            call,
            verdict: Verdict::NotRun,
        });
        let mut runs = std::mem::take(&mut pages.done);
        runs.extend(open);
        runs
    }

    fn lock(&self) -> MutexGuard<'_, Pages> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
