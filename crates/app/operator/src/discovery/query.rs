//! Asking the API server what it serves.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::APIResource;
use kube::api::{Api, DynamicObject};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Client, Error};
use serde_json::Value;
use stunner_api::names;

use super::served::Served;
use crate::cluster::Refusal;

const BUNDLE_VERSION: &str = "gateway.networking.k8s.io/bundle-version";
const CLASS_CRD: &str = "gatewayclasses.gateway.networking.k8s.io";
/// Every version that we know of some kind, best first.
const VERSIONS: [&str; 3] = ["v1", "v1beta1", "v1alpha2"];

pub(super) async fn served(client: &Client) -> Result<Served, Refusal> {
    let mut resources_by_version = BTreeMap::new();
    for version in VERSIONS {
        let group_version = format!("{}/{version}", names::GATEWAY_GROUP);
        match client.list_api_group_resources(&group_version).await {
            Ok(list) => {
                resources_by_version.insert(version, list.resources);
            }
            Err(error) => match Refusal::of(&error) {
                Refusal::NotFound(_) => {}
                refusal => return Err(refusal),
            },
        }
    }
    let find = |kind: &str, versions: &[&str]| find(&resources_by_version, kind, versions);
    let mut served = Served {
        gateways: find(names::GATEWAY_KIND, &["v1"]).is_some()
            && find(names::GATEWAY_CLASS_KIND, &["v1"]).is_some(),
        udp_routes: find(names::UDP_ROUTE_KIND, names::ROUTE_VERSIONS),
        tcp_routes: find(names::TCP_ROUTE_KIND, names::ROUTE_VERSIONS),
        reference_grants: find(names::REFERENCE_GRANT_KIND, names::REFERENCE_GRANT_VERSIONS),
        ..Served::default()
    };
    if served.gateways {
        look_into_crd(client, &mut served).await?;
    }
    Ok(served)
}

fn find(
    resources_by_version: &BTreeMap<&str, Vec<APIResource>>,
    kind: &str,
    versions: &[&str],
) -> Option<ApiResource> {
    versions.iter().find_map(|version| {
        let mut resources = resources_by_version.get(version)?.iter();
        // `udproutes/status` is of the same kind.
        let resource = resources.find(|it| it.kind == kind && !it.name.contains('/'))?;
        let kind = GroupVersionKind::gvk(names::GATEWAY_GROUP, version, kind);
        Some(ApiResource::from_gvk_with_plural(&kind, &resource.name))
    })
}

/// What a GatewayClass can store depends on release and channel; the schema says it for sure. Without the right to read
/// it we do without the field, rather than have it pruned and write it again for ever.
async fn look_into_crd(client: &Client, served: &mut Served) -> Result<(), Refusal> {
    let kind = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    let resource = ApiResource::from_gvk(&kind);
    let crds: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
    match crds.get(CLASS_CRD).await {
        Ok(crd) => {
            let annotations = crd.metadata.annotations.unwrap_or_default();
            served.bundle = annotations.get(BUNDLE_VERSION).cloned();
            served.supported_features = stores_supported_features(&crd.data);
            Ok(())
        }
        Err(Error::Api(status)) if matches!(status.code, 403 | 404) => Ok(()),
        Err(error) => Err(Refusal::of(&error)),
    }
}

fn stores_supported_features(crd: &Value) -> bool {
    let versions = crd.pointer("/spec/versions").and_then(Value::as_array);
    let v1 = versions
        .into_iter()
        .flatten()
        .find(|version| version["name"] == "v1");
    let items = v1.and_then(|version| {
        version.pointer(
            "/schema/openAPIV3Schema/properties/status/properties/supportedFeatures/items/type",
        )
    });
    items.is_some_and(|kind| kind == "object")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn resource(name: &str, kind: &str) -> APIResource {
        APIResource {
            name: name.to_owned(),
            kind: kind.to_owned(),
            ..APIResource::default()
        }
    }

    #[test]
    fn the_best_served_version_is_taken() {
        let routes = || {
            vec![
                resource("udproutes/status", "UDPRoute"),
                resource("udproutes", "UDPRoute"),
            ]
        };
        let both = BTreeMap::from([("v1", routes()), ("v1alpha2", routes())]);
        let old = BTreeMap::from([("v1", Vec::new()), ("v1alpha2", routes())]);
        let found = |resources| find(resources, "UDPRoute", names::ROUTE_VERSIONS);
        let version = |resources| found(resources).map(|it| (it.version, it.plural));
        assert_eq!(version(&both), Some(("v1".into(), "udproutes".into())));
        assert_eq!(version(&old), Some(("v1alpha2".into(), "udproutes".into())));
        assert_eq!(version(&BTreeMap::new()), None);
    }

    #[test]
    fn supported_features_are_written_where_the_schema_has_objects_for_them() {
        let crd = |items: Value| {
            json!({"spec": {"versions": [
                {"name": "v1beta1"},
                {"name": "v1", "schema": {"openAPIV3Schema": {"properties": {"status": {"properties": items}}}}},
            ]}})
        };
        let objects = json!({"supportedFeatures": {"items": {"type": "object"}}});
        let strings = json!({"supportedFeatures": {"items": {"type": "string"}}});
        assert!(stores_supported_features(&crd(objects)));
        assert!(!stores_supported_features(&crd(strings)));
        assert!(!stores_supported_features(&crd(json!({}))));
    }
}
