//! Brings one object to what is asked for.

use kube::api::{Api, DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};
use stunner_api::names::FIELD_MANAGER;
use stunner_telemetry::metrics::{Operation, WriteScope};
use stunner_translate::{WorkloadKind, WriteFailure};

use super::desired::Desired;
use super::differs::{Difference, difference};
use super::error::{WriteError, bounded};
use super::kind::api;
use super::owner::{Owner, is_ours, without_gateway_config};
use super::progress::{PartProgress, RefusedExternalIps};
use super::takeover::taken_over;
use super::unit::Context;
use super::{ports, replicas};

/// How often an object is read again because somebody else was faster.
const TRIES: usize = 5;

/// Gives what is worth saying although the object was written: the API server takes it only without `externalIPs`.
pub(super) async fn apply(
    context: &Context,
    owner: Owner<'_>,
    desired: &Desired,
    part: &mut PartProgress,
) -> Result<Option<WriteFailure>, WriteError> {
    if let Some(refused) = &part.external_ips {
        if desired.body == refused.with || desired.body == refused.without {
            let failure = external_ips_refused(&refused.message);
            write(context, owner, &desired.without_external_ips(), part).await?;
            return Ok(Some(failure));
        }
        part.external_ips = None;
    }
    match write(context, owner, desired, part).await {
        Err(WriteError::Refused(message)) if desired.has_external_ips() => {
            let without = desired.without_external_ips();
            write(context, owner, &without, part).await?;
            let failure = external_ips_refused(&message);
            part.external_ips = Some(RefusedExternalIps {
                with: desired.body.clone(),
                without: without.body,
                message,
            });
            Ok(Some(failure))
        }
        Ok(()) => Ok(None),
        Err(error) => Err(error),
    }
}

fn external_ips_refused(message: &str) -> WriteFailure {
    WriteFailure {
        message: message.to_owned(),
        external_ips_refused: true,
    }
}

async fn write(
    context: &Context,
    owner: Owner<'_>,
    desired: &Desired,
    part: &mut PartProgress,
) -> Result<(), WriteError> {
    let kind = desired.kind;
    let object = Target {
        context,
        api: api(&context.setup.client, kind, &desired.name.namespace),
        desired,
    };
    object.count(Operation::Attempt);
    let mut live = read(context, kind, &object.api, desired, part).await;
    for _ in 0..TRIES {
        let outcome = match live {
            Ok(live) => object.bring_about(owner, live, part).await,
            Err(error) => Err(error),
        };
        match outcome {
            Err(WriteError::Conflict | WriteError::NotFound) => object.count(Operation::RetryPass),
            other => {
                object.count(match &other {
                    Ok(operation) => *operation,
                    Err(WriteError::Taken) => Operation::Suppressed,
                    Err(_) => Operation::Error,
                });
                return other.map(drop);
            }
        }
        live = fetch(&object.api, &desired.name.name).await;
    }
    object.count(Operation::Error);
    Err(WriteError::Conflict)
}

/// From the cache, unless it has nothing or is older than our last write.
async fn read(
    context: &Context,
    kind: WorkloadKind,
    api: &Api<DynamicObject>,
    desired: &Desired,
    part: &PartProgress,
) -> Result<Option<Value>, WriteError> {
    match context.setup.live.workload(kind, &desired.name) {
        Some(live) if !is_older(version(&live), part.written.as_deref()) => Ok(Some(live)),
        _ => fetch(api, &desired.name.name).await,
    }
}

/// Resource versions of one object grow (KEP-5504).
pub(super) fn is_older(live: Option<&str>, written: Option<&str>) -> bool {
    let number = |text: &str| text.parse::<u64>().ok();
    let (Some(live), Some(written)) = (live, written) else {
        return false;
    };
    match (number(live), number(written)) {
        (Some(live), Some(written)) => live < written,
        _ => live != written,
    }
}

pub(super) async fn fetch(
    api: &Api<DynamicObject>,
    name: &str,
) -> Result<Option<Value>, WriteError> {
    match bounded(api.get_opt(name)).await? {
        Some(object) => to_value(&object).map(Some),
        None => Ok(None),
    }
}

pub(super) fn version(object: &Value) -> Option<&str> {
    object.pointer("/metadata/resourceVersion")?.as_str()
}

fn to_value(object: &DynamicObject) -> Result<Value, WriteError> {
    serde_json::to_value(object).map_err(|error| WriteError::Unavailable(error.to_string()))
}

struct Target<'a> {
    context: &'a Context,
    api: Api<DynamicObject>,
    desired: &'a Desired,
}

impl Target<'_> {
    async fn bring_about(
        &self,
        owner: Owner<'_>,
        live: Option<Value>,
        part: &mut PartProgress,
    ) -> Result<Operation, WriteError> {
        let Some(mut live) = live else {
            let live = self.apply(None, part).await?;
            self.set_replicas(&live, part).await?;
            return Ok(Operation::Created);
        };
        if live.pointer("/metadata/deletionTimestamp").is_some() {
            return Err(WriteError::Terminating);
        }
        if !is_ours(&live, owner) {
            return Err(WriteError::Taken);
        }
        let mut operation = Operation::None;
        if let Some(patch) = self.adoption(&live, owner) {
            tracing::info!(scope = "writer", kind = ?self.desired.kind, object = %self.desired.name, "taking over an object");
            live = self.merge(&patch, part).await?;
            operation = Operation::Updated;
        }
        if let Some(why) = difference(&self.desired.body, &live) {
            tracing::debug!(scope = "writer", kind = ?self.desired.kind, object = %self.desired.name, %why, "applying");
            if !matches!(why, Difference::Excess(_)) {
                live = self.apply(Some(&live), part).await?;
            }
            // Applying does not take away what others put there or hold on to.
            if ports::has_excess(&self.desired.body, &live) {
                let patch = ports::replace(&self.desired.body, &live);
                live = self.merge(&patch, part).await?;
                live = self.apply(Some(&live), part).await?;
            }
            operation = Operation::Updated;
        }
        if self.set_replicas(&live, part).await? {
            operation = Operation::Updated;
        }
        Ok(operation)
    }

    /// What makes an object of the Go system ours, as a merge patch.
    fn adoption(&self, live: &Value, owner: Owner<'_>) -> Option<Value> {
        let managed_fields = taken_over(live, &self.desired.body);
        let references = match owner {
            Owner::Class => without_gateway_config(live),
            Owner::Gateway(_) => None,
        };
        if managed_fields.is_none() && references.is_none() {
            return None;
        }
        let mut patch = if self.desired.kind == WorkloadKind::Deployment {
            // In the same request: once the object counts as ours, a missing record would mean something else.
            replicas::record(live, self.desired.replicas)
        } else {
            json!({"metadata": {"resourceVersion": version(live)}})
        };
        if let Some(fields) = managed_fields {
            patch["metadata"]["managedFields"] = Value::Array(fields);
        }
        if let Some(references) = references {
            patch["metadata"]["ownerReferences"] = Value::Array(references);
        }
        Some(patch)
    }

    /// The UID makes sure that nothing but the object that was looked at is changed.
    async fn apply(
        &self,
        live: Option<&Value>,
        part: &mut PartProgress,
    ) -> Result<Value, WriteError> {
        let mut body = self.desired.body.clone();
        if let Some(uid) = live.and_then(|live| live.pointer("/metadata/uid")) {
            body["metadata"]["uid"] = uid.clone();
        }
        let params = PatchParams::apply(FIELD_MANAGER).force();
        self.send(&params, &Patch::Apply(&body), part).await
    }

    async fn merge(&self, patch: &Value, part: &mut PartProgress) -> Result<Value, WriteError> {
        let params = PatchParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PatchParams::default()
        };
        self.send(&params, &Patch::Merge(patch), part).await
    }

    async fn send(
        &self,
        params: &PatchParams,
        patch: &Patch<&Value>,
        part: &mut PartProgress,
    ) -> Result<Value, WriteError> {
        let object = bounded(self.api.patch(&self.desired.name.name, params, patch)).await?;
        let object = to_value(&object)?;
        part.has_written = true;
        part.written = version(&object).map(str::to_owned);
        Ok(object)
    }

    async fn set_replicas(
        &self,
        live: &Value,
        part: &mut PartProgress,
    ) -> Result<bool, WriteError> {
        if self.desired.kind != WorkloadKind::Deployment {
            return Ok(false);
        }
        match replicas::patch(live, self.desired.replicas) {
            Some(patch) => self.merge(&patch, part).await.map(|_| true),
            None => Ok(false),
        }
    }

    fn count(&self, operation: Operation) {
        let kind = super::kind::object_kind(self.desired.kind).to_string();
        self.context
            .setup
            .metrics
            .operation(&kind, operation, WriteScope::Spec);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_that_has_not_seen_our_last_write_is_not_trusted() {
        assert!(!is_older(Some("99"), None));
        assert!(!is_older(Some("99"), Some("99")));
        assert!(!is_older(Some("99"), Some("98")));
        assert!(is_older(Some("99"), Some("100")));
        assert!(is_older(Some("99"), Some("opaque")));
        assert!(!is_older(None, Some("1")));
    }
}
