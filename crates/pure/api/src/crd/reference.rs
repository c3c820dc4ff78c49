//! The reference page, made from the definitions and the table of annotations.

use std::fmt::Write;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};

use crate::names::annotation;

const TITLE: &str = "\
<!-- Generated from crates/pure/api; UPDATE=1 cargo test -p stunner-api writes it anew. -->

# Kubernetes API

Our kinds, all in the API group `stunner.l7mp.io`; `kubectl get stunner` lists the objects of all of them.
GatewayClass and Gateway are those of the [Gateway API](https://gateway-api.sigs.k8s.io), version `v1`; its
UDPRoute and TCPRoute are served too, where a cluster has them.

The API server checks the rules below when an object is written. Objects from before a rule stay readable,
and since Kubernetes 1.30 can be edited: a field that an update leaves alone is not checked again. What a
stored value that breaks a rule means is told by the status of the Gateway or route.
";

const ANNOTATIONS: &str = "
## Annotations

On a Gateway, or for all Gateways of a class in `loadBalancerServiceAnnotations` of its GatewayConfig; that of the
Gateway wins. Truth values are `true` and `false`, in any case. Other annotations are copied to the
Service and to the metadata of the Deployment, and removed there when they are removed here.

| annotation | where | value | effect |
| --- | --- | --- | --- |
";

/// Fields of types that belong to Kubernetes, whose own documentation says what is in them.
const KUBERNETES_TYPES: &[(&str, &str)] = &[
    ("affinity", "Affinity"),
    ("conditions", "Condition"),
    ("containerSecurityContext", "SecurityContext"),
    ("env", "EnvVar"),
    ("envFrom", "EnvFromSource"),
    ("imagePullSecrets", "LocalObjectReference"),
    ("ports", "ServicePort"),
    ("resources", "ResourceRequirements"),
    ("securityContext", "PodSecurityContext"),
    ("tolerations", "Toleration"),
    ("topologySpreadConstraints", "TopologySpreadConstraint"),
];

/// `docs/reference/api.md`.
pub fn reference() -> String {
    let mut page = TITLE.to_owned();
    for definition in super::definitions() {
        kind(&mut page, &definition);
    }
    page.push_str(ANNOTATIONS);
    for row in annotation::TABLE {
        let _ = writeln!(
            page,
            "| `{}` | {} | {} | {} |",
            row.name, row.place, row.value, row.effect
        );
    }
    page
}

fn kind(page: &mut String, definition: &CustomResourceDefinition) {
    let spec = &definition.spec;
    let versions: Vec<_> = spec
        .versions
        .iter()
        .map(|version| format!("`{}`", version.name))
        .collect();
    let scope = if spec.scope == "Cluster" {
        "of the whole cluster"
    } else {
        "in a namespace"
    };
    let short = spec
        .names
        .short_names
        .iter()
        .flatten()
        .map(|name| format!("; short name `{name}`"));
    let schema = spec
        .versions
        .first()
        .and_then(|version| version.schema.as_ref()?.open_api_v3_schema.as_ref());
    let Some(schema) = schema else { return };
    let _ = writeln!(page, "\n## {}\n\n{}", spec.names.kind, text(schema));
    let _ = writeln!(
        page,
        "\nVersions {}; {scope}{}.",
        versions.join(", "),
        short.collect::<String>()
    );
    for part in ["spec", "status"] {
        let Some(properties) = schema
            .properties
            .as_ref()
            .and_then(|properties| properties.get(part))
        else {
            continue;
        };
        let _ = writeln!(
            page,
            "\n### `{part}`\n\n| field | type | default | rule | |\n| --- | --- | --- | --- | --- |"
        );
        let mut rules = Vec::new();
        fields(page, &mut rules, "", properties);
        for rule in rules {
            let _ = writeln!(page, "\n{rule}.");
        }
    }
}

fn fields(page: &mut String, rules: &mut Vec<String>, path: &str, schema: &JSONSchemaProps) {
    for validation in schema.x_kubernetes_validations.iter().flatten() {
        let place = if path.is_empty() {
            String::new()
        } else {
            format!("In `{path}`: ")
        };
        rules.push(format!(
            "{place}{}",
            validation.message.as_deref().unwrap_or(&validation.rule)
        ));
    }
    let required = schema.required.as_deref().unwrap_or_default();
    for (name, field) in schema.properties.iter().flatten() {
        let path = if path.is_empty() {
            name.clone()
        } else {
            format!("{path}.{name}")
        };
        let kubernetes = KUBERNETES_TYPES
            .iter()
            .find(|(field, _)| field == name)
            .map(|(_, type_)| *type_);
        let item = items(field);
        let type_ = match (item, kubernetes) {
            (Some(_), Some(type_)) => format!("list of {type_}"),
            (Some(item), None) => format!("list of {}s", simple_type(item)),
            (None, Some(type_)) => type_.to_owned(),
            (None, None) => simple_type(field),
        };
        let default = field
            .default
            .as_ref()
            .map(|default| format!("`{}`", default.0))
            .unwrap_or_default();
        let mut limits = limits(field);
        limits.extend(item.map(self::limits).unwrap_or_default());
        if required.contains(name) {
            limits.insert(0, "required".to_owned());
        }
        let _ = writeln!(
            page,
            "| `{path}` | {type_} | {default} | {} | {} |",
            limits.join("; ").replace('|', "\\|"),
            text(field),
        );
        if kubernetes.is_none() {
            let below = if item.is_some() {
                format!("{path}[]")
            } else {
                path
            };
            fields(page, rules, &below, item.unwrap_or(field));
        }
    }
}

fn items(schema: &JSONSchemaProps) -> Option<&JSONSchemaProps> {
    match schema.items.as_ref()? {
        JSONSchemaPropsOrArray::Schema(schema) => Some(schema),
        JSONSchemaPropsOrArray::Schemas(_) => None,
    }
}

fn simple_type(schema: &JSONSchemaProps) -> String {
    if let Some(JSONSchemaPropsOrBool::Schema(value)) = &schema.additional_properties {
        return format!("map of {}s", simple_type(value));
    }
    schema.type_.clone().unwrap_or_default()
}

fn limits(schema: &JSONSchemaProps) -> Vec<String> {
    let mut limits = Vec::new();
    let mut range = |low: Option<String>, high: Option<String>, unit: &str| match (low, high) {
        (Some(low), Some(high)) => limits.push(format!("{low} to {high}{unit}")),
        (Some(low), None) => limits.push(format!("at least {low}{unit}")),
        (None, Some(high)) => limits.push(format!("at most {high}{unit}")),
        (None, None) => {}
    };
    let number = |value: Option<f64>| value.map(|value| value.to_string());
    let count = |value: Option<i64>| value.map(|value| value.to_string());
    range(number(schema.minimum), number(schema.maximum), "");
    range(
        count(schema.min_length),
        count(schema.max_length),
        " characters",
    );
    range(count(schema.min_items), count(schema.max_items), " items");
    if let Some(words) = &schema.enum_ {
        let words: Vec<_> = words
            .iter()
            .map(|word| format!("`{}`", word.0.as_str().unwrap_or_default()))
            .collect();
        limits.push(words.join(" or "));
    }
    limits.extend(schema.pattern.iter().map(|pattern| format!("`{pattern}`")));
    let formats: Vec<_> = schema
        .any_of
        .iter()
        .flatten()
        .filter_map(|either| either.format.as_ref())
        .map(|format| format!("`{format}`"))
        .collect();
    if !formats.is_empty() {
        limits.push(format!("format {}", formats.join(" or ")));
    }
    limits
}

fn text(schema: &JSONSchemaProps) -> String {
    schema
        .description
        .as_deref()
        .unwrap_or_default()
        .replace("\n\n", " ")
        .replace('|', "\\|")
}
