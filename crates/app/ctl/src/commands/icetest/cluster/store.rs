//! Objects in the API server, and which of them are ours.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use stunner_cluster::{ClusterError, Kind, Objects, Selection};

use crate::failure::Failure;

/// For one answer of the API server. A test asks for a dozen things, one after another, and again when it cleans up.
const PATIENCE: Duration = Duration::from_secs(10);

/// Where an object is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Name {
    pub(super) kind: Kind,
    pub(super) namespace: Option<String>,
    pub(super) name: String,
}

impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = &self.kind;
        match &self.namespace {
            Some(namespace) => write!(f, "{kind} {namespace}/{}", self.name),
            None => write!(f, "{kind} {}", self.name),
        }
    }
}

/// The API server as the test uses it.
pub(super) struct Store {
    objects: Objects,
    /// In the order they were made. A name stands here before the request is sent: a request that is cut short by a
    /// signal may have been obeyed.
    made: Mutex<Vec<Name>>,
}

impl Store {
    pub(super) fn of(objects: Objects) -> Self {
        Store {
            objects: objects.within(PATIENCE),
            made: Mutex::default(),
        }
    }

    pub(super) fn objects(&self) -> &Objects {
        &self.objects
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
        self.note(&name);
        let namespace = name.namespace.as_deref();
        let created = self.objects.create(&name.kind, namespace, &object).await;
        created.map_err(|error| {
            // What the API server refused was not made, and what somebody else has made is not ours to remove.
            if error.is_refusal() {
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
    pub(super) async fn find(&self, name: &Name) -> Result<Option<Value>, Failure> {
        let namespace = name.namespace.as_deref();
        let found = self.objects.get(&name.kind, namespace, &name.name).await;
        found.map_err(|error| failed("get", name, &error))
    }

    /// Deletes an object, if it exists. Nobody waits for calls of a test to end.
    pub(super) async fn delete(&self, name: &Name) -> Result<(), Failure> {
        let namespace = name.namespace.as_deref();
        let deleted = self.objects.delete_now(&name.kind, namespace, &name.name);
        let deleted = deleted.await;
        deleted.map_err(|error| failed("delete", name, &error))?;
        self.forget(name);
        Ok(())
    }

    /// All objects of a kind in the test's namespace.
    pub(super) async fn list(&self, kind: &Kind, namespace: &str) -> Vec<Value> {
        let all = Selection::default();
        let listed = self.objects.list(kind, Some(namespace), all).await;
        listed.unwrap_or_default()
    }
}

/// A kind that the test makes or looks at.
pub(super) fn kind(api_version: &str, kind: &str) -> Kind {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    Kind::new(group, version, kind, &plural(kind))
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
        return Err(Failure::new(
            "the test is broken: an object without a name",
            "please report it with the command line",
        ));
    };
    Ok(Name {
        kind: self::kind(&version, &kind),
        namespace: text(&object["metadata"]["namespace"]),
        name,
    })
}

fn failed(verb: &str, name: &Name, error: &ClusterError) -> Failure {
    let hint = match error {
        ClusterError::Forbidden { resource, .. } => Some(format!(
            "the test needs the right to {verb} {resource}; an administrator of the cluster has it"
        )),
        ClusterError::Refused { code: 409, .. } => {
            Some("somebody else has made it meanwhile; does another test run?".to_owned())
        }
        error => error.hint(),
    };
    Failure::Problem {
        error: format!("cannot {verb} {name}: {error}").into(),
        hint,
    }
}

/// `metadata.name`, for messages.
pub(super) fn called(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
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
            let (group, _) = version.split_once('/').unwrap_or_default();
            let resource = match group.is_empty() {
                true => plural.to_owned(),
                false => format!("{plural}.{group}"),
            };
            assert_eq!(self::kind(version, kind).resource(), resource);
            assert_eq!(self::kind(version, kind).api_version(), version);
        }
    }
}
