//! Statuses, of all kinds in one way: read, change what is ours, write with the version that was read.
//!
//! Not by server-side apply: `status.parents` of a route is one value for the API server, so applying our entries would
//! take away those of others.

use kube::api::{Api, DynamicObject, PostParams};
use kube::core::ApiResource;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use stunner_api::NamespacedName;
use stunner_api::gateway::{Gateway, GatewayClass, GatewayClassStatus, GatewayStatus, RouteStatus};
use stunner_api::names::{FIELD_MANAGER, condition};
use stunner_telemetry::metrics::{Operation, WriteScope};
use stunner_translate::{
    Object, ObjectKey, ObjectKind, RouteKind, merge_class_status, merge_gateway_status,
    merge_route_status,
};
use tokio::time::Instant;

use super::apply::is_older;
use super::error::{WriteError, bounded};
use super::events;
use super::progress::{Part, PartProgress, Progress};
use super::status_overlay::overlay;
use super::unit::{Context, settle};

/// How often an object is read again because somebody else was faster.
const TRIES: usize = 8;

/// What an object's status is to say.
#[derive(Debug)]
pub(super) enum Status<'a> {
    Class(&'a str, &'a GatewayClassStatus),
    /// With the Gateway's UID.
    Gateway(&'a NamespacedName, &'a str, &'a GatewayStatus),
    /// Our entries only.
    Route(RouteKind, &'a NamespacedName, &'a RouteStatus),
}

pub(super) async fn write(context: &Context, status: &Status<'_>, progress: &mut Progress) {
    let part = progress.part(Part::Status);
    let value = status.value();
    let began = Instant::now();
    if part.must_wait(&value, began) {
        return;
    }
    let count = |operation| {
        let kind = status.key().kind.to_string();
        let metrics = &context.setup.metrics;
        metrics.operation(&kind, operation, WriteScope::Status);
    };
    if is_as_cached(context, status, part) {
        count(Operation::None);
        part.succeeded();
        return;
    }
    count(Operation::Attempt);
    let result = put(context, status, part, &count).await;
    count(match &result {
        Ok(true) => Operation::UpdatedStatus,
        Ok(false) => Operation::None,
        Err(_) => Operation::Error,
    });
    let key = status.key();
    let what = format!("status of {} {}", key.kind, key.name);
    settle(context, part, &value, &what, began, result.as_ref());
}

/// Whether the status is there already, as far as the cache knows. One that has not seen our last write knows nothing.
fn is_as_cached(context: &Context, status: &Status<'_>, part: &PartProgress) -> bool {
    let cached = context.setup.live.object(&status.key());
    let version = cached
        .as_ref()
        .and_then(|cached| cached.metadata().resource_version.as_deref());
    if is_older(version, part.written.as_deref()) {
        return false;
    }
    let live = match cached {
        Some(Object::GatewayClass(object)) => to_value(object.status.as_ref()),
        Some(Object::Gateway(object)) => to_value(object.status.as_ref()),
        Some(Object::UdpRoute(object)) => to_value(object.status.as_ref()),
        Some(Object::OfficialUdpRoute(object) | Object::OfficialTcpRoute(object)) => {
            to_value(object.status.as_ref())
        }
        // A route that is gone.
        None => return matches!(status, Status::Route(_, _, ours) if ours.parents.is_empty()),
        Some(_) => return false,
    };
    let merged = live.and_then(|live| status.merged(live.as_ref(), context));
    matches!(merged, Ok(None))
}

/// Whether something was written.
async fn put(
    context: &Context,
    status: &Status<'_>,
    part: &mut PartProgress,
    count: &(dyn Fn(Operation) + Sync),
) -> Result<bool, WriteError> {
    let Some(api) = status.api(context) else {
        // The kind is not served any more.
        return Ok(false);
    };
    let name = status.key().name.name;
    for _ in 0..TRIES {
        let Some(mut object) = bounded(api.get_opt(&name)).await? else {
            return Ok(false);
        };
        if let Status::Gateway(_, uid, _) = status
            && object.metadata.uid.as_deref() != Some(uid)
        {
            // Another Gateway of that name, of which the engine will hear.
            return Ok(false);
        }
        let live = object.data.get("status").filter(|live| !live.is_null());
        let Some(merged) = status.merged(live, context)? else {
            return Ok(false);
        };
        let is_newly_programmed = !is_programmed(live) && is_programmed(Some(&merged));
        object.data["status"] = merged;
        let params = PostParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PostParams::default()
        };
        match bounded(api.replace_status(&name, &params, &object)).await {
            Ok(written) => {
                part.has_written = true;
                part.written = written.metadata.resource_version.clone();
                if let Some(version) = written.metadata.resource_version {
                    context.setup.live.wrote_status(&status.key(), version);
                }
                if let Status::Gateway(name, uid, _) = status
                    && is_newly_programmed
                {
                    let regarding = events::gateway(name, uid);
                    let note = "The Gateway has an address and its dataplane is configured.";
                    context.events.normal(&regarding, "Programmed", note).await;
                }
                return Ok(true);
            }
            Err(WriteError::NotFound) => return Ok(false),
            Err(WriteError::Conflict) => count(Operation::RetryPass),
            Err(error) => return Err(error),
        }
    }
    Err(WriteError::Conflict)
}

impl Status<'_> {
    fn key(&self) -> ObjectKey {
        let (kind, name) = match self {
            Status::Class(name, _) => {
                return ObjectKey::new(ObjectKind::GatewayClass, "", name);
            }
            Status::Gateway(name, ..) => (ObjectKind::Gateway, *name),
            Status::Route(kind, name, _) => (ObjectKind::Route(*kind), *name),
        };
        ObjectKey {
            kind,
            name: name.clone(),
        }
    }

    fn value(&self) -> Value {
        match self {
            Status::Class(_, status) => serde_json::to_value(status),
            Status::Gateway(_, _, status) => serde_json::to_value(status),
            Status::Route(_, _, status) => serde_json::to_value(status),
        }
        .unwrap_or_default()
    }

    fn api(&self, context: &Context) -> Option<Api<DynamicObject>> {
        let client = context.setup.client.clone();
        Some(match self {
            Status::Class(..) => Api::all_with(client, &ApiResource::erase::<GatewayClass>(&())),
            Status::Gateway(name, ..) => {
                Api::namespaced_with(client, &name.namespace, &ApiResource::erase::<Gateway>(&()))
            }
            Status::Route(kind, name, _) => {
                let resource = context.setup.route_apis.resource(*kind)?;
                Api::namespaced_with(client, &name.namespace, &resource)
            }
        })
    }

    /// The status to write; `None` when the live one is right.
    fn merged(&self, live: Option<&Value>, context: &Context) -> Result<Option<Value>, WriteError> {
        let now = jiff::Timestamp::now();
        match self {
            Status::Class(_, desired) => merge(live, |live| merge_class_status(live, desired, now)),
            Status::Gateway(_, _, desired) => {
                merge(live, |live| merge_gateway_status(live, desired, now))
            }
            Status::Route(_, _, ours) => merge(live, |live| {
                merge_route_status(live, ours, &context.setup.controller_name, now)
            }),
        }
    }
}

/// Merges in terms of the types that we know and keeps what they do not know.
fn merge<T: Serialize + DeserializeOwned>(
    live: Option<&Value>,
    merge: impl FnOnce(Option<&T>) -> Option<T>,
) -> Result<Option<Value>, WriteError> {
    let known: Option<T> = live
        .map(|live| serde_json::from_value(live.clone()))
        .transpose()
        .map_err(|error| WriteError::Refused(format!("its status is not readable: {error}")))?;
    let Some(merged) = merge(known.as_ref()) else {
        return Ok(None);
    };
    let merged = to_value(Some(&merged))?.unwrap_or_default();
    Ok(Some(match (live, to_value(known.as_ref())?) {
        (Some(live), Some(known)) => overlay(live, &known, merged),
        _ => merged,
    }))
}

fn to_value<T: Serialize>(status: Option<&T>) -> Result<Option<Value>, WriteError> {
    status
        .map(serde_json::to_value)
        .transpose()
        .map_err(|error| WriteError::Refused(error.to_string()))
}

fn is_programmed(status: Option<&Value>) -> bool {
    let conditions = status.and_then(|status| status.get("conditions")?.as_array());
    conditions
        .into_iter()
        .flatten()
        .any(|entry| entry["type"] == condition::PROGRAMMED && entry["status"] == condition::TRUE)
}
