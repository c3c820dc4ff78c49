//! CustomResourceDefinitions, made from the types.
//!
//! `v1` is stored. Where there is a `v1alpha1`, both versions have one schema, see
//! [`crate::v1alpha1`].
//!
//! Some rules are stricter than those of the Go system's definitions. Objects that are stored
//! already stay as they are, and can be edited: since Kubernetes 1.30 the API server does not check
//! a field again that an update leaves unchanged ("ratcheting").

pub(crate) mod pattern;
mod reference;
pub(crate) mod schema;

use k8s_openapi::Resource;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceColumnDefinition, CustomResourceConversion, CustomResourceDefinition,
    CustomResourceDefinitionNames, CustomResourceDefinitionSpec, CustomResourceDefinitionVersion,
    CustomResourceSubresourceStatus, CustomResourceSubresources, CustomResourceValidation,
    JSONSchemaProps,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::{Value, json};

use crate::gateway::RouteStatus;
use crate::{v1, v1alpha1};

pub use reference::reference;
pub use schema::structural;

/// A printer column: title, type, path.
type Column = (&'static str, &'static str, &'static str);

const AGE: Column = ("Age", "date", ".metadata.creationTimestamp");

/// One kind of ours.
struct Kind {
    kind: &'static str,
    plural: &'static str,
    short_name: Option<&'static str>,
    scope: &'static str,
    description: &'static str,
    spec: Value,
    spec_required: bool,
    status: Option<Value>,
    /// Versions with their printer columns; the first one is stored.
    versions: Vec<(&'static str, Vec<Column>)>,
}

/// The definitions of all kinds, by kind.
pub fn definitions() -> Vec<CustomResourceDefinition> {
    kinds().into_iter().map(definition).collect()
}

fn kinds() -> [Kind; 4] {
    [
        Kind {
            kind: v1::Dataplane::KIND,
            plural: v1::Dataplane::URL_PATH_SEGMENT,
            short_name: Some("dps"),
            scope: "Cluster",
            description: "A Dataplane is the template of the pods that serve Gateways. A GatewayConfig names the \
                          one to use; `default` is used where it names none.",
            spec: schema::structural::<v1::DataplaneSpec>(),
            spec_required: false,
            status: None,
            versions: {
                let columns = vec![
                    ("Image", "string", ".spec.image"),
                    ("Replicas", "integer", ".spec.replicas"),
                    AGE,
                ];
                vec![
                    (v1::Dataplane::VERSION, columns.clone()),
                    (v1alpha1::Dataplane::VERSION, columns),
                ]
            },
        },
        Kind {
            kind: v1::GatewayConfig::KIND,
            plural: v1::GatewayConfig::URL_PATH_SEGMENT,
            short_name: Some("gwconf"),
            scope: "Namespaced",
            description: "A GatewayConfig holds the settings of all Gateways of a GatewayClass, most of all how \
                          clients authenticate. The class names it in `parametersRef`.",
            spec: schema::structural::<v1::GatewayConfigSpec>(),
            spec_required: false,
            status: None,
            versions: vec![
                (
                    v1::GatewayConfig::VERSION,
                    vec![
                        ("Realm", "string", ".spec.realm"),
                        ("Dataplane", "string", ".spec.dataplane"),
                        AGE,
                    ],
                ),
                (
                    v1alpha1::GatewayConfig::VERSION,
                    vec![
                        ("Realm", "string", ".spec.realm"),
                        ("Auth", "string", ".spec.authType"),
                        AGE,
                    ],
                ),
            ],
        },
        Kind {
            kind: v1::StaticService::KIND,
            plural: v1::StaticService::URL_PATH_SEGMENT,
            short_name: Some("ssvc"),
            scope: "Namespaced",
            description: "A StaticService stands for addresses outside the cluster, so that a UDPRoute can have \
                          them as a backend.",
            spec: schema::structural::<v1::StaticServiceSpec>(),
            spec_required: false,
            status: None,
            versions: {
                let columns = vec![("Prefixes", "string", ".spec.prefixes"), AGE];
                vec![
                    (v1::StaticService::VERSION, columns.clone()),
                    (v1alpha1::StaticService::VERSION, columns),
                ]
            },
        },
        Kind {
            kind: v1::UdpRoute::KIND,
            plural: v1::UdpRoute::URL_PATH_SEGMENT,
            short_name: None,
            scope: "Namespaced",
            description: "A UDPRoute admits clients of Gateways to backends. Unlike the Gateway API's kind of the \
                          same name it takes ranges of ports, and backends outside the cluster.",
            spec: schema::structural::<v1::UdpRouteSpec>(),
            spec_required: true,
            status: Some(schema::structural::<RouteStatus>()),
            versions: vec![(v1::UdpRoute::VERSION, vec![AGE])],
        },
    ]
}

fn definition(kind: Kind) -> CustomResourceDefinition {
    let schema = object_schema(&kind);
    let subresources = kind.status.is_some().then(|| CustomResourceSubresources {
        status: Some(CustomResourceSubresourceStatus(json!({}))),
        scale: None,
    });
    let versions = kind
        .versions
        .iter()
        .enumerate()
        .map(
            |(index, (version, columns))| CustomResourceDefinitionVersion {
                name: (*version).to_owned(),
                served: true,
                storage: index == 0,
                schema: Some(CustomResourceValidation {
                    open_api_v3_schema: Some(schema.clone()),
                }),
                subresources: subresources.clone(),
                additional_printer_columns: Some(columns.iter().copied().map(column).collect()),
                ..Default::default()
            },
        );
    CustomResourceDefinition {
        metadata: ObjectMeta {
            name: Some(format!("{}.{}", kind.plural, crate::names::GROUP)),
            ..Default::default()
        },
        spec: CustomResourceDefinitionSpec {
            group: crate::names::GROUP.to_owned(),
            names: CustomResourceDefinitionNames {
                categories: Some(vec!["stunner".to_owned()]),
                kind: kind.kind.to_owned(),
                list_kind: Some(format!("{}List", kind.kind)),
                plural: kind.plural.to_owned(),
                short_names: kind.short_name.map(|name| vec![name.to_owned()]),
                singular: Some(kind.kind.to_ascii_lowercase()),
            },
            scope: kind.scope.to_owned(),
            versions: versions.collect(),
            conversion: Some(CustomResourceConversion {
                strategy: "None".to_owned(),
                webhook: None,
            }),
            ..Default::default()
        },
        status: None,
    }
}

fn column((name, type_, path): Column) -> CustomResourceColumnDefinition {
    CustomResourceColumnDefinition {
        name: name.to_owned(),
        type_: type_.to_owned(),
        json_path: path.to_owned(),
        ..Default::default()
    }
}

fn object_schema(kind: &Kind) -> JSONSchemaProps {
    let mut schema = json!({
        "type": "object",
        "description": kind.description,
        "properties": {
            "apiVersion": {
                "type": "string",
                "description": "API group and version of this object.",
            },
            "kind": {"type": "string", "description": "Kind of this object."},
            // The API server lets nothing else be said about metadata.
            "metadata": {"type": "object"},
            "spec": kind.spec,
        },
    });
    if kind.spec_required {
        schema["required"] = json!(["spec"]);
    }
    if let Some(status) = &kind.status {
        schema["properties"]["status"] = status.clone();
    }
    serde_json::from_value(schema).expect("a schema of schemars is a schema of Kubernetes")
}
