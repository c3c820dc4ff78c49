//! Takes back what is no longer to be.
//!
//! Only objects that are ours are deleted, and only in the very version that was looked at, so that nothing which
//! changed hands in between is hit.

use kube::api::{Api, DeleteParams, DynamicObject, Preconditions, PropagationPolicy};
use kube::core::ApiResource;
use serde_json::Value;
use stunner_api::NamespacedName;
use stunner_api::gateway::Gateway;
use stunner_telemetry::metrics::{Operation, WriteScope};
use stunner_translate::WorkloadKind;
use tokio::time::Instant;

use super::apply::{fetch, is_older, version};
use super::error::{TIMEOUT, WriteError, bounded};
use super::kind::{api, name_for_gateway, object_kind};
use super::owner::{Owner, is_ours};
use super::progress::{Part, PartProgress, Progress};
use super::unit::{Context, settle};

const KINDS: [WorkloadKind; 4] = [
    WorkloadKind::Service,
    WorkloadKind::Deployment,
    WorkloadKind::DaemonSet,
    WorkloadKind::ConfigMap,
];
/// How often an object is read again because somebody else was faster.
const TRIES: usize = 5;

/// A Gateway that is gone, or that is no longer ours.
///
/// Garbage collection would delete the objects of one that is gone as well, only later.
pub(super) async fn gateway(context: &Context, name: &NamespacedName, progress: &mut Progress) {
    let has_objects = KINDS
        .into_iter()
        .any(|kind| may_exist(context, name, kind, progress));
    let has_last_good = context.setup.last_good.stored(name).is_some();
    if !has_objects && !has_last_good {
        return;
    }
    let began = Instant::now();
    let is_released = match context.setup.live.gateway_uid(name) {
        Some(uid) => Ok(was_ours(context, name, &uid, progress)),
        None => is_gone(context, name).await,
    };
    match is_released {
        Ok(true) => {}
        Ok(false) => return,
        Err(error) => {
            let part = progress.part(Part::LastGood);
            let what = format!("Gateway {name}");
            settle::<()>(context, part, &Value::Null, &what, began, Err(&error));
            return;
        }
    }
    for kind in KINDS {
        workload(context, name, kind, progress).await;
    }
    let result = context.setup.last_good.delete(name).await;
    let part = progress.part(Part::LastGood);
    let what = "last good inputs";
    settle(context, part, &Value::Null, what, began, result.as_ref());
}

/// Whether a Gateway that is not ours was ours before. Another operator of our kind may look after it, and its objects
/// look like ours: that is no reason to delete them.
fn was_ours(context: &Context, name: &NamespacedName, uid: &str, progress: &Progress) -> bool {
    let stored = context.setup.last_good.stored(name);
    progress.was_ours || stored.is_some_and(|stored| stored.gateway_uid == uid)
}

/// That the engine sees no Gateway is not enough: the API server itself has to say that there is none.
async fn is_gone(context: &Context, name: &NamespacedName) -> Result<bool, WriteError> {
    let gateways: Api<DynamicObject> = Api::namespaced_with(
        context.setup.client.clone(),
        &name.namespace,
        &ApiResource::erase::<Gateway>(&()),
    );
    let answer = tokio::time::timeout(TIMEOUT, gateways.get(&name.name)).await;
    match answer {
        // A server that does not know the kind says 404 too, but does not name the object.
        Ok(Err(kube::Error::Api(status))) if status.is_not_found() => {
            let details = status.details.as_ref();
            Ok(details.is_some_and(|details| details.name == name.name))
        }
        Ok(Ok(_)) => Ok(false),
        Ok(Err(error)) => match WriteError::from(error) {
            // In a namespace that is none of our business.
            WriteError::Refused(_) => Ok(false),
            error => Err(error),
        },
        Err(_) => Err(WriteError::Unavailable("no answer in time".to_owned())),
    }
}

/// Whether the cache has it, or cannot have it yet.
fn may_exist(
    context: &Context,
    gateway: &NamespacedName,
    kind: WorkloadKind,
    progress: &mut Progress,
) -> bool {
    let name = name_for_gateway(kind, gateway);
    context.setup.live.workload(kind, &name).is_some()
        || progress.part(Part::Workload(kind, name)).written.is_some()
}

/// The object of one kind that a Gateway has.
pub(super) async fn workload(
    context: &Context,
    gateway: &NamespacedName,
    kind: WorkloadKind,
    progress: &mut Progress,
) {
    if !may_exist(context, gateway, kind, progress) {
        return;
    }
    let name = name_for_gateway(kind, gateway);
    let part = progress.part(Part::Workload(kind, name.clone()));
    let began = Instant::now();
    if part.must_wait(&Value::Null, began) {
        return;
    }
    let result = delete(context, gateway, kind, &name, part).await;
    let what = format!("{kind:?} {name}");
    settle(context, part, &Value::Null, &what, began, result.as_ref());
}

async fn delete(
    context: &Context,
    gateway: &NamespacedName,
    kind: WorkloadKind,
    name: &NamespacedName,
    part: &mut PartProgress,
) -> Result<(), WriteError> {
    let count = |operation| {
        let kind = object_kind(kind).to_string();
        let metrics = &context.setup.metrics;
        metrics.operation(&kind, operation, WriteScope::Spec);
    };
    let api = api(&context.setup.client, kind, &name.namespace);
    let mut live = match context.setup.live.workload(kind, name) {
        Some(live) if !is_older(version(&live), part.written.as_deref()) => Some(live),
        _ => fetch(&api, &name.name).await?,
    };
    for _ in 0..TRIES {
        let Some(object) = &live else {
            part.written = None;
            return Ok(());
        };
        if !is_ours(object, Owner::Gateway(&gateway.name)) {
            count(Operation::Suppressed);
            part.written = None;
            return Ok(());
        }
        if object.pointer("/metadata/deletionTimestamp").is_some() {
            return Ok(());
        }
        let params = DeleteParams {
            preconditions: Some(Preconditions {
                uid: object
                    .pointer("/metadata/uid")
                    .and_then(Value::as_str)
                    .map(str::to_owned),
                resource_version: version(object).map(str::to_owned),
            }),
            propagation_policy: Some(PropagationPolicy::Background),
            ..DeleteParams::default()
        };
        match bounded(api.delete(&name.name, &params)).await {
            Ok(_) => {
                tracing::info!(scope = "writer", ?kind, object = %name, "deleted");
                count(Operation::Deleted);
                part.written = None;
                return Ok(());
            }
            Err(WriteError::NotFound) => {
                part.written = None;
                return Ok(());
            }
            Err(WriteError::Conflict) => count(Operation::RetryPass),
            Err(error) => {
                count(Operation::Error);
                return Err(error);
            }
        }
        live = fetch(&api, &name.name).await?;
    }
    Err(WriteError::Conflict)
}
