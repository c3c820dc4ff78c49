//! Objects of a cluster, of whatever kind.

use std::fmt;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ListMeta;
use kube::Resource;
use kube::api::{DeleteParams, GetParams, ListParams, PostParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind, Request};
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;
use tokio::time::sleep;

use crate::cluster::Cluster;
use crate::error::{Asked, ClusterError};

/// Objects of one page of a list.
const PAGE: u32 = 500;

/// An API server that is busy is asked again; then it is told of.
const AGAIN_AFTER: [Duration; 3] = [
    Duration::from_millis(100),
    Duration::from_millis(400),
    Duration::from_millis(1000),
];

/// Whether it may be over in a moment. What changes something is asked again only where nothing came of it.
fn is_passing(error: &ClusterError, asked: &Asked<'_>) -> bool {
    let is_read = matches!(asked.verb, "get" | "list");
    match error {
        ClusterError::Unavailable { code: 429, .. } => true,
        ClusterError::Unavailable { code, .. } => is_read && matches!(code, 503 | 504),
        _ => false,
    }
}

/// A kind of objects, in one of its versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kind {
    resource: ApiResource,
}

impl Kind {
    /// `plural` is what paths and roles call it. The core group is empty.
    pub fn new(group: &str, version: &str, kind: &str, plural: &str) -> Kind {
        let kind = GroupVersionKind::gvk(group, version, kind);
        Kind {
            resource: ApiResource::from_gvk_with_plural(&kind, plural),
        }
    }

    /// The kind that a type is made for.
    pub fn of<K: Resource<DynamicType = ()>>() -> Kind {
        Kind {
            resource: ApiResource::erase::<K>(&()),
        }
    }

    /// `gateways.gateway.networking.k8s.io`, as `kubectl` takes it and roles are made with it.
    pub fn resource(&self) -> String {
        let ApiResource { plural, group, .. } = &self.resource;
        match group.is_empty() {
            true => plural.clone(),
            false => format!("{plural}.{group}"),
        }
    }

    /// `group/version`, or the version alone for the core group.
    pub fn api_version(&self) -> &str {
        &self.resource.api_version
    }

    fn requests(&self, namespace: Option<&str>) -> Request {
        Request::new(DynamicObject::url_path(&self.resource, namespace))
    }
}

/// `Gateway`.
impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.resource.kind)
    }
}

/// Which objects of a kind are meant. What is left out does not matter.
#[derive(Debug, Clone, Copy, Default)]
pub struct Selection<'a> {
    /// A label selector.
    pub labels: Option<&'a str>,
    /// A field selector.
    pub fields: Option<&'a str>,
    /// Enough of them.
    pub at_most: Option<u32>,
}

impl<'a> Selection<'a> {
    pub fn labels(selector: &'a str) -> Selection<'a> {
        Selection {
            labels: Some(selector),
            ..Selection::default()
        }
    }

    pub fn fields(selector: &'a str) -> Selection<'a> {
        Selection {
            fields: Some(selector),
            ..Selection::default()
        }
    }

    pub fn at_most(count: u32) -> Selection<'a> {
        Selection {
            at_most: Some(count),
            ..Selection::default()
        }
    }
}

/// The objects of a cluster, read and changed with the rights of whoever asks. Every request has a deadline.
#[derive(Debug, Clone)]
pub struct Objects {
    cluster: Cluster,
}

/// Of a list. Items of a list do not say their kind.
#[derive(Deserialize)]
#[serde(bound = "K: DeserializeOwned")]
struct Page<K> {
    #[serde(default)]
    metadata: ListMeta,
    /// Go writes a list without elements as null.
    #[serde(default)]
    items: Option<Vec<K>>,
}

impl Cluster {
    pub fn objects(&self) -> Objects {
        Objects {
            cluster: self.clone(),
        }
    }
}

impl Objects {
    /// With another deadline for each request, unless `--request-timeout` gives one.
    pub fn within(mut self, deadline: Duration) -> Objects {
        self.cluster.request_timeout.get_or_insert(deadline);
        self
    }

    /// The object, if it exists. Without a namespace it is one of the whole cluster.
    pub async fn get<K: DeserializeOwned>(
        &self,
        kind: &Kind,
        namespace: Option<&str>,
        name: &str,
    ) -> Result<Option<K>, ClusterError> {
        let asked = Asked {
            verb: "get",
            resource: &kind.resource(),
            namespace,
            name: Some(name),
        };
        let request = kind.requests(namespace).get(name, &GetParams::default());
        match self.ask(&asked, request).await {
            Ok(found) => Ok(Some(found)),
            Err(ClusterError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// All objects of a kind that are meant, of one namespace or of all.
    pub async fn list<K: DeserializeOwned>(
        &self,
        kind: &Kind,
        namespace: Option<&str>,
        selection: Selection<'_>,
    ) -> Result<Vec<K>, ClusterError> {
        let asked = Asked {
            verb: "list",
            resource: &kind.resource(),
            namespace,
            name: None,
        };
        let enough = selection.at_most.unwrap_or(u32::MAX);
        let mut params = ListParams {
            label_selector: selection.labels.map(str::to_owned),
            field_selector: selection.fields.map(str::to_owned),
            ..ListParams::default().limit(PAGE.min(enough))
        };
        let mut found = Vec::new();
        loop {
            let request = kind.requests(namespace).list(&params);
            let page: Page<K> = self.ask(&asked, request).await?;
            found.extend(page.items.into_iter().flatten());
            let next = page.metadata.continue_.filter(|token| !token.is_empty());
            match next {
                Some(token) if found.len() < enough as usize => {
                    params = params.continue_token(&token);
                }
                _ => return Ok(found),
            }
        }
    }

    pub async fn create(
        &self,
        kind: &Kind,
        namespace: Option<&str>,
        object: &Value,
    ) -> Result<(), ClusterError> {
        let asked = Asked {
            verb: "create",
            resource: &kind.resource(),
            namespace,
            name: None,
        };
        let body = object.to_string().into_bytes();
        let request = kind
            .requests(namespace)
            .create(&PostParams::default(), body);
        self.ask::<IgnoredAny>(&asked, request).await.map(drop)
    }

    /// Deletes an object, if it exists, without a grace period. What it owns goes in its own time.
    pub async fn delete_now(
        &self,
        kind: &Kind,
        namespace: Option<&str>,
        name: &str,
    ) -> Result<(), ClusterError> {
        let asked = Asked {
            verb: "delete",
            resource: &kind.resource(),
            namespace,
            name: Some(name),
        };
        let params = DeleteParams::background().grace_period(0);
        let request = kind.requests(namespace).delete(name, &params);
        match self.ask::<IgnoredAny>(&asked, request).await {
            Ok(_) | Err(ClusterError::NotFound { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// What the API server serves of a `group/version`, in the plural, which everybody may ask. Nothing of one that it
    /// does not know.
    pub async fn served(&self, api_version: &str) -> Result<Vec<String>, ClusterError> {
        let asked = Asked {
            verb: "get",
            resource: "apis",
            namespace: None,
            name: Some(api_version),
        };
        let client = self.cluster.client();
        let list = client.list_api_group_resources(api_version);
        match self.cluster.patiently(&asked, list).await {
            Ok(list) => Ok(list.resources.into_iter().map(|it| it.name).collect()),
            Err(ClusterError::NotFound { .. }) => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        asked: &Asked<'_>,
        request: Result<hyper::Request<Vec<u8>>, kube::core::request::Error>,
    ) -> Result<T, ClusterError> {
        let request = request.map_err(kube::Error::BuildRequest);
        let request = request.map_err(|error| ClusterError::of_kube(&error, asked))?;
        let mut pauses = AGAIN_AFTER.iter();
        loop {
            let answer = self.cluster.client().request(request.clone());
            match (self.cluster.patiently(asked, answer).await, pauses.next()) {
                (Err(error), Some(pause)) if is_passing(&error, asked) => sleep(*pause).await,
                (answer, _) => return answer,
            }
        }
    }
}
