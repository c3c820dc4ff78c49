use super::*;
use crate::fixture::World;
use serde_json::{Value, json};

fn world() -> World {
    World::with_listeners(&["udp UDP 3478"])
}

fn made(world: &World) -> Vec<Value> {
    let (workloads, _) = world.translated(workloads);
    workloads
        .iter()
        .map(|workload| match workload {
            Workload::Deployment(object) => serde_json::to_value(object),
            Workload::DaemonSet(object) => serde_json::to_value(object),
            Workload::ConfigMap(object) => serde_json::to_value(object),
            Workload::Service(object) => serde_json::to_value(object),
        })
        .collect::<Result<_, _>>()
        .expect("objects can be written")
}

fn template(world: &World) -> Value {
    made(world).pop().expect("a workload")["spec"]["template"].take()
}

fn container(world: &World) -> Value {
    template(world)["spec"]["containers"][0].take()
}

/// Names of the environment variables.
fn variables(world: &World) -> Vec<String> {
    let container = container(world);
    let list = container["env"].as_array().expect("a list");
    list.iter()
        .map(|variable| variable["name"].as_str().unwrap_or_default().to_owned())
        .collect()
}

fn variable(world: &World, name: &str) -> Value {
    let mut container = container(world);
    let list = container["env"].as_array_mut().expect("a list");
    list.iter_mut()
        .find(|variable| variable["name"] == name)
        .map(|variable| variable["value"].take())
        .unwrap_or_default()
}

#[test]
fn u52_the_default_deployment() {
    let world = world().with_dataplane(json!({"image": "example.test/stunnerd:1", "replicas": 3}));
    let [deployment] = &made(&world)[..] else {
        panic!("one object, since the image is not ours");
    };
    assert_eq!(deployment["kind"], "Deployment");
    assert_eq!(deployment["spec"]["replicas"], 3);
    assert_eq!(
        deployment["spec"]["selector"],
        json!({"matchExpressions": [
            {"key": "app", "operator": "In", "values": ["stunner"]},
            {"key": "stunner.l7mp.io/related-gateway-name", "operator": "In", "values": ["gw"]},
            {"key": "stunner.l7mp.io/related-gateway-namespace", "operator": "In", "values": ["stunner"]},
        ]})
    );
    let container = container(&world);
    assert_eq!(container["name"], "stunner-daemon");
    assert_eq!(container["command"], json!(["stunnerd"]));
    assert_eq!(container["args"], json!(["-w", "--udp-thread-num=16"]));
    assert_eq!(container["livenessProbe"]["httpGet"]["path"], "/live");
    assert_eq!(container["readinessProbe"]["httpGet"]["port"], 8086);
    assert_eq!(container["ports"][0]["containerPort"], 8080);
    assert_eq!(container.get("imagePullPolicy"), None);
    assert_eq!(container.get("resources"), None);
    assert_eq!(
        variables(&world)[..5],
        [
            "STUNNER_ADDR",
            "STUNNER_NAME",
            "STUNNER_NAMESPACE",
            "STUNNER_NODENAME",
            "STUNNER_CONFIG_ORIGIN"
        ]
    );
    assert_eq!(
        variable(&world, "STUNNER_CONFIG_ORIGIN"),
        "http://stunner-config-discovery.stunner-system.svc:13478"
    );
    let template = template(&world);
    assert_eq!(template["spec"]["terminationGracePeriodSeconds"], 30);
    assert_eq!(template["spec"].get("hostNetwork"), None);
    assert_eq!(template["spec"].get("volumes"), None);
}

#[test]
fn u53_a_dataplane_overrides_what_is_not_mandatory() {
    let world = world().with_dataplane(json!({
        "image": "example.test/stunnerd:1",
        "imagePullPolicy": "Always",
        "imagePullSecrets": [{"name": "b"}, {"name": "a"}, {"name": "b"}],
        "labels": {"tier": "media", "app": "other"},
        "annotations": {"x": "y", "stunner.l7mp.io/related-gateway-name": "forged"},
        "command": ["run"],
        "args": ["fast"],
        "resources": {"limits": {"memory": "1Gi"}},
        "terminationGracePeriodSeconds": 3600,
        "disableHealthCheck": true,
        "envFrom": [{"configMapRef": {"name": "more"}}],
        "tolerations": [{"operator": "Exists"}],
        "topologySpreadConstraints": [
            {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"},
        ],
        "affinity": {"nodeAffinity": {}},
    }));
    let template = template(&world);
    assert_eq!(
        template["metadata"],
        json!({
            "labels": {
                "app": "stunner",
                "tier": "media",
                "stunner.l7mp.io/related-gateway-name": "gw",
                "stunner.l7mp.io/related-gateway-namespace": "stunner",
            },
            "annotations": {"x": "y", "stunner.l7mp.io/related-gateway-name": "stunner/gw"},
        })
    );
    let spec = &template["spec"];
    assert_eq!(
        spec["imagePullSecrets"],
        json!([{"name": "a"}, {"name": "b"}])
    );
    assert_eq!(spec["terminationGracePeriodSeconds"], 3600);
    assert_eq!(spec["tolerations"], json!([{"operator": "Exists"}]));
    assert_eq!(spec["topologySpreadConstraints"][0]["topologyKey"], "zone");
    assert_eq!(spec["affinity"], json!({"nodeAffinity": {}}));
    let container = &spec["containers"][0];
    assert_eq!(container["command"], json!(["run"]));
    assert_eq!(container["args"], json!(["fast"]));
    assert_eq!(container["imagePullPolicy"], "Always");
    assert_eq!(container["resources"]["limits"]["memory"], "1Gi");
    assert_eq!(container["envFrom"][0]["configMapRef"]["name"], "more");
    assert_eq!(container.get("livenessProbe"), None);
    assert_eq!(container.get("readinessProbe"), None);
    assert_eq!(variable(&world, "STUNNER_DRAIN_TIMEOUT"), "3595s");
}

#[test]
fn the_template_does_not_depend_on_listeners_and_annotations() {
    let other = World::with_listeners(&["tcp TCP 443", "udp UDP 1"])
        .annotate("x", "y")
        .annotate("stunner.l7mp.io/targetport", r#"{"tcp":8443}"#)
        .annotate_config("z", "w");
    assert_eq!(template(&world()), template(&other));
}

#[test]
fn variables_of_the_dataplane_win_and_no_name_occurs_twice() {
    let world = world().with_dataplane(json!({"image": "x", "env": [
        {"name": "EXTRA", "value": "1"},
        {"name": "STUNNER_NAME", "value": "mine"},
        {"name": "EXTRA", "value": "2"},
    ]}));
    let names = variables(&world);
    let unique: std::collections::BTreeSet<&String> = names.iter().collect();
    assert_eq!(unique.len(), names.len());
    assert_eq!(variable(&world, "EXTRA"), "2");
    assert_eq!(variable(&world, "STUNNER_NAME"), "mine");
}

#[test]
fn our_image_finds_config_discovery_by_tls_with_a_token() {
    let mut world = world();
    world.settings.cds.ca_certificate = Some("PEM".to_owned());
    let objects = made(&world);
    assert_eq!(objects.len(), 2);
    assert_eq!(objects[0]["metadata"]["name"], "gw-config-discovery");
    assert_eq!(objects[0]["data"], json!({"ca.crt": "PEM"}));
    assert_eq!(
        objects[0]["metadata"]["ownerReferences"][0]["uid"],
        "gw-uid"
    );
    assert_eq!(
        variable(&world, "STUNNER_CONFIG_ORIGIN"),
        "https://stunner-config-discovery.stunner-system.svc:13479"
    );
    let template = template(&world);
    let sources = &template["spec"]["volumes"][0]["projected"]["sources"];
    assert_eq!(
        sources[0]["serviceAccountToken"]["audience"],
        "stunner.l7mp.io/config-discovery/stunner/gw"
    );
    assert_eq!(sources[1]["configMap"]["name"], "gw-config-discovery");
    let mounts = &template["spec"]["containers"][0]["volumeMounts"];
    assert_eq!(mounts[0]["mountPath"], "/var/run/secrets/stunner.l7mp.io");

    world.settings.cds.tls_origin = None;
    assert_eq!(made(&world).len(), 1, "the TLS port is off");
    assert_eq!(
        variable(&world, "STUNNER_CONFIG_ORIGIN"),
        "http://stunner-config-discovery.stunner-system.svc:13478"
    );
}

#[test]
fn pods_run_without_rights_and_may_listen_on_any_port() {
    let template = template(&world());
    assert_eq!(
        template["spec"]["securityContext"],
        json!({
            "runAsNonRoot": true,
            "runAsUser": 65532,
            "runAsGroup": 65532,
            "seccompProfile": {"type": "RuntimeDefault"},
            "sysctls": [{"name": "net.ipv4.ip_unprivileged_port_start", "value": "0"}],
        })
    );
    assert_eq!(
        template["spec"]["containers"][0]["securityContext"],
        json!({
            "allowPrivilegeEscalation": false,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": true,
        })
    );
}

#[test]
fn in_the_network_of_the_node_a_capability_takes_the_place_of_the_sysctl() {
    let world = world().with_dataplane(json!({"hostNetwork": true}));
    let spec = template(&world)["spec"].take();
    assert_eq!(spec["hostNetwork"], true);
    assert_eq!(spec["dnsPolicy"], "ClusterFirstWithHostNet");
    assert_eq!(spec["securityContext"].get("sysctls"), None);
    assert_eq!(
        spec["containers"][0]["securityContext"]["capabilities"],
        json!({"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]})
    );
    assert_eq!(variable(&world, "STUNNER_ADMIN_ADDRESS"), "off");
}

#[test]
fn a_dataplane_wins_field_by_field_over_the_security_defaults() {
    let spec = |dataplane| template(&world().with_dataplane(dataplane))["spec"].take();
    let rooted = spec(json!({
        "securityContext": {"runAsUser": 0, "sysctls": [{"name": "a", "value": "b"}]},
        "containerSecurityContext": {"privileged": true},
    }));
    let pod = &rooted["securityContext"];
    assert_eq!(pod["runAsUser"], 0);
    assert_eq!(pod.get("runAsNonRoot"), None);
    assert_eq!(pod["sysctls"].as_array().map(Vec::len), Some(2));
    let container = &rooted["containers"][0]["securityContext"];
    assert_eq!(container["privileged"], true);
    assert_eq!(container.get("allowPrivilegeEscalation"), None);

    let rooted = spec(json!({"containerSecurityContext": {"runAsUser": 0}}));
    assert_eq!(rooted["securityContext"].get("runAsNonRoot"), None);
    let tuned = spec(json!({
        "securityContext": {"sysctls": [
            {"name": "net.ipv4.ip_unprivileged_port_start", "value": "443"},
        ]},
        "containerSecurityContext": {"capabilities": {"add": ["SYS_ADMIN"], "drop": []}},
    }));
    assert_eq!(tuned["securityContext"]["sysctls"][0]["value"], "443");
    assert_eq!(
        tuned["containers"][0]["securityContext"]["capabilities"],
        json!({"add": ["SYS_ADMIN"], "drop": []})
    );
    assert_eq!(
        tuned["containers"][0]["securityContext"].get("allowPrivilegeEscalation"),
        None
    );
}

#[test]
fn a_daemon_set_takes_the_place_of_the_deployment_and_back() {
    let world = world().with_dataplane(json!({"dataplaneResource": "daemonset", "replicas": 2}));
    let objects = made(&world);
    assert_eq!(objects[0]["kind"], "DaemonSet");
    assert_eq!(objects[0]["spec"].get("replicas"), None);
    assert_eq!(world.translated(workloads).1, [WorkloadKind::Deployment]);
    let world = world.with_dataplane(json!({}));
    assert_eq!(world.translated(workloads).1, [WorkloadKind::DaemonSet]);
}

#[test]
fn a_gateway_without_managed_dataplane_retires_both_kinds() {
    let world = world().annotate("stunner.l7mp.io/disable-managed-dataplane", "true");
    assert_eq!(
        world.translated(workloads),
        (
            vec![],
            vec![WorkloadKind::Deployment, WorkloadKind::DaemonSet]
        )
    );
}

#[test]
fn without_a_dataplane_what_runs_is_left_alone() {
    let mut world = world();
    world.dataplane = None;
    assert_eq!(world.translated(workloads), (vec![], vec![]));
    let mut world = World::with_listeners(&["udp UDP 3478"]);
    world.settings.mode = Mode::Legacy;
    assert_eq!(world.translated(workloads), (vec![], vec![]));
}
