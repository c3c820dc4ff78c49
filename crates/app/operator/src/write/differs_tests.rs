//! Live objects here are as an API server stores them: with defaults, canonical quantities and `managedFields`.

use serde_json::{Value, json};

use super::*;

fn live(object: Value, fields: Value) -> Value {
    let mut live = object;
    live["metadata"]["managedFields"] = json!([
        {"manager": "kube-controller-manager", "operation": "Update", "subresource": "status", "fieldsV1": {"f:status": {}}},
        {"manager": FIELD_MANAGER, "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": fields},
    ]);
    live
}

fn desired_service() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {
            "name": "gw", "namespace": "ns",
            "labels": {"stunner.l7mp.io/owned-by": "stunner"},
            "annotations": {"a": "1", "empty": ""},
            "ownerReferences": [{"apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway", "name": "gw", "uid": "u1"}],
        },
        "spec": {
            "type": "LoadBalancer",
            "selector": {"app": "stunner"},
            "sessionAffinity": "ClientIP",
            "ports": [
                {"name": "udp", "port": 3478, "protocol": "UDP", "targetPort": 3478},
                {"name": "tcp", "port": 3478, "protocol": "TCP", "targetPort": 3478},
            ],
        },
    })
}

fn service_fields() -> Value {
    let port = json!({".": {}, "f:name": {}, "f:port": {}, "f:protocol": {}, "f:targetPort": {}});
    json!({
        "f:metadata": {
            "f:annotations": {"f:a": {}, "f:empty": {}},
            "f:labels": {"f:stunner.l7mp.io/owned-by": {}},
            "f:ownerReferences": {r#"k:{"uid":"u1"}"#: {}},
        },
        "f:spec": {
            "f:ports": {r#"k:{"port":3478,"protocol":"UDP"}"#: port, r#"k:{"port":3478,"protocol":"TCP"}"#: port},
            "f:selector": {},
            "f:sessionAffinity": {},
            "f:type": {},
        },
    })
}

fn live_service() -> Value {
    let mut object = desired_service();
    object["metadata"]["uid"] = json!("s1");
    object["metadata"]["resourceVersion"] = json!("123");
    object["metadata"]["annotations"]["theirs"] = json!("x");
    object["metadata"]["ownerReferences"]
        .as_array_mut()
        .unwrap()
        .insert(
            0,
            json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "u0"}),
        );
    object["spec"]["clusterIP"] = json!("10.96.0.1");
    object["spec"]["ports"][0]["nodePort"] = json!(30001);
    object["spec"]["ports"][1]["nodePort"] = json!(30002);
    object["spec"]["sessionAffinityConfig"] = json!({"clientIP": {"timeoutSeconds": 10800}});
    object["status"] = json!({"loadBalancer": {}});
    live(object, service_fields())
}

#[track_caller]
fn differs(desired: &Value, live: &Value, expected: Difference) {
    assert_eq!(difference(desired, live), Some(expected));
}

#[test]
fn defaults_foreign_fields_and_second_owners_are_no_difference() {
    assert_eq!(difference(&desired_service(), &live_service()), None);
}

#[test]
fn an_object_that_we_never_applied_differs() {
    let mut live = live_service();
    live["metadata"]["managedFields"]
        .as_array_mut()
        .unwrap()
        .pop();
    differs(&desired_service(), &live, Difference::NeverApplied);
    live["metadata"]
        .as_object_mut()
        .unwrap()
        .shift_remove("managedFields");
    differs(&desired_service(), &live, Difference::NeverApplied);
}

#[test]
fn another_value_is_a_difference() {
    let mut desired = desired_service();
    desired["spec"]["sessionAffinity"] = json!("None");
    differs(
        &desired,
        &live_service(),
        Difference::Value("spec.sessionAffinity".into()),
    );

    let mut desired = desired_service();
    desired["spec"]["ports"][1]["targetPort"] = json!(13478);
    let path = "spec.ports.[3478 \"TCP\"].targetPort";
    differs(&desired, &live_service(), Difference::Value(path.into()));

    let mut live = live_service();
    live["metadata"]["annotations"]["a"] = json!("2");
    differs(
        &desired_service(),
        &live,
        Difference::Value("metadata.annotations.a".into()),
    );
}

#[test]
fn a_new_field_is_a_difference() {
    let mut desired = desired_service();
    desired["spec"]["loadBalancerIP"] = json!("192.0.2.1");
    differs(
        &desired,
        &live_service(),
        Difference::Value("spec.loadBalancerIP".into()),
    );

    let mut desired = desired_service();
    let port = json!({"name": "x", "port": 5349, "protocol": "TCP", "targetPort": 5349});
    desired["spec"]["ports"].as_array_mut().unwrap().push(port);
    differs(
        &desired,
        &live_service(),
        Difference::Value("spec.ports".into()),
    );
}

#[test]
fn a_value_that_somebody_else_owns_is_a_difference() {
    let mut desired = desired_service();
    desired["metadata"]["annotations"]["theirs"] = json!("x");
    differs(
        &desired,
        &live_service(),
        Difference::NotOurs("metadata.annotations.theirs".into()),
    );
}

#[test]
fn what_we_own_and_ask_for_no_longer_is_a_difference() {
    let mut desired = desired_service();
    desired["metadata"]["annotations"]
        .as_object_mut()
        .unwrap()
        .shift_remove("a");
    differs(
        &desired,
        &live_service(),
        Difference::Stale("metadata.annotations.a".into()),
    );

    let mut desired = desired_service();
    desired["metadata"]
        .as_object_mut()
        .unwrap()
        .shift_remove("annotations");
    differs(
        &desired,
        &live_service(),
        Difference::Stale("metadata.annotations".into()),
    );

    let mut desired = desired_service();
    desired["spec"]["sessionAffinity"] = Value::Null;
    differs(
        &desired,
        &live_service(),
        Difference::Stale("spec.sessionAffinity".into()),
    );

    let mut desired = desired_service();
    desired["spec"]["ports"].as_array_mut().unwrap().pop();
    let path = r#"spec.ports.k:{"port":3478,"protocol":"TCP"}"#;
    differs(&desired, &live_service(), Difference::Stale(path.into()));

    let mut desired = desired_service();
    desired["spec"]["ports"][0]
        .as_object_mut()
        .unwrap()
        .shift_remove("targetPort");
    let path = r#"spec.ports.k:{"port":3478,"protocol":"UDP"}.targetPort"#;
    differs(&desired, &live_service(), Difference::Stale(path.into()));
}

#[test]
fn the_owner_reference_of_an_earlier_gateway_is_a_difference() {
    let mut desired = desired_service();
    desired["metadata"]["ownerReferences"][0]["uid"] = json!("u2");
    differs(
        &desired,
        &live_service(),
        Difference::Value("metadata.ownerReferences".into()),
    );
}

#[test]
fn a_value_that_is_one_for_the_api_server_is_compared_as_one() {
    let mut live = live_service();
    live["spec"]["selector"]["more"] = json!("x");
    differs(
        &desired_service(),
        &live,
        Difference::Value("spec.selector".into()),
    );
}

#[test]
fn a_port_that_nobody_asked_for_is_a_difference() {
    let mut live = live_service();
    let port = json!({"name": "theirs", "port": 9, "protocol": "TCP", "targetPort": 9});
    live["spec"]["ports"].as_array_mut().unwrap().push(port);
    differs(
        &desired_service(),
        &live,
        Difference::Excess("spec.ports".into()),
    );
}

#[test]
fn the_order_of_keyed_lists_does_not_count() {
    let mut desired = desired_service();
    desired["spec"]["ports"].as_array_mut().unwrap().reverse();
    assert_eq!(difference(&desired, &live_service()), None);
}

fn desired_deployment() -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "gw", "namespace": "ns"},
        "spec": {"template": {"spec": {
            "hostNetwork": false,
            "tolerations": [{"key": "media", "operator": "Exists"}],
            "volumes": [
                {"name": "scratch", "emptyDir": {}},
                {"name": "token", "projected": {"sources": [{"serviceAccountToken": {"audience": "a", "path": "token"}}]}},
            ],
            "containers": [{
                "name": "stunner-daemon",
                "args": ["-w"],
                "env": [
                    {"name": "ADDR", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
                    {"name": "EMPTY", "value": ""},
                ],
                "ports": [{"containerPort": 8080, "name": "metrics-port"}],
                "resources": {"limits": {"cpu": "2000m", "memory": "0.5Gi"}},
                "securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}},
                "volumeMounts": [{"mountPath": "/scratch", "name": "scratch"}],
            }],
        }}},
    })
}

fn live_deployment() -> Value {
    let mut object = desired_deployment();
    let pod = &mut object["spec"]["template"]["spec"];
    // The API server leaves out zeroes, fills in defaults and rewrites quantities.
    pod.as_object_mut().unwrap().shift_remove("hostNetwork");
    pod["restartPolicy"] = json!("Always");
    pod["volumes"][1]["projected"]["defaultMode"] = json!(420);
    pod["volumes"][1]["projected"]["sources"][0]["serviceAccountToken"]["expirationSeconds"] =
        json!(3600);
    let container = &mut pod["containers"][0];
    container["env"][0]["valueFrom"]["fieldRef"]["apiVersion"] = json!("v1");
    container["env"][1]
        .as_object_mut()
        .unwrap()
        .shift_remove("value");
    container["ports"][0]["protocol"] = json!("TCP");
    container["resources"] = json!({"limits": {"cpu": "2", "memory": "512Mi"}});
    container["imagePullPolicy"] = json!("IfNotPresent");
    live(
        object,
        json!({"f:spec": {"f:template": {"f:spec": {
            "f:hostNetwork": {},
            "f:tolerations": {},
            "f:volumes": {
                r#"k:{"name":"scratch"}"#: {".": {}, "f:emptyDir": {}, "f:name": {}},
                r#"k:{"name":"token"}"#: {".": {}, "f:name": {}, "f:projected": {"f:sources": {}}},
            },
            "f:containers": {r#"k:{"name":"stunner-daemon"}"#: {
                ".": {},
                "f:name": {},
                "f:args": {},
                "f:env": {
                    r#"k:{"name":"ADDR"}"#: {".": {}, "f:name": {}, "f:valueFrom": {"f:fieldRef": {}}},
                    r#"k:{"name":"EMPTY"}"#: {".": {}, "f:name": {}, "f:value": {}},
                },
                "f:ports": {r#"k:{"containerPort":8080,"protocol":"TCP"}"#: {".": {}, "f:containerPort": {}, "f:name": {}}},
                "f:resources": {"f:limits": {"f:cpu": {}, "f:memory": {}}},
                "f:securityContext": {"f:allowPrivilegeEscalation": {}, "f:capabilities": {"f:drop": {}}},
                "f:volumeMounts": {r#"k:{"mountPath":"/scratch"}"#: {".": {}, "f:mountPath": {}, "f:name": {}}},
            }},
        }}}}),
    )
}

fn container(deployment: &mut Value) -> &mut Value {
    &mut deployment["spec"]["template"]["spec"]["containers"][0]
}

#[test]
fn zeroes_defaults_and_quantities_in_other_words_are_no_difference() {
    assert_eq!(difference(&desired_deployment(), &live_deployment()), None);
}

#[test]
fn another_quantity_is_a_difference() {
    let mut desired = desired_deployment();
    container(&mut desired)["resources"]["limits"]["cpu"] = json!("2001m");
    let found = difference(&desired, &live_deployment());
    assert!(
        matches!(found, Some(Difference::Value(path)) if path.ends_with("resources.limits.cpu"))
    );
}

#[test]
fn quantities_are_read_as_such_only_where_they_are() {
    let mut desired = desired_deployment();
    container(&mut desired)["args"] = json!(["1000m"]);
    let mut live = live_deployment();
    container(&mut live)["args"] = json!(["1"]);
    assert!(difference(&desired, &live).is_some());
}

#[test]
fn a_false_that_was_never_applied_is_a_difference() {
    let mut desired = desired_deployment();
    container(&mut desired)["securityContext"]["readOnlyRootFilesystem"] = json!(false);
    let found = difference(&desired, &live_deployment());
    assert!(
        matches!(found, Some(Difference::Value(path)) if path.ends_with("readOnlyRootFilesystem"))
    );
}

#[test]
fn a_field_taken_out_of_a_value_that_is_one_is_a_difference() {
    let mut live = live_deployment();
    live["spec"]["template"]["spec"]["tolerations"][0]["effect"] = json!("NoSchedule");
    let found = difference(&desired_deployment(), &live);
    assert!(matches!(found, Some(Difference::Value(path)) if path.ends_with("tolerations")));
}

#[test]
fn arguments_in_another_order_are_a_difference() {
    let mut desired = desired_deployment();
    container(&mut desired)["args"] = json!(["a", "b"]);
    let mut live = live_deployment();
    container(&mut live)["args"] = json!(["b", "a"]);
    assert!(difference(&desired, &live).is_some());
}

#[test]
fn a_container_of_somebody_else_is_none_of_our_business() {
    let mut live = live_deployment();
    let containers = &mut live["spec"]["template"]["spec"]["containers"];
    containers
        .as_array_mut()
        .unwrap()
        .insert(0, json!({"name": "sidecar"}));
    assert_eq!(difference(&desired_deployment(), &live), None);
}

#[test]
fn sets_are_compared_by_their_values() {
    let desired = json!({"metadata": {"finalizers": ["ours"]}});
    let fields = json!({"f:metadata": {"f:finalizers": {r#"v:"ours""#: {}}}});
    let object = json!({"metadata": {"finalizers": ["theirs", "ours"]}});
    assert_eq!(difference(&desired, &live(object, fields.clone())), None);
    let object = json!({"metadata": {"finalizers": ["theirs"]}});
    differs(
        &desired,
        &live(object, fields.clone()),
        Difference::Value("metadata.finalizers".into()),
    );
    let object = json!({"metadata": {"finalizers": ["ours"]}});
    let path = r#"metadata.finalizers.v:"ours""#;
    differs(
        &json!({"metadata": {"finalizers": []}}),
        &live(object, fields),
        Difference::Stale(path.into()),
    );
}

#[test]
fn odd_managed_fields_do_no_harm() {
    for fields in [
        json!({"f:spec": null}),
        json!({"f:spec": 1}),
        json!({"x": {}}),
        json!({"k:nonsense": {}}),
        json!({"v:": {}}),
        json!({"i:99": {}}),
        json!({}),
    ] {
        assert!(difference(&desired_service(), &live(desired_service(), fields)).is_some());
    }
}
