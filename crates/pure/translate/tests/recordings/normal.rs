//! Rendered objects without what is nobody's decision: order, defaults, times.

use serde_json::{Map, Value, json};

/// The Go operator's order of clusters and routes is that of a hash table.
pub fn normal_config(mut config: Value) -> Value {
    let by_name = |list: &mut Value| {
        let Some(items) = list.as_array() else { return };
        let items: Map<String, Value> = items
            .iter()
            .map(|item| {
                (
                    item["name"].as_str().unwrap_or_default().replace('/', "."),
                    item.clone(),
                )
            })
            .collect();
        *list = Value::Object(items);
    };
    for listener in config["listeners"].as_array_mut().into_iter().flatten() {
        if let Some(routes) = listener["routes"].as_array_mut() {
            routes.sort_by_key(|route| route.to_string());
        }
        // Node ports are the API server's choice.
        if listener["public_port"]
            .as_u64()
            .is_some_and(|port| port >= 30000)
        {
            listener["public_port"] = json!("<node-port>");
        }
    }
    by_name(&mut config["listeners"]);
    by_name(&mut config["clusters"]);
    config
}

/// Leaves out what the API server decides or defaults.
pub fn normal(mut object: Value) -> Value {
    let Some(metadata) = object["metadata"].as_object_mut() else {
        return object;
    };
    metadata.remove("uid");
    for owner in metadata
        .get_mut("ownerReferences")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        owner["uid"] = json!("<uid>");
    }
    object.as_object_mut().unwrap().remove("status");
    if let Some(text) = object["data"]["stunnerd.conf"].as_str() {
        object["data"]["stunnerd.conf"] = normal_config(serde_json::from_str(text).unwrap());
    }
    let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else {
        return object;
    };
    for defaulted in [
        "allocateLoadBalancerNodePorts",
        "clusterIP",
        "clusterIPs",
        "healthCheckNodePort",
        "internalTrafficPolicy",
        "ipFamilies",
        "ipFamilyPolicy",
        "progressDeadlineSeconds",
        "revisionHistoryLimit",
        "strategy",
        "sessionAffinityConfig",
    ] {
        spec.remove(defaulted);
    }
    if spec.get("externalTrafficPolicy") == Some(&json!("Cluster")) {
        spec.remove("externalTrafficPolicy");
    }
    for port in spec
        .get_mut("ports")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        let simulated = (30000..30010).contains(&port["nodePort"].as_u64().unwrap_or_default());
        if simulated || port["nodePort"] == "<node-port>" {
            port.as_object_mut().unwrap().remove("nodePort");
        }
    }
    // A Dataplane without a number leaves it to the API server, whose default is one.
    if spec.get("replicas") == Some(&json!(1)) {
        spec.remove("replicas");
    }
    if let Some(pod) = spec
        .get_mut("template")
        .and_then(|template| template["spec"].as_object_mut())
    {
        for defaulted in ["restartPolicy", "schedulerName"] {
            pod.remove(defaulted);
        }
        if pod.get("dnsPolicy") == Some(&json!("ClusterFirst")) {
            pod.remove("dnsPolicy");
        }
        if pod.get("securityContext") == Some(&json!({})) {
            pod.remove("securityContext");
        }
        for container in pod
            .get_mut("containers")
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten()
        {
            let container = container.as_object_mut().unwrap();
            container.remove("terminationMessagePath");
            container.remove("terminationMessagePolicy");
            if container.get("resources") == Some(&json!({})) {
                container.remove("resources");
            }
            let env = container
                .get("env")
                .and_then(Value::as_array)
                .cloned()
                .unwrap_or_default();
            let env: Map<String, Value> = env
                .into_iter()
                .map(|mut variable| {
                    let name = variable["name"].as_str().unwrap().to_owned();
                    if let Some(field) = variable
                        .pointer_mut("/valueFrom/fieldRef")
                        .and_then(Value::as_object_mut)
                    {
                        field.remove("apiVersion");
                    }
                    (name, variable)
                })
                .collect();
            container.insert("env".to_owned(), Value::Object(env));
            for probe in ["livenessProbe", "readinessProbe"] {
                if let Some(get) = container
                    .get_mut(probe)
                    .and_then(|probe| probe["httpGet"].as_object_mut())
                {
                    get.entry("scheme").or_insert(json!("HTTP"));
                }
            }
        }
    }
    object
}

pub fn normal_status(mut status: Value) -> Value {
    conditions(&mut status);
    let by = |list: &mut Value, key: &dyn Fn(&Value) -> String| {
        let Some(items) = list.as_array_mut() else {
            return;
        };
        let items: Map<String, Value> = items
            .iter_mut()
            .map(|item| {
                conditions(item);
                (key(item), item.take())
            })
            .collect();
        *list = Value::Object(items);
    };
    by(&mut status["listeners"], &|listener| {
        listener["name"].as_str().unwrap_or_default().to_owned()
    });
    by(&mut status["parents"], &|parent| {
        let parent = &parent["parentRef"];
        format!(
            "{}.{}",
            parent["name"].as_str().unwrap_or_default(),
            parent["sectionName"].as_str().unwrap_or_default()
        )
    });
    if let Some(status) = status.as_object_mut() {
        status.retain(|_, value| !value.is_null());
    }
    status
}

fn conditions(object: &mut Value) {
    let Some(list) = object["conditions"].as_array() else {
        return;
    };
    let conditions: Map<String, Value> = list
        .iter()
        .map(|condition| {
            let said = format!(
                "{}/{}/{}",
                condition["status"].as_str().unwrap_or_default(),
                condition["reason"].as_str().unwrap_or_default(),
                condition["observedGeneration"],
            );
            (
                condition["type"].as_str().unwrap_or_default().to_owned(),
                Value::String(said),
            )
        })
        .collect();
    object["conditions"] = Value::Object(conditions);
}
