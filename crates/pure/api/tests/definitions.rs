//! What the definitions of our kinds promise.

use serde_json::{Value, json};

fn definitions() -> Vec<Value> {
    let definitions = stunner_api::crd::definitions();
    definitions
        .iter()
        .map(|definition| serde_json::to_value(definition).unwrap())
        .collect()
}

fn schemas() -> Vec<(String, Value)> {
    let mut schemas = Vec::new();
    for definition in definitions() {
        for version in definition["spec"]["versions"].as_array().unwrap() {
            let name = format!(
                "{}/{}",
                definition["spec"]["names"]["kind"], version["name"]
            );
            schemas.push((
                name.replace('"', ""),
                version["schema"]["openAPIV3Schema"].clone(),
            ));
        }
    }
    schemas
}

/// Calls `visit` for every schema inside, with its path.
fn walk(path: &str, schema: &Value, visit: &mut dyn FnMut(&str, &Value)) {
    visit(path, schema);
    if let Some(Value::Object(properties)) = schema.get("properties") {
        for (name, property) in properties {
            walk(&format!("{path}.{name}"), property, visit);
        }
    }
    if let Some(items) = schema.get("items") {
        walk(&format!("{path}[]"), items, visit);
    }
    if let Some(values) = schema.get("additionalProperties") {
        walk(&format!("{path}{{}}"), values, visit);
    }
}

#[test]
fn every_field_has_a_description() {
    let mut bare = Vec::new();
    for (name, schema) in schemas() {
        walk(&name, &schema, &mut |path, schema| {
            let is_field = !path.ends_with("[]") && !path.ends_with("{}");
            // The API server lets nothing be said about metadata.
            if is_field
                && !path.ends_with(".metadata")
                && schema["description"].as_str().is_none_or(str::is_empty)
            {
                bare.push(path.to_owned());
            }
        });
    }
    assert_eq!(bare, Vec::<String>::new());
}

#[test]
fn schemas_are_structural() {
    for (name, schema) in schemas() {
        walk(&name, &schema, &mut |path, schema| {
            let typed =
                schema["type"].is_string() || schema["x-kubernetes-int-or-string"] == json!(true);
            assert!(typed, "{path} has no type");
            for key in [
                "$ref",
                "nullable",
                "oneOf",
                "allOf",
                "not",
                "title",
                "x-default",
            ] {
                assert!(schema.get(key).is_none(), "{path} has {key}");
            }
        });
    }
}

#[test]
fn both_versions_have_one_schema() {
    for definition in definitions() {
        let versions = definition["spec"]["versions"].as_array().unwrap();
        assert!(
            versions
                .iter()
                .all(|version| version["schema"] == versions[0]["schema"])
        );
        assert_eq!(
            versions
                .iter()
                .filter(|version| version["storage"] == json!(true))
                .count(),
            1
        );
        assert_eq!(
            (&versions[0]["name"], &versions[0]["storage"]),
            (&json!("v1"), &json!(true))
        );
    }
}

#[test]
fn definitions_fit_into_the_annotation_of_kubectl_apply() {
    for definition in definitions() {
        assert!(
            definition.to_string().len() < 200 << 10,
            "{}",
            definition["metadata"]["name"]
        );
    }
}

#[test]
fn names_scopes_and_columns_are_those_that_users_know() {
    let rows: Vec<String> = definitions()
        .iter()
        .map(|definition| {
            let spec = &definition["spec"];
            let versions: Vec<_> = spec["versions"]
                .as_array()
                .unwrap()
                .iter()
                .map(|version| {
                    let columns = version["additionalPrinterColumns"].as_array().unwrap();
                    let columns: Vec<_> = columns
                        .iter()
                        .map(|column| column["name"].as_str().unwrap())
                        .collect();
                    let status = if version["subresources"]["status"].is_object() {
                        " with status"
                    } else {
                        ""
                    };
                    format!(
                        "{}({}){status}",
                        version["name"].as_str().unwrap(),
                        columns.join(" ")
                    )
                })
                .collect();
            let names = &spec["names"];
            format!(
                "{} {} {} {} {} {}",
                definition["metadata"]["name"],
                spec["scope"],
                names["singular"],
                names["shortNames"],
                names["categories"],
                versions.join(" "),
            )
            .replace('"', "")
        })
        .collect();
    assert_eq!(
        rows,
        [
            "dataplanes.stunner.l7mp.io Cluster dataplane [dps] [stunner] \
             v1(Image Replicas Age) v1alpha1(Image Replicas Age)",
            "gatewayconfigs.stunner.l7mp.io Namespaced gatewayconfig [gwconf] [stunner] \
             v1(Realm Dataplane Age) v1alpha1(Realm Auth Age)",
            "staticservices.stunner.l7mp.io Namespaced staticservice [ssvc] [stunner] \
             v1(Prefixes Age) v1alpha1(Prefixes Age)",
            "udproutes.stunner.l7mp.io Namespaced udproute null [stunner] v1(Age) with status",
        ]
    );
}

#[test]
fn defaults_are_filled_in_by_the_api_server() {
    let mut defaults = Vec::new();
    for (name, schema) in schemas()
        .into_iter()
        .filter(|(name, _)| name.ends_with("/v1"))
    {
        walk(&name, &schema, &mut |path, schema| {
            if let Some(default) = schema.get("default") {
                defaults.push(format!("{path}={default}").replace('"', ""));
            }
        });
    }
    assert_eq!(
        defaults,
        [
            "Dataplane/v1.spec.dataplaneResource=Deployment",
            "Dataplane/v1.spec.disableHealthCheck=false",
            "Dataplane/v1.spec.enableMetricsEndpoint=false",
            "Dataplane/v1.spec.hostNetwork=false",
            "Dataplane/v1.spec.offloadEngine=None",
            "GatewayConfig/v1.spec.authRef.group=",
            "GatewayConfig/v1.spec.authRef.kind=Secret",
            "GatewayConfig/v1.spec.authType=static",
            "GatewayConfig/v1.spec.dataplane=default",
            "GatewayConfig/v1.spec.realm=stunner.l7mp.io",
            "GatewayConfig/v1.spec.stunMode=false",
            "GatewayConfig/v1.spec.userQuota=0",
            "UDPRoute/v1.spec.parentRefs[].group=gateway.networking.k8s.io",
            "UDPRoute/v1.spec.parentRefs[].kind=Gateway",
            "UDPRoute/v1.spec.rules[].backendRefs[].group=",
            "UDPRoute/v1.spec.rules[].backendRefs[].kind=Service",
            "UDPRoute/v1.status.parents[].parentRef.group=gateway.networking.k8s.io",
            "UDPRoute/v1.status.parents[].parentRef.kind=Gateway",
        ]
    );
}

#[test]
fn required_fields_are_few() {
    let mut required = Vec::new();
    for (name, schema) in schemas()
        .into_iter()
        .filter(|(name, _)| name.ends_with("/v1") && !name.starts_with("Data"))
    {
        walk(&name, &schema, &mut |path, schema| {
            for field in schema
                .get("required")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
            {
                if !path.contains("conditions") && !path.contains("ports") {
                    required.push(format!("{path}.{}", field.as_str().unwrap()));
                }
            }
        });
    }
    required.sort();
    assert_eq!(
        required,
        [
            "GatewayConfig/v1.spec.authRef.name",
            "StaticService/v1.spec.prefixes",
            "UDPRoute/v1.spec",
            "UDPRoute/v1.spec.parentRefs[].name",
            "UDPRoute/v1.spec.rules",
            "UDPRoute/v1.spec.rules[].backendRefs[].name",
            "UDPRoute/v1.status.parents",
            "UDPRoute/v1.status.parents[].conditions",
            "UDPRoute/v1.status.parents[].controllerName",
            "UDPRoute/v1.status.parents[].parentRef",
            "UDPRoute/v1.status.parents[].parentRef.name",
        ]
    );
}

#[test]
fn rights_are_no_more_than_is_said() {
    use stunner_api::install::rights::{CLUSTER, CLUSTER_OPTIONAL, KEPT, LEADER_ELECTION, SERVED};
    for right in [SERVED, CLUSTER, CLUSTER_OPTIONAL, KEPT, LEADER_ELECTION].concat() {
        assert!(!right.why.is_empty());
        assert!(
            !right.verbs.contains(&"*") && !right.resources.contains(&"*"),
            "{right:?}"
        );
    }
    let writes = |rights: &[stunner_api::install::rights::Right], resource: &str| {
        rights
            .iter()
            .any(|right| right.resources.contains(&resource) && right.verbs.len() > 3)
    };
    assert!(
        !writes(SERVED, "secrets"),
        "Secrets are written in the operator's own namespace only"
    );
    assert!(writes(KEPT, "secrets"));
}
