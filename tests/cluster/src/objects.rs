//! Reading and writing objects as a user of the cluster does, as plain JSON.

use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use kube::{Client, Error};
use serde_json::{Value, json};

use crate::kinds::Kind;

/// Who the tests are in `managedFields`. Server-side apply, so that a field left out of a later apply goes away.
const FIELD_MANAGER: &str = "cluster-tests";

/// What the API server said to a write that it did not take.
#[derive(Debug, Clone)]
pub struct Refused {
    pub code: u16,
    pub message: String,
}

/// Reads and writes with the rights of an administrator.
#[derive(Clone)]
pub struct Objects {
    client: Client,
}

impl std::fmt::Debug for Objects {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Objects")
    }
}

/// The documents of a YAML text.
#[track_caller]
pub fn parse(yaml: &str) -> Vec<Value> {
    let documents = serde_saphyr::from_multiple::<Value>(yaml)
        .unwrap_or_else(|error| panic!("not YAML: {error}\n{yaml}"));
    documents
        .into_iter()
        .filter(|document| !document.is_null())
        .collect()
}

impl Objects {
    pub fn new(client: Client) -> Self {
        Self { client }
    }

    pub fn client(&self) -> Client {
        self.client.clone()
    }

    fn api(&self, kind: Kind, namespace: &str) -> Api<DynamicObject> {
        self.api_of(&kind.resource(), kind.namespaced, namespace)
    }

    fn api_of(
        &self,
        resource: &kube::api::ApiResource,
        namespaced: bool,
        namespace: &str,
    ) -> Api<DynamicObject> {
        match (namespaced, namespace) {
            (true, "") => Api::all_with(self.client.clone(), resource),
            (true, namespace) => Api::namespaced_with(self.client.clone(), namespace, resource),
            (false, _) => Api::all_with(self.client.clone(), resource),
        }
    }

    /// Applies every document of `yaml`; the answers, in the same order.
    pub async fn try_apply(&self, yaml: &str) -> Result<Vec<Value>, Refused> {
        let mut applied = Vec::new();
        for object in parse(yaml) {
            applied.push(self.try_apply_object(&object).await?);
        }
        Ok(applied)
    }

    pub async fn apply(&self, yaml: &str) -> Vec<Value> {
        self.try_apply(yaml)
            .await
            .unwrap_or_else(|refused| panic!("apply: {refused:?}\n{yaml}"))
    }

    pub async fn apply_object(&self, object: &Value) -> Value {
        self.try_apply_object(object)
            .await
            .unwrap_or_else(|refused| panic!("apply: {refused:?}\n{object:#}"))
    }

    pub async fn try_apply_object(&self, object: &Value) -> Result<Value, Refused> {
        let text = |pointer: &str| {
            let found = object.pointer(pointer).and_then(Value::as_str);
            found.unwrap_or_default()
        };
        let (api_version, kind) = (text("/apiVersion"), text("/kind"));
        let api = match Kind::find(api_version, kind) {
            Some(kind) => self.api(kind, text("/metadata/namespace")),
            None => {
                let (resource, namespaced) = self.discover(api_version, kind).await;
                self.api_of(&resource, namespaced, text("/metadata/namespace"))
            }
        };
        let params = PatchParams::apply(FIELD_MANAGER)
            .force()
            .validation_strict();
        let patch = Patch::Apply(object);
        let applied = api.patch(text("/metadata/name"), &params, &patch).await;
        applied.map(to_value).map_err(refused)
    }

    async fn discover(&self, api_version: &str, kind: &str) -> (kube::api::ApiResource, bool) {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let gvk = kube::core::GroupVersionKind::gvk(group, version, kind);
        let (resource, capabilities) = kube::discovery::pinned_kind(&self.client, &gvk)
            .await
            .unwrap_or_else(|error| panic!("no {api_version} {kind}: {error}"));
        let namespaced = capabilities.scope == kube::discovery::Scope::Namespaced;
        (resource, namespaced)
    }

    pub async fn find(&self, kind: Kind, namespace: &str, name: &str) -> Option<Value> {
        let found = self.api(kind, namespace).get_opt(name).await;
        found
            .unwrap_or_else(|error| panic!("read {} {namespace}/{name}: {error}", kind.name))
            .map(to_value)
    }

    /// All objects of a kind in a namespace, or in all of them when it is empty.
    pub async fn list(&self, kind: Kind, namespace: &str) -> Vec<Value> {
        let list = self
            .api(kind, namespace)
            .list(&ListParams::default())
            .await
            .unwrap_or_else(|error| panic!("list {}: {error}", kind.name));
        list.items.into_iter().map(to_value).collect()
    }

    /// A merge patch (RFC 7386): `null` removes.
    pub async fn merge(&self, kind: Kind, namespace: &str, name: &str, patch: Value) -> Value {
        let done = self
            .api(kind, namespace)
            .patch(name, &PatchParams::default(), &Patch::Merge(&patch))
            .await;
        done.map(to_value)
            .unwrap_or_else(|error| panic!("patch {} {namespace}/{name}: {error}", kind.name))
    }

    /// A merge patch of `status` alone, as the controllers that this cluster lacks would write.
    pub async fn merge_status(&self, kind: Kind, namespace: &str, name: &str, status: Value) {
        let patch = json!({ "status": status });
        let done = self
            .api(kind, namespace)
            .patch_status(name, &PatchParams::default(), &Patch::Merge(&patch))
            .await;
        if let Err(error) = done {
            panic!("patch status of {} {namespace}/{name}: {error}", kind.name);
        }
    }

    /// Deletes it if it is there.
    pub async fn delete(&self, kind: Kind, namespace: &str, name: &str) {
        let params = DeleteParams::background();
        match self.api(kind, namespace).delete(name, &params).await {
            Ok(_) => {}
            Err(Error::Api(status)) if status.code == 404 => {}
            Err(error) => panic!("delete {} {namespace}/{name}: {error}", kind.name),
        }
    }

    /// What a load balancer controller does: gives the Service its address, or takes it away (`json!([])`).
    pub async fn set_ingress(&self, namespace: &str, service: &str, ingress: Value) {
        let status = json!({ "loadBalancer": { "ingress": ingress } });
        self.merge_status(crate::kinds::SERVICE, namespace, service, status)
            .await;
    }

    /// A Node with these `(type, address)` pairs; there is no kubelet to register one.
    pub async fn set_node(&self, name: &str, addresses: &[(&str, &str)]) {
        let node = json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": name } });
        self.apply_object(&node).await;
        let addresses = addresses
            .iter()
            .map(|(kind, address)| json!({ "type": kind, "address": address }))
            .collect::<Vec<_>>();
        self.merge_status(
            crate::kinds::NODE,
            "",
            name,
            json!({ "addresses": addresses }),
        )
        .await;
    }
}

fn to_value(object: DynamicObject) -> Value {
    serde_json::to_value(object).expect("an object is JSON")
}

fn refused(error: Error) -> Refused {
    match error {
        Error::Api(status) => Refused {
            code: status.code,
            message: status.message,
        },
        other => panic!("the API server cannot be asked: {other}"),
    }
}
