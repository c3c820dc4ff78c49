//! Questions to the API server, each with a deadline and an answer whatever comes of it.

use std::fmt::Debug;
use std::time::Duration;

use k8s_openapi::NamespaceResourceScope;
use kube::api::ListParams;
use kube::core::{ApiResource, DynamicResourceScope};
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;

use crate::commands::doctor::facts::Asked;

/// For one answer.
const PATIENCE: Duration = Duration::from_secs(15);
/// Objects of one list: what is beyond is of no use to a reader.
const LISTED: u32 = 2_000;

/// Reads with the rights of whoever asks.
#[derive(Clone)]
pub(super) struct Reader {
    client: Client,
}

impl Reader {
    pub(super) fn new(client: &Client) -> Reader {
        Reader {
            client: client.clone(),
        }
    }

    pub(super) async fn get<K>(&self, namespace: &str, name: &str) -> Asked<Option<K>>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>
            + Clone
            + Debug
            + DeserializeOwned,
    {
        let api: Api<K> = Api::namespaced(self.client.clone(), namespace);
        let rule = rule("get", &K::plural(&()), &K::group(&()), Some(namespace));
        answer(api.get_opt(name), rule).await
    }

    pub(super) async fn get_global<K>(&self, name: &str) -> Asked<Option<K>>
    where
        K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned,
    {
        let api: Api<K> = Api::all(self.client.clone());
        let rule = rule("get", &K::plural(&()), &K::group(&()), None);
        answer(api.get_opt(name), rule).await
    }

    /// Of one namespace, or of all.
    pub(super) async fn list<K>(&self, namespace: Option<&str>, params: ListParams) -> Asked<Vec<K>>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>
            + Clone
            + Debug
            + DeserializeOwned,
    {
        let api: Api<K> = match namespace {
            Some(namespace) => Api::namespaced(self.client.clone(), namespace),
            None => Api::all(self.client.clone()),
        };
        let rule = rule("list", &K::plural(&()), &K::group(&()), namespace);
        listed(&api, params, rule).await
    }

    pub(super) async fn list_global<K>(&self, params: ListParams) -> Asked<Vec<K>>
    where
        K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned,
    {
        let api: Api<K> = Api::all(self.client.clone());
        let rule = rule("list", &K::plural(&()), &K::group(&()), None);
        listed(&api, params, rule).await
    }

    /// The same for a kind whose version is found by trying; one that is not served has no objects.
    pub(super) async fn list_dynamic<K>(
        &self,
        namespace: Option<&str>,
        kind: &ApiResource,
    ) -> Asked<Option<Vec<K>>>
    where
        K: Resource<Scope = DynamicResourceScope, DynamicType = ApiResource>
            + Clone
            + Debug
            + DeserializeOwned,
    {
        let api: Api<K> = match namespace {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, kind),
            None => Api::all_with(self.client.clone(), kind),
        };
        let rule = rule("list", &kind.plural, &kind.group, namespace);
        let params = ListParams::default().limit(LISTED);
        let list = async {
            match api.list(&params).await {
                Ok(list) => Ok(Some(list.items)),
                Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
                Err(error) => Err(error),
            }
        };
        answer(list, rule).await
    }
}

async fn listed<K>(api: &Api<K>, params: ListParams, rule: String) -> Asked<Vec<K>>
where
    K: Clone + Debug + DeserializeOwned,
{
    let params = params.limit(LISTED);
    let list = async { api.list(&params).await.map(|list| list.items) };
    answer(list, rule).await
}

async fn answer<T>(question: impl Future<Output = kube::Result<T>>, rule: String) -> Asked<T> {
    match tokio::time::timeout(PATIENCE, question).await {
        Ok(Ok(value)) => Asked::Known(value),
        Ok(Err(kube::Error::Api(status))) => match status.code {
            403 => Asked::Forbidden { rule },
            404 => Asked::Failed(format!("{}; are the CRDs installed?", status.message)),
            _ => Asked::Failed(status.message.clone()),
        },
        Ok(Err(error)) => Asked::Failed(innermost(&error)),
        Err(_) => Asked::Failed(format!(
            "the API server gave no answer within {} s",
            PATIENCE.as_secs()
        )),
    }
}

/// The right that a question needs, in words.
fn rule(verb: &str, plural: &str, group: &str, namespace: Option<&str>) -> String {
    let resource = match group {
        "" => plural.to_owned(),
        group => format!("{plural}.{group}"),
    };
    match namespace {
        Some(namespace) => format!("the verb `{verb}` on `{resource}` in namespace {namespace}"),
        None => format!("the verb `{verb}` on `{resource}` by a ClusterRole"),
    }
}

/// The libraries around the cause say less than the cause itself.
fn innermost(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}
