//! Objects in the API server, and which of them are ours.

use std::sync::{Mutex, MutexGuard, PoisonError};

use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind, PostParams};
use kube::{Client, ResourceExt};
use serde_json::Value;

use crate::failure::Failure;

/// Where an object is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Name {
    pub(super) resource: ApiResource,
    pub(super) namespace: Option<String>,
    pub(super) name: String,
}

impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = &self.resource.kind;
        match &self.namespace {
            Some(namespace) => write!(f, "{kind} {namespace}/{}", self.name),
            None => write!(f, "{kind} {}", self.name),
        }
    }
}

/// The API server as the test uses it.
pub(super) struct Store {
    client: Client,
    /// In the order they were made. A name stands here before the request is sent: a request that is cut short by a
    /// signal may have been obeyed.
    made: Mutex<Vec<Name>>,
}

impl Store {
    pub(super) fn of(client: Client) -> Self {
        Store {
            client,
            made: Mutex::default(),
        }
    }

    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    pub(super) fn made(&self) -> Vec<Name> {
        self.lock().clone()
    }

    pub(super) fn has_made_something(&self) -> bool {
        !self.made().is_empty()
    }

    pub(super) async fn create_all(&self, objects: Vec<Value>) -> Result<(), Failure> {
        for object in objects {
            self.create(object).await?;
        }
        Ok(())
    }

    async fn create(&self, object: Value) -> Result<(), Failure> {
        let name = name_of(&object)?;
        let object: DynamicObject = serde_json::from_value(object).map_err(internal)?;
        self.note(&name);
        let api = self.api(&name);
        let created = api.create(&PostParams::default(), &object).await;
        created.map(drop).map_err(|error| {
            // What the API server refused was not made, and what somebody else has made is not ours to remove.
            if matches!(&error, kube::Error::Api(status) if status.code < 500) {
                self.forget(&name);
            }
            failed("create", &name, &error)
        })
    }

    fn note(&self, name: &Name) {
        self.lock().push(name.clone());
    }

    fn forget(&self, name: &Name) {
        self.lock().retain(|known| known != name);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Name>> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The object, if it exists.
    pub(super) async fn find(&self, name: &Name) -> Result<Option<DynamicObject>, Failure> {
        let found = self.api(name).get_opt(&name.name).await;
        found.map_err(|error| failed("read", name, &error))
    }

    /// Deletes an object, if it exists.
    pub(super) async fn delete(&self, name: &Name) -> Result<(), Failure> {
        // Nobody waits for calls of a test to end.
        let params = DeleteParams::background().grace_period(0);
        match self.api(name).delete(&name.name, &params).await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            Err(error) => Err(failed("delete", name, &error)),
        }
    }

    /// All objects of a kind in the test's namespace.
    pub(super) async fn list(&self, resource: &ApiResource, namespace: &str) -> Vec<DynamicObject> {
        let api: Api<DynamicObject> =
            Api::namespaced_with(self.client.clone(), namespace, resource);
        let listed = api.list(&Default::default()).await;
        listed.map(|list| list.items).unwrap_or_default()
    }

    fn api(&self, name: &Name) -> Api<DynamicObject> {
        match &name.namespace {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &name.resource),
            None => Api::all_with(self.client.clone(), &name.resource),
        }
    }
}

/// A kind that the test makes or looks at.
pub(super) fn resource(api_version: &str, kind: &str) -> ApiResource {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let gvk = GroupVersionKind::gvk(group, version, kind);
    ApiResource::from_gvk_with_plural(&gvk, &plural(kind))
}

fn plural(kind: &str) -> String {
    let lower = kind.to_lowercase();
    match lower.ends_with('s') {
        true => format!("{lower}es"),
        false => format!("{lower}s"),
    }
}

fn name_of(object: &Value) -> Result<Name, Failure> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let (Some(version), Some(kind), Some(name)) = (
        text(&object["apiVersion"]),
        text(&object["kind"]),
        text(&object["metadata"]["name"]),
    ) else {
        return Err(internal("an object without a name"));
    };
    Ok(Name {
        resource: resource(&version, &kind),
        namespace: text(&object["metadata"]["namespace"]),
        name,
    })
}

fn internal(what: impl std::fmt::Display) -> Failure {
    Failure::new(
        format!("the test is broken: {what}"),
        "please report it with the command line",
    )
}

pub(super) fn failed(verb: &str, name: &Name, error: &kube::Error) -> Failure {
    let plural = &name.resource.plural;
    let group = &name.resource.group;
    match error {
        kube::Error::Api(status) => {
            let hint = match status.code {
                401 => "log in again, or give another --context, --user or --token".to_owned(),
                403 => format!(
                    "the test needs the right to {verb} {plural}{}{group}; an administrator of the cluster has it",
                    if group.is_empty() { "" } else { "." }
                ),
                404 => "is the kind installed? see deploy/crds".to_owned(),
                409 => "somebody else has made it meanwhile; does another test run?".to_owned(),
                _ => "the API server says why".to_owned(),
            };
            Failure::new(format!("cannot {verb} {name}: {}", status.message), hint)
        }
        error => Failure::new(
            format!("cannot {verb} {name}: {}", innermost(error)),
            "check that the API server can be reached, and --kubeconfig and --context",
        ),
    }
}

/// The cause itself says more than the words of the libraries around it.
fn innermost(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}

/// `metadata.name`, for messages.
pub(super) fn called(object: &DynamicObject) -> String {
    object.name_any()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_become_the_names_that_the_api_server_knows() {
        for (version, kind, plural) in [
            (
                "gateway.networking.k8s.io/v1",
                "GatewayClass",
                "gatewayclasses",
            ),
            ("stunner.l7mp.io/v1", "UDPRoute", "udproutes"),
            ("v1", "Service", "services"),
        ] {
            let resource = resource(version, kind);
            assert_eq!(resource.plural, plural);
            assert_eq!(resource.api_version, version);
        }
    }
}
