use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::{Counter, Gauge, LocalHistogram, Registry, operator_names as names};

/// Every series of the operator. Cloning gives another handle to the same series.
#[derive(Clone, Debug)]
pub struct Operator {
    registry: Registry,
    /// A change that started a window.
    pub events_passed: Counter,
    /// A change that joined a window.
    pub events_throttled: Counter,
    pub renders: Counter,
    pub rendered_units: Counter,
    render_time: Arc<Mutex<LocalHistogram>>,
    pub generation: Gauge,
    pub generation_last_acked: Gauge,
    updates_done: Counter,
    updates_failed: Counter,
    update_errors: Counter,
    update_time: Arc<Mutex<LocalHistogram>>,
    pub pending_retries: Gauge,
    pub ready: Gauge,
    pub leader: Gauge,
    pub operator_loop: Gauge,
    pub renderer_loop: Gauge,
    pub updater_loop: Gauge,
}

/// Which part of an object was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteScope {
    Spec,
    Status,
}

impl WriteScope {
    fn as_str(self) -> &'static str {
        match self {
            WriteScope::Spec => "spec",
            WriteScope::Status => "status",
        }
    }
}

/// What was done with an object of the API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Attempt,
    Created,
    Updated,
    Deleted,
    UpdatedStatus,
    None,
    Suppressed,
    RetryPass,
    Error,
}

impl Operation {
    fn as_str(self) -> &'static str {
        match self {
            Operation::Attempt => "attempt",
            Operation::Created => "created",
            Operation::Updated => "updated",
            Operation::Deleted => "deleted",
            Operation::UpdatedStatus => "updatedStatus",
            Operation::None => "none",
            Operation::Suppressed => "suppressed",
            Operation::RetryPass => "retryPass",
            Operation::Error => "error",
        }
    }
}

impl Operator {
    pub fn new(version: &str) -> Self {
        let registry = Registry::new(1);
        registry.gauge(&names::BUILD_INFO, &[version]).set(1);
        let local = |family| Arc::new(Mutex::new(registry.histogram(family, &[]).writer(0)));
        Operator {
            events_passed: registry.counter(&names::RECONCILE_EVENTS, &["passed"]),
            events_throttled: registry.counter(&names::RECONCILE_EVENTS, &["throttled"]),
            renders: registry.counter(&names::RENDER, &[]),
            rendered_units: registry.counter(&names::RENDERED_UNITS, &[]),
            render_time: local(&names::RENDER_TIME),
            generation: registry.gauge(&names::GENERATION, &[]),
            generation_last_acked: registry.gauge(&names::GENERATION_LAST_ACKED, &[]),
            updates_done: registry.counter(&names::UPDATE, &["success"]),
            updates_failed: registry.counter(&names::UPDATE, &["error"]),
            update_errors: registry.counter(&names::UPDATE_ERRORS, &[]),
            update_time: local(&names::UPDATE_TIME),
            pending_retries: registry.gauge(&names::PENDING_RETRIES, &[]),
            ready: registry.gauge(&names::READY, &[]),
            leader: registry.gauge(&names::LEADER, &[]),
            operator_loop: registry.gauge(&names::OPERATOR_LOOP, &[]),
            renderer_loop: registry.gauge(&names::RENDERER_LOOP, &[]),
            updater_loop: registry.gauge(&names::UPDATER_LOOP, &[]),
            registry,
        }
    }

    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    pub fn rendered(&self, took: Duration) {
        self.renders.add(1);
        observe(&self.render_time, took);
    }

    /// One object or status was brought to what translation asks for, or could not be.
    pub fn updated(&self, done: bool, took: Duration) {
        if done {
            self.updates_done.add(1);
        } else {
            self.updates_failed.add(1);
            self.update_errors.add(1);
        }
        observe(&self.update_time, took);
    }

    pub fn operation(&self, kind: &str, operation: Operation, scope: WriteScope) {
        self.registry
            .counter(
                &names::RESOURCE_OPERATIONS,
                &[kind, operation.as_str(), scope.as_str()],
            )
            .add(1);
    }

    pub fn watch_failed(&self, kind: &str) {
        self.registry
            .counter(&names::WATCH_FAILURES, &[kind])
            .add(1);
    }

    pub fn unreadable(&self, kind: &str) {
        self.registry
            .counter(&names::UNREADABLE_OBJECTS, &[kind])
            .add(1);
    }

    pub fn render(&self) -> String {
        self.registry.render()
    }
}

/// Marks a loop as alive.
pub fn mark_active(heartbeat: &Gauge) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    heartbeat.set(now.map_or(0, |now| now.as_secs()));
}

fn observe(histogram: &Mutex<LocalHistogram>, took: Duration) {
    // Counts are whole whatever happened to the thread that held the lock.
    let histogram = histogram.lock().unwrap_or_else(PoisonError::into_inner);
    histogram.observe_seconds(took);
}
