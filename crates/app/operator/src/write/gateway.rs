//! Everything that a Gateway has.

use serde_json::Value;
use stunner_api::NamespacedName;
use stunner_translate::{GatewayPlan, WorkloadKind, WriteFailure};
use tokio::time::Instant;

use super::apply::apply;
use super::desired::Desired;
use super::events;
use super::kind::name_for_gateway;
use super::owner::Owner;
use super::progress::{Part, PartProgress, Progress};
use super::release;
use super::status::{self, Status};
use super::unit::{Context, desired, explain, settle};
use super::writer::Feedback;

pub(super) async fn write(
    context: &Context,
    name: &NamespacedName,
    plan: &GatewayPlan,
    progress: &mut Progress,
) {
    progress.was_ours = true;
    // What pods may have to fall back to is stored before any pod depends on it.
    last_good(context, name, plan, progress).await;
    let workloads: Vec<Desired> = plan.workloads.iter().filter_map(desired).collect();
    for desired in &workloads {
        workload(context, name, plan, desired, progress).await;
    }
    for &kind in &plan.retired {
        release::workload(context, name, kind, progress).await;
    }
    progress.retain(|part| match part {
        Part::LastGood | Part::Status => true,
        Part::Workload(kind, object) => {
            let is_wanted = workloads
                .iter()
                .any(|desired| desired.kind == *kind && desired.name == *object);
            let is_retired =
                plan.retired.contains(kind) && *object == name_for_gateway(*kind, name);
            is_wanted || is_retired
        }
    });
    if let Some(status) = &plan.status {
        status::write(context, &Status::Gateway(name, &plan.uid, status), progress).await;
    }
}

async fn last_good(
    context: &Context,
    name: &NamespacedName,
    plan: &GatewayPlan,
    progress: &mut Progress,
) {
    let secrets = &context.setup.last_good;
    let part = progress.part(Part::LastGood);
    let began = Instant::now();
    let Some(last_good) = &plan.last_good else {
        // Of an earlier Gateway of that name.
        let stored = secrets.stored(name);
        if stored.is_some_and(|stored| stored.gateway_uid != plan.uid) {
            let result = secrets.delete(name).await;
            settle(
                context,
                part,
                &Value::Null,
                "last good inputs",
                began,
                result.as_ref(),
            );
        }
        return;
    };
    let value = serde_json::to_value(last_good).unwrap_or_default();
    if secrets.stored(name).as_deref() == Some(last_good) {
        part.succeeded();
        return;
    }
    if part.must_wait(&value, began) {
        return;
    }
    let result = secrets.store(name, last_good).await;
    settle(
        context,
        part,
        &value,
        "last good inputs",
        began,
        result.as_ref(),
    );
}

async fn workload(
    context: &Context,
    gateway: &NamespacedName,
    plan: &GatewayPlan,
    desired: &Desired,
    progress: &mut Progress,
) {
    let part = progress.part(Part::Workload(desired.kind, desired.name.clone()));
    let value = Value::from_iter([
        ("body", desired.body.clone()),
        ("replicas", desired.replicas.into()),
    ]);
    if part.must_wait(&value, Instant::now()) {
        return;
    }
    let began = Instant::now();
    let result = apply(context, Owner::Gateway(&gateway.name), desired, part).await;
    let what = format!("{:?} {}", desired.kind, desired.name);
    settle(context, part, &value, &what, began, result.as_ref());
    let failure = match result {
        Ok(failure) => failure,
        Err(error) if error.is_refusal() => Some(WriteFailure {
            message: explain(&error, desired),
            external_ips_refused: false,
        }),
        // It says nothing about the object.
        Err(_) => return,
    };
    report(context, gateway, plan, desired.kind, failure, part).await;
}

/// Tells the engine, and the user by an Event, if there is something new to tell.
async fn report(
    context: &Context,
    gateway: &NamespacedName,
    plan: &GatewayPlan,
    kind: WorkloadKind,
    failure: Option<WriteFailure>,
    part: &mut PartProgress,
) {
    if let Some(failure) = &failure {
        let regarding = events::gateway(gateway, &plan.uid);
        let reason = if failure.external_ips_refused {
            "ExternalIPsRefused".to_owned()
        } else {
            format!("{kind:?}Refused")
        };
        context
            .events
            .warning(&regarding, &reason, &failure.message)
            .await;
    }
    if part.reported.as_ref() != Some(&failure) {
        let feedback = Feedback {
            gateway: gateway.clone(),
            kind,
            failure: failure.clone(),
        };
        // The engine ends before the writer only when the process does.
        let _ = context.setup.feedback.send(feedback);
        part.reported = Some(failure);
    }
}
