//! Brings one unit to what is wanted, part by part. A part that fails does not hold up the others.

use serde_json::Value;
use stunner_api::gateway::RouteStatus;
use stunner_translate::{ObjectKey, ObjectKind, Unit, Workload};
use tokio::time::Instant;

use super::apply::apply;
use super::desired::Desired;
use super::error::WriteError;
use super::events::{self, Events};
use super::owner::Owner;
use super::progress::{Part, PartProgress, Progress};
use super::status::{self, Status};
use super::writer::{Setup, Wanted};
use super::{gateway, release};

/// What all writes share.
pub(super) struct Context {
    pub(super) setup: Setup,
    pub(super) events: Events,
}

/// Gives the time at which what failed is to be tried again.
pub(super) async fn write(
    context: &Context,
    unit: &Unit,
    wanted: &Wanted,
    progress: &mut Progress,
) -> Option<Instant> {
    match (unit, wanted) {
        (Unit::Class(name), Wanted::Plan(plan)) => {
            if let Some(plan) = plan.classes.get(name) {
                for workload in &plan.workloads {
                    class_workload(context, name, workload, progress).await;
                }
                status::write(context, &Status::Class(name, &plan.status), progress).await;
            }
        }
        // Its ConfigMap and its status stay as they are.
        (Unit::Class(_), Wanted::Gone) => {}
        (Unit::Gateway(name), Wanted::Plan(plan)) => {
            if let Some(plan) = plan.gateways.get(name) {
                gateway::write(context, name, plan, progress).await;
            }
        }
        (Unit::Gateway(name), Wanted::Gone) => release::gateway(context, name, progress).await,
        (Unit::Route(kind, name), wanted) => {
            let nothing = RouteStatus::default();
            let ours = match wanted {
                Wanted::Plan(plan) => plan.routes.get(&(*kind, name.clone())),
                Wanted::Gone => None,
            };
            let ours = ours.map_or(&nothing, |route| &route.status);
            status::write(context, &Status::Route(*kind, name, ours), progress).await;
        }
    }
    progress.retry()
}

async fn class_workload(
    context: &Context,
    class: &str,
    workload: &Workload,
    progress: &mut Progress,
) {
    let Some(desired) = desired(workload) else {
        return;
    };
    let part = progress.part(Part::Workload(desired.kind, desired.name.clone()));
    if part.must_wait(&desired.body, Instant::now()) {
        return;
    }
    let began = Instant::now();
    let result = apply(context, Owner::Class, &desired, part).await;
    let what = format!("{:?} {}", desired.kind, desired.name);
    settle(context, part, &desired.body, &what, began, result.as_ref());
    if let Err(error) = result
        && error.is_refusal()
    {
        let key = ObjectKey::new(ObjectKind::GatewayClass, "", class);
        let uid = context.setup.live.object(&key);
        let uid = uid.and_then(|object| object.metadata().uid.clone());
        let regarding = events::class(class, &uid.unwrap_or_default());
        let reason = format!("{:?}Refused", desired.kind);
        let note = explain(&error, &desired);
        context.events.warning(&regarding, &reason, &note).await;
    }
}

/// What a refusal means, in words for the user.
pub(super) fn explain(error: &WriteError, desired: &Desired) -> String {
    match error {
        WriteError::Taken => format!(
            "there is a {:?} {} that is not ours; delete it, or choose another name",
            desired.kind, desired.name
        ),
        other => other.to_string(),
    }
}

pub(super) fn desired(workload: &Workload) -> Option<Desired> {
    Desired::of(workload)
        .inspect_err(|error| tracing::error!(scope = "writer", %error, "an object cannot be written as JSON"))
        .ok()
}

/// Remembers how a part went, counts it and logs a failure.
pub(super) fn settle<T>(
    context: &Context,
    part: &mut PartProgress,
    value: &Value,
    what: &str,
    began: Instant,
    result: Result<T, &WriteError>,
) {
    let metrics = &context.setup.metrics;
    metrics.updated(result.is_ok(), began.elapsed());
    match result {
        Ok(_) if part.is_contested(value, Instant::now()) => {
            tracing::warn!(
                scope = "writer",
                object = what,
                "somebody else keeps changing what is written here; it is put right less often"
            );
            part.failed(value, Instant::now());
        }
        Ok(_) => {
            if part.has_failed() {
                tracing::info!(scope = "writer", object = what, "written after failures");
            }
            part.succeeded();
        }
        Err(error) => {
            if part.has_failed() {
                tracing::debug!(scope = "writer", object = what, %error, "a write failed again");
            } else {
                tracing::warn!(scope = "writer", object = what, %error, "a write failed, it is tried again");
            }
            part.failed(value, Instant::now());
        }
    }
}
