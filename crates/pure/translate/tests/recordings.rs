//! What the Go operator rendered from 31 sets of manifests, against what we render.
//!
//! `recordings/NN-*/` holds the manifests and what a real API server held afterwards. Every difference must be listed
//! below with the row of `docs/compatibility.md` that explains it; a listed difference that is gone fails too.

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use stunner_translate::{Mode, Plan, Settings, Workload, translate};
use support::{documents, object, read, stored};

/// `(scenario prefix, path pattern, row of docs/compatibility.md)`; `*` in a pattern is one part of a path.
const DIFFERENCES: &[(&str, &str, &str)] = &[
    // Of every Gateway.
    (
        "",
        "status/*/listeners/*/conditions/Programmed",
        "listener condition `Programmed`",
    ),
    (
        "",
        "status/*/listeners/*/supportedKinds",
        "`supportedKinds` of a listener",
    ),
    (
        "",
        "status/*/supportedFeatures",
        "`supportedFeatures` of a class",
    ),
    (
        "",
        "Deployment/*/spec/template/spec/automountServiceAccountToken",
        "ServiceAccount token in dataplane pods",
    ),
    (
        "",
        "Deployment/*/spec/template/spec/containers/0/env/STUNNER_ADDRS",
        "further variables in dataplane pods",
    ),
    (
        "",
        "Deployment/*/spec/template/spec/containers/0/env/STUNNER_DRAIN_TIMEOUT",
        "further variables in dataplane pods",
    ),
    (
        "",
        "Deployment/*/spec/template/spec/containers/0/env/STUNNER_READY_WHILE_DRAINING",
        "further variables in dataplane pods",
    ),
    (
        "",
        "Deployment/*/spec/template/spec/containers/0/resources",
        "a Dataplane without `resources`",
    ),
    (
        "",
        "Deployment/*/spec/template/spec/containers/0/securityContext",
        "privileges of dataplane pods",
    ),
    (
        "",
        "Deployment/*/spec/template/spec/securityContext",
        "privileges of dataplane pods",
    ),
    (
        "",
        "Deployment/*/spec/template/spec/terminationGracePeriodSeconds",
        "a Dataplane without `terminationGracePeriodSeconds`",
    ),
    (
        "",
        "Deployment/*/spec/template/spec/containers/0/imagePullPolicy",
        "a Dataplane without `imagePullPolicy`",
    ),
    // Settings that the Go operator's free build ignores.
    (
        "05",
        "config/*/admin/user_quota",
        "`userQuota`, `stunMode`, `authLifetime`",
    ),
    (
        "05",
        "config/*/auth",
        "`userQuota`, `stunMode`, `authLifetime`",
    ),
    (
        "31",
        "config/*/admin",
        "`metricsEndpoint`, `healthCheckEndpoint`, `minPort`, `maxPort`",
    ),
    (
        "23",
        "config/*/listeners/*/address",
        "`enable-relay-address-discovery`",
    ),
    (
        "23",
        "Deployment/stunner.udp-gateway",
        "`dataplaneResource: DaemonSet`",
    ),
    (
        "21",
        "Deployment/*/spec/template/spec/containers/0/envFrom",
        "`envFrom` of a Dataplane",
    ),
    (
        "21",
        "Deployment/*/spec/template/spec/containers/0/env/STUNNER_ADMIN_ADDRESS",
        "further variables in dataplane pods",
    ),
    (
        "21",
        "Deployment/*/spec/template/spec/dnsPolicy",
        "`hostNetwork` of a Dataplane",
    ),
    (
        "22",
        "Deployment/*/spec/template/spec/containers/0/env",
        "config discovery of our own image",
    ),
    (
        "22",
        "Deployment/*/spec/template/spec/containers/0/volumeMounts",
        "config discovery of our own image",
    ),
    (
        "22",
        "Deployment/*/spec/template/spec/volumes",
        "config discovery of our own image",
    ),
    (
        "22",
        "Deployment/*/spec/template/spec/containers/0/image",
        "a Dataplane without `image`",
    ),
    // Broken inputs.
    (
        "08",
        "status/*/conditions/Accepted",
        "reason of a Gateway with broken inputs",
    ),
    (
        "24",
        "status/*/conditions/Accepted",
        "reason of a Gateway with broken inputs",
    ),
    (
        "09",
        "config/stunner.udp-gateway",
        "auth Secret with `type: none`",
    ),
    (
        "09",
        "Service/stunner.udp-gateway",
        "auth Secret with `type: none`",
    ),
    (
        "09",
        "Deployment/stunner.udp-gateway",
        "auth Secret with `type: none`",
    ),
    ("09", "status", "auth Secret with `type: none`"),
    // The recordings' certificates are none.
    (
        "10",
        "config/*/listeners",
        "TLS or DTLS listener without a usable certificate",
    ),
    (
        "10",
        "Service/*/spec/ports",
        "TLS or DTLS listener without a usable certificate",
    ),
    (
        "10",
        "status/*/listeners",
        "TLS or DTLS listener without a usable certificate",
    ),
    (
        "11",
        "config/*/listeners",
        "TLS or DTLS listener without a usable certificate",
    ),
    (
        "11",
        "Service/*/spec/ports",
        "TLS or DTLS listener without a usable certificate",
    ),
    (
        "11",
        "status/*/listeners",
        "TLS or DTLS listener without a usable certificate",
    ),
    (
        "11",
        "status/*/conditions/Programmed",
        "TLS or DTLS listener without a usable certificate",
    ),
    (
        "26",
        "config/*/listeners/stunner.udp-gateway.bare-tls",
        "TLS or DTLS listener without a usable certificate",
    ),
    (
        "26",
        "status/*/listeners/bare-tls",
        "TLS or DTLS listener without a usable certificate",
    ),
    ("26", "Service/stunner.udp-gateway", "conflicting listeners"),
    (
        "26",
        "config/*/listeners/stunner.udp-gateway.udp-listener",
        "conflicting listeners",
    ),
    ("26", "status/*/addresses", "conflicting listeners"),
    // Routes and backends.
    (
        "14",
        "config/*/listeners/*/routes",
        "a route with two parentRefs to one listener",
    ),
    (
        "14",
        "status/*/listeners/*/attachedRoutes",
        "a route with two parentRefs to one listener",
    ),
    (
        "15",
        "config/*/clusters/stunner.backwards/endpoints",
        "`endPort` without `port`, or below it",
    ),
    (
        "15",
        "config/*/clusters/stunner.end-only/endpoints",
        "`endPort` without `port`, or below it",
    ),
    (
        "15",
        "status/*/parents/*/conditions/ResolvedRefs",
        "`endPort` without `port`, or below it",
    ),
    (
        "27",
        "config/*/clusters/stunner.bad-prefix",
        "unparsable prefix or address",
    ),
    (
        "27",
        "config/*/clusters/stunner.missing-first/endpoints",
        "missing backend beside others",
    ),
    (
        "27",
        "config/*/clusters/stunner.two-rules/endpoints",
        "several rules in a route",
    ),
    (
        "27",
        "status/*/parents/*/conditions/ResolvedRefs",
        "headless Service as backend",
    ),
    (
        "29",
        "config/*/clusters/*/endpoints",
        "port of a backend with endpoint discovery off",
    ),
    // Services and addresses.
    (
        "18",
        "Deployment/*/metadata/annotations",
        "annotations of the GatewayConfig on the Deployment",
    ),
    (
        "20",
        "config/stunner.internal/listeners/*/public_address",
        "public address of a ClusterIP Service",
    ),
    (
        "20",
        "config/stunner.internal/listeners/*/public_port",
        "public address of a ClusterIP Service",
    ),
    (
        "20",
        "status/gateway.networking.k8s.io.Gateway.stunner.internal",
        "public address of a ClusterIP Service",
    ),
    (
        "20",
        "Service/stunner.fixed-ip/spec/externalIPs",
        "`spec.addresses` with an IP address",
    ),
    (
        "30",
        "ConfigMap/*/metadata/ownerReferences",
        "owner of the legacy ConfigMap",
    ),
];

/// Scenarios in which nobody assigns load balancer addresses.
const NO_LOAD_BALANCER: &[&str] = &["02", "19", "20"];

#[test]
fn every_recording_is_rendered_alike_or_the_difference_is_named() {
    let compatibility = read(&repository().join("docs/compatibility.md"));
    let mut used = BTreeSet::new();
    let mut unnamed = Vec::new();
    for folder in folders() {
        let scenario = folder.file_name().unwrap().to_string_lossy().into_owned();
        for difference in differences(&folder, &scenario) {
            let path = difference.split(' ').next().unwrap_or_default();
            let named = DIFFERENCES.iter().position(|(prefix, pattern, _)| {
                scenario.starts_with(prefix) && matches(pattern, path)
            });
            match named {
                Some(index) => {
                    used.insert(index);
                }
                None => unnamed.push(format!("{scenario}: {difference}")),
            }
        }
    }
    assert!(
        unnamed.is_empty(),
        "unnamed differences:\n{}",
        unnamed.join("\n")
    );
    for (index, (prefix, pattern, row)) in DIFFERENCES.iter().enumerate() {
        assert!(
            used.contains(&index),
            "no longer a difference: {prefix} {pattern}"
        );
        assert!(
            compatibility.contains(row),
            "docs/compatibility.md has no row `{row}`"
        );
    }
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

fn folders() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings");
    let mut folders: Vec<_> = std::fs::read_dir(root)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    folders.sort();
    assert_eq!(folders.len(), 31);
    folders
}

/// Whether `path` is at or below `pattern`.
fn matches(pattern: &str, path: &str) -> bool {
    let mut parts = path.split('/');
    pattern.split('/').all(|wanted| {
        parts
            .next()
            .is_some_and(|part| wanted == "*" || wanted == part)
    })
}

fn settings(scenario: &str) -> Settings {
    let mut settings = Settings::default();
    settings.cds.plain_origin = "http://10.244.0.5:13478".to_owned();
    match &scenario[..2] {
        "29" => settings.endpoint_discovery = false,
        "30" => settings.mode = Mode::Legacy,
        _ => {}
    }
    settings
}

fn differences(folder: &Path, scenario: &str) -> Vec<String> {
    let settings = settings(scenario);
    let mut world = documents(&read(&folder.join("in.yaml")));
    for (name, labels) in [
        ("stunner-system", json!({})),
        ("stunner", json!({})),
        ("media", json!({})),
        ("other", json!({"tier": "media"})),
    ] {
        world.push(json!({"apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": name, "labels": labels}}));
    }
    for document in &mut world {
        if document["kind"] == "Node" {
            document["status"] = json!({"addresses": [
                {"type": "InternalIP", "address": "192.0.2.50"},
                {"type": "ExternalIP", "address": "203.0.113.50"},
            ]});
        }
    }
    // The first pass makes the Services; the API server and a load balancer fill them in for the second.
    let mut snapshot = support::snapshot(&world);
    let first = translate(&snapshot, &settings);
    let recorded_services = by_name(&documents(&read(&folder.join("service.yaml"))));
    for service in live_services(&first, scenario, &recorded_services) {
        snapshot.apply(object(&stored(service)).unwrap());
    }
    let plan = translate(&snapshot, &settings);

    let mut found = Vec::new();
    compare_configs(folder, &plan, &mut found);
    let ours = workloads(&plan);
    for (kind, file) in [
        ("Service", "service.yaml"),
        ("Deployment", "deployment.yaml"),
        ("ConfigMap", "configmap.yaml"),
    ] {
        let path = folder.join(file);
        let recorded = if path.exists() {
            by_name(&documents(&read(&path)))
        } else {
            BTreeMap::new()
        };
        let ours: BTreeMap<_, _> = ours
            .iter()
            .filter(|object| object["kind"] == kind)
            .map(|object| (name_of(object), normal(object.clone())))
            .collect();
        let recorded: BTreeMap<_, _> = recorded
            .into_iter()
            .map(|(name, object)| (name, normal(object)))
            .collect();
        compare(&json!(recorded), &json!(ours), kind, &mut found);
    }
    let statuses = documents(&read(&folder.join("statuses.yaml")));
    compare_statuses(&statuses, &plan, &mut found);
    found
}

fn name_of(object: &Value) -> String {
    let metadata = &object["metadata"];
    let namespace = metadata["namespace"].as_str().unwrap_or_default();
    // `/` separates the parts of a path.
    format!(
        "{namespace}.{}",
        metadata["name"].as_str().unwrap_or_default()
    )
}

fn by_name(objects: &[Value]) -> BTreeMap<String, Value> {
    objects
        .iter()
        .map(|object| (name_of(object), object.clone()))
        .collect()
}

fn workloads(plan: &Plan) -> Vec<Value> {
    let gateways = plan
        .gateways
        .values()
        .flat_map(|gateway| &gateway.workloads);
    let classes = plan.classes.values().flat_map(|class| &class.workloads);
    gateways
        .chain(classes)
        .map(|workload| match workload {
            Workload::Service(object) => serde_json::to_value(object),
            Workload::ConfigMap(object) => serde_json::to_value(object),
            Workload::Deployment(object) => serde_json::to_value(object),
            Workload::DaemonSet(object) => serde_json::to_value(object),
        })
        .map(|object| object.expect("objects serialise"))
        .collect()
}

/// Our Services as the recording's API server and load balancer left theirs.
fn live_services(plan: &Plan, scenario: &str, recorded: &BTreeMap<String, Value>) -> Vec<Value> {
    let mut services: Vec<_> = workloads(plan)
        .into_iter()
        .filter(|object| object["kind"] == "Service")
        .collect();
    services.sort_by_key(name_of);
    let mut next_address = 10;
    for service in &mut services {
        service["spec"]["clusterIP"] = json!("10.96.0.1");
        let type_ = service["spec"]["type"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let ports = service["spec"]["ports"].as_array_mut().expect("ports");
        for (index, port) in ports.iter_mut().enumerate() {
            if type_ != "ClusterIP" && port.get("nodePort").is_none() {
                port["nodePort"] = json!(30000 + index);
            }
        }
        if type_ == "LoadBalancer" && !NO_LOAD_BALANCER.contains(&&scenario[..2]) {
            service["status"] = recorded
                .get(&name_of(service))
                .map(|service| service["status"].clone())
                .filter(|status| !status["loadBalancer"]["ingress"].is_null())
                .unwrap_or_else(|| json!({"loadBalancer": {"ingress": [{"ip": format!("198.51.100.{next_address}")}]}}));
            next_address += 1;
        }
    }
    services
}

fn compare_configs(folder: &Path, plan: &Plan, found: &mut Vec<String>) {
    let recorded: Value = serde_json::from_str(&read(&folder.join("config.json"))).unwrap();
    let key = |config: &Value| {
        config["admin"]["name"]
            .as_str()
            .unwrap_or_default()
            .replace('/', ".")
    };
    let recorded: Map<String, Value> = recorded["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|config| (key(config), normal_config(config.clone())))
        .collect();
    let ours: Map<String, Value> = plan
        .configs()
        .map(|(_, config)| config.to_json())
        .map(|config| (key(&config), normal_config(config)))
        .collect();
    compare(
        &Value::Object(recorded),
        &Value::Object(ours),
        "config",
        found,
    );
}

/// The Go operator's order of clusters and routes is that of a hash table.
fn normal_config(mut config: Value) -> Value {
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
fn normal(mut object: Value) -> Value {
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

/// Conditions by type with status and reason; the words are our own.
fn compare_statuses(recorded: &[Value], plan: &Plan, found: &mut Vec<String>) {
    let mut theirs = Map::new();
    for object in recorded {
        let group = object["apiVersion"]
            .as_str()
            .unwrap_or_default()
            .split('/')
            .next()
            .unwrap_or_default();
        let key = format!(
            "{group}.{}.{}",
            object["kind"].as_str().unwrap_or_default(),
            name_of(object)
        );
        theirs.insert(key, normal_status(object["status"].clone()));
    }
    let mut ours = Map::new();
    for (name, class) in &plan.classes {
        let key = format!("gateway.networking.k8s.io.GatewayClass..{name}");
        ours.insert(
            key,
            normal_status(serde_json::to_value(&class.status).unwrap()),
        );
    }
    for (name, gateway) in &plan.gateways {
        let key = format!(
            "gateway.networking.k8s.io.Gateway.{}.{}",
            name.namespace, name.name
        );
        ours.insert(
            key,
            normal_status(serde_json::to_value(&gateway.status).unwrap()),
        );
    }
    for ((kind, name), route) in &plan.routes {
        let group = match kind {
            stunner_translate::RouteKind::Udp => "stunner.l7mp.io",
            _ => "gateway.networking.k8s.io",
        };
        let key = format!("{group}.UDPRoute.{}.{}", name.namespace, name.name);
        ours.insert(
            key,
            normal_status(serde_json::to_value(&route.status).unwrap()),
        );
    }
    compare(
        &Value::Object(theirs),
        &Value::Object(ours),
        "status",
        found,
    );
}

fn normal_status(mut status: Value) -> Value {
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

fn compare(recorded: &Value, ours: &Value, path: &str, found: &mut Vec<String>) {
    match (recorded, ours) {
        (Value::Object(recorded), Value::Object(ours)) => {
            let keys: BTreeSet<_> = recorded.keys().chain(ours.keys()).collect();
            for key in keys {
                let part = key.replace('/', "~");
                let below = format!("{path}/{part}");
                compare(
                    recorded.get(key).unwrap_or(&Value::Null),
                    ours.get(key).unwrap_or(&Value::Null),
                    &below,
                    found,
                );
            }
        }
        (Value::Array(recorded), Value::Array(ours)) if recorded.len() == ours.len() => {
            for (index, (recorded, ours)) in recorded.iter().zip(ours).enumerate() {
                compare(recorded, ours, &format!("{path}/{index}"), found);
            }
        }
        _ if recorded == ours => {}
        _ => found.push(format!("{path} recorded {recorded} ours {ours}")),
    }
}
