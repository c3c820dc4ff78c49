//! The kinds that are read, their versions and schemas.

use std::sync::LazyLock;

use k8s_openapi::api::core::v1::{
    EndpointSubset, NamespaceSpec, NodeSpec, NodeStatus, ServiceSpec, ServiceStatus,
};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointPort};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use schemars::JsonSchema;
use stunner_api::crd::structural;
use stunner_api::names;
use stunner_api::v1::{DataplaneSpec, GatewayConfigSpec, StaticServiceSpec, UdpRouteSpec};
use stunner_translate::{ObjectKind, RouteKind};

use super::compile::compile;
use super::{Field, Form, List, Map, Object, Schema, Text, gateway};

/// A kind of object that is read.
#[derive(Debug)]
pub(crate) struct Kind {
    pub(crate) group: &'static str,
    pub(crate) name: &'static str,
    pub(crate) object: ObjectKind,
    pub(crate) namespaced: bool,
    /// The first one is what older ones are read as.
    pub(crate) versions: &'static [Version],
    pub(crate) schema: LazyLock<Schema>,
}

/// A version of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Version {
    Current(&'static str),
    /// Read as the current one, which has the same fields and more.
    Older(&'static str),
}

impl Version {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Version::Current(name) | Version::Older(name) => name,
        }
    }
}

const CORE: &str = "";
const DISCOVERY: &str = "discovery.k8s.io";

const V1: &[Version] = &[Version::Current("v1")];
const OURS: &[Version] = &[Version::Current("v1"), Version::Older("v1alpha1")];
const GATEWAY: &[Version] = &[
    Version::Current("v1"),
    Version::Older("v1beta1"),
    Version::Older("v1alpha2"),
];
/// Before version 1.6 of the Gateway API clusters serve only `v1alpha2`.
const ROUTE: &[Version] = &[Version::Current("v1"), Version::Current("v1alpha2")];
/// Most clusters serve only `v1beta1`.
const GRANT: &[Version] = &[
    Version::Current("v1"),
    Version::Current("v1beta1"),
    Version::Older("v1alpha2"),
];
const SLICE: &[Version] = &[Version::Current("v1"), Version::Older("v1beta1")];

macro_rules! kind {
    ($group:expr, $name:literal, $object:expr, $namespaced:literal, $versions:expr, $schema:expr) => {
        Kind {
            group: $group,
            name: $name,
            object: $object,
            namespaced: $namespaced,
            versions: $versions,
            schema: LazyLock::new($schema),
        }
    };
}

use ObjectKind as Of;

pub(crate) static KINDS: [Kind; 15] = [
    kind!(
        names::GATEWAY_GROUP,
        "GatewayClass",
        Of::GatewayClass,
        false,
        GATEWAY,
        || { root(vec![Field::required("spec", gateway::class()), status()]) }
    ),
    kind!(
        names::GATEWAY_GROUP,
        "Gateway",
        Of::Gateway,
        true,
        GATEWAY,
        || { root(vec![Field::required("spec", gateway::gateway()), status()]) }
    ),
    kind!(
        names::GATEWAY_GROUP,
        "UDPRoute",
        Of::Route(RouteKind::OfficialUdp),
        true,
        ROUTE,
        || { root(vec![Field::required("spec", gateway::route()), status()]) }
    ),
    kind!(
        names::GATEWAY_GROUP,
        "TCPRoute",
        Of::Route(RouteKind::OfficialTcp),
        true,
        ROUTE,
        || { root(vec![Field::required("spec", gateway::route()), status()]) }
    ),
    kind!(
        names::GATEWAY_GROUP,
        "ReferenceGrant",
        Of::ReferenceGrant,
        true,
        GRANT,
        || { root(vec![Field::required("spec", gateway::grant()), status()]) }
    ),
    kind!(
        names::GROUP,
        "GatewayConfig",
        Of::GatewayConfig,
        true,
        OURS,
        || { root(vec![Field::limiting("spec", gateway_config()), status()]) }
    ),
    kind!(
        names::GROUP,
        "UDPRoute",
        Of::Route(RouteKind::Udp),
        true,
        OURS,
        || { root(vec![Field::required("spec", udp_route()), status()]) }
    ),
    kind!(
        names::GROUP,
        "StaticService",
        Of::StaticService,
        true,
        OURS,
        || {
            root(vec![
                Field::new("spec", of::<StaticServiceSpec>()),
                status(),
            ])
        }
    ),
    kind!(
        names::GROUP,
        "Dataplane",
        Of::Dataplane,
        false,
        OURS,
        || { root(vec![Field::new("spec", dataplane()), status()]) }
    ),
    kind!(CORE, "Secret", Of::Secret, true, V1, secret),
    kind!(CORE, "Service", Of::Service, true, V1, || {
        let status = Schema::Lenient(Box::new(of::<ServiceStatus>()));
        root(vec![
            Field::new("spec", service()),
            Field::new("status", status),
        ])
    }),
    kind!(CORE, "Endpoints", Of::Endpoints, true, V1, || {
        root(vec![Field::new("subsets", list(of::<EndpointSubset>()))])
    }),
    kind!(CORE, "Namespace", Of::Namespace, false, V1, || {
        root(vec![Field::new("spec", of::<NamespaceSpec>()), status()])
    }),
    kind!(CORE, "Node", Of::Node, false, V1, || {
        let status = Schema::Lenient(Box::new(of::<NodeStatus>()));
        root(vec![
            Field::new("spec", of::<NodeSpec>()),
            Field::new("status", status),
        ])
    }),
    kind!(
        DISCOVERY,
        "EndpointSlice",
        Of::EndpointSlice,
        true,
        SLICE,
        endpoint_slice
    ),
];

/// What every object has, and its own fields.
fn root(own: Vec<Field>) -> Schema {
    let mut fields = vec![
        Field::required("apiVersion", Schema::text()),
        Field::required("kind", Schema::text()),
        Field::required("metadata", Schema::Shared(&METADATA)),
    ];
    fields.extend(own);
    Schema::Object(Object {
        fields,
        ..Object::default()
    })
}

/// A status that a cluster has written: ours are made anew.
fn status() -> Field {
    Field::new("status", Schema::Ignored)
}

fn list(items: Schema) -> Schema {
    Schema::List(List {
        items: Box::new(items),
        min: 0,
        max: None,
    })
}

fn one_of(words: &[&str]) -> Schema {
    let words = words.iter().map(|&word| word.to_owned()).collect();
    Schema::Text(Text {
        form: Some(Form::OneOf(words)),
        ..Text::default()
    })
}

fn of<T: JsonSchema>() -> Schema {
    compile(&structural::<T>())
}

static METADATA: LazyLock<Schema> = LazyLock::new(|| {
    let mut schema = of::<ObjectMeta>();
    annotations(&mut schema, &["annotations"]);
    put(&mut schema, &["managedFields"], Schema::Ignored);
    if let Schema::Object(object) = &mut schema {
        // Of older clusters.
        object
            .fields
            .push(Field::new("clusterName", Schema::Ignored));
    }
    schema
});

fn gateway_config() -> Schema {
    let mut schema = of::<GatewayConfigSpec>();
    annotations(&mut schema, &["loadBalancerServiceAnnotations"]);
    atomic(&mut schema, &["authRef"]);
    // Without one of these what is left would serve more than was meant, or let in others.
    for field in ["authRef", "authType", "stunMode", "userQuota"] {
        limit(&mut schema, field);
    }
    for field in ["userName", "username", "password", "sharedSecret"] {
        hide(&mut schema, &[], field);
    }
    schema
}

fn udp_route() -> Schema {
    let mut schema = of::<UdpRouteSpec>();
    atomic(&mut schema, &["parentRefs", "*"]);
    atomic(&mut schema, &["rules", "*", "backendRefs", "*"]);
    schema
}

fn dataplane() -> Schema {
    let mut schema = of::<DataplaneSpec>();
    annotations(&mut schema, &["annotations"]);
    let policies = one_of(&["Always", "IfNotPresent", "Never"]);
    put(&mut schema, &["imagePullPolicy"], policies);
    hide(&mut schema, &["env", "*"], "value");
    hide(&mut schema, &[], "args");
    hide(&mut schema, &[], "command");
    schema
}

fn secret() -> Schema {
    let values = |form| {
        Schema::Map(Map {
            values: Box::new(Schema::Text(Text {
                form,
                ..Text::default()
            })),
            max: None,
            annotations: false,
        })
    };
    let hidden = |name, schema| Field {
        secret: true,
        ..Field::new(name, schema)
    };
    root(vec![
        hidden("data", values(Some(Form::Base64))),
        hidden("stringData", values(None)),
        Field::new("type", Schema::text()),
        Field::new("immutable", Schema::Boolean),
    ])
}

fn service() -> Schema {
    let mut schema = of::<ServiceSpec>();
    annotations(&mut schema, &["selector"]);
    put(&mut schema, &["ports", "*", "port"], gateway::port());
    let protocol = one_of(&["UDP", "TCP", "SCTP"]);
    put(&mut schema, &["ports", "*", "protocol"], protocol);
    let types = ["ClusterIP", "NodePort", "LoadBalancer", "ExternalName"];
    put(&mut schema, &["type"], one_of(&types));
    let address = Schema::Text(Text {
        form: Some(Form::IpAddress),
        ..Text::default()
    });
    put(&mut schema, &["externalIPs", "*"], address);
    schema
}

fn endpoint_slice() -> Schema {
    root(vec![
        Field::required("addressType", one_of(&["IPv4", "IPv6", "FQDN"])),
        Field::new("endpoints", list(of::<Endpoint>())),
        Field::new("ports", list(of::<EndpointPort>())),
    ])
}

/// Replaces what a schema says about a field.
fn put(schema: &mut Schema, path: &[&str], replacement: Schema) {
    if let Some(found) = schema.at(path) {
        *found = replacement;
    }
}

/// Says that a map holds annotations.
fn annotations(schema: &mut Schema, path: &[&str]) {
    if let Some(Schema::Map(map)) = schema.at(path) {
        map.annotations = true;
    }
}

fn atomic(schema: &mut Schema, path: &[&str]) {
    if let Some(Schema::Object(object)) = schema.at(path) {
        object.atomic = true;
    }
}

/// Says that an object is broken where this field of it is.
fn limit(schema: &mut Schema, name: &str) {
    if let Schema::Object(object) = schema {
        for field in object.fields.iter_mut().filter(|field| field.name == name) {
            field.limiting = true;
        }
    }
}

/// Says that the value of a field is shown to nobody.
fn hide(schema: &mut Schema, path: &[&str], name: &str) {
    if let Some(Schema::Object(object)) = schema.at(path) {
        for field in object.fields.iter_mut().filter(|field| field.name == name) {
            field.secret = true;
        }
    }
}

/// All JSON schemas that are compiled.
#[cfg(test)]
pub(super) fn json_schemas() -> Vec<(&'static str, serde_json::Value)> {
    vec![
        ("metadata", structural::<ObjectMeta>()),
        ("GatewayConfig", structural::<GatewayConfigSpec>()),
        ("UDPRoute", structural::<UdpRouteSpec>()),
        ("StaticService", structural::<StaticServiceSpec>()),
        ("Dataplane", structural::<DataplaneSpec>()),
        ("Service", structural::<ServiceSpec>()),
        ("Service.status", structural::<ServiceStatus>()),
        ("Endpoints", structural::<EndpointSubset>()),
        ("Namespace", structural::<NamespaceSpec>()),
        ("Node", structural::<NodeSpec>()),
        ("Node.status", structural::<NodeStatus>()),
        ("EndpointSlice", structural::<Endpoint>()),
        ("EndpointSlice.ports", structural::<EndpointPort>()),
    ]
}
