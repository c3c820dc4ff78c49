//! Where the API server has the official routes.

use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock};

use kube::core::{ApiResource, GroupVersionKind};
use stunner_api::names;
use stunner_translate::RouteKind;

/// The served version of each official kind of route. It may come, go and change while we run.
#[derive(Debug, Default)]
pub struct RouteApis {
    official: RwLock<BTreeMap<RouteKind, ApiResource>>,
}

impl RouteApis {
    pub fn new() -> Self {
        RouteApis::default()
    }

    /// `None`: not served.
    pub fn set(&self, kind: RouteKind, resource: Option<ApiResource>) {
        let mut official = self
            .official
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        match resource {
            Some(resource) => official.insert(kind, resource),
            None => official.remove(&kind),
        };
    }

    pub(super) fn resource(&self, kind: RouteKind) -> Option<ApiResource> {
        if kind == RouteKind::Udp {
            let kind = GroupVersionKind::gvk(names::GROUP, "v1", names::UDP_ROUTE_KIND);
            return Some(ApiResource::from_gvk_with_plural(
                &kind,
                names::UDP_ROUTE_PLURAL,
            ));
        }
        let official = self.official.read().unwrap_or_else(PoisonError::into_inner);
        official.get(&kind).cloned()
    }
}
