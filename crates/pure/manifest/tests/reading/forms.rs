//! Forms that are read though an API server would refuse them, and forms of scalars.

use serde_json::json;

use super::{config, objects, only, problems};

#[test]
fn bare_values_of_annotations_are_read_as_strings() {
    let text = "apiVersion: v1
kind: Namespace
metadata:
  name: a
  annotations: {a: true, b: 5, c: 'yes', d: yes, e: , f: 1.50}
";
    let warning = |place: &str, field: &str, found: &str| {
        format!(
            "{place} warning: metadata.{field}: expected string, found {found}, which is read as one (put it in quotes; an API server refuses it otherwise)"
        )
    };
    assert_eq!(
        problems(text),
        [
            warning("5:20", "annotations.a", "boolean"),
            warning("5:29", "annotations.b", "integer"),
            warning("5:58", "annotations.f", "number"),
        ]
    );
    let metadata = &only(text)["metadata"];
    assert_eq!(
        metadata["annotations"],
        json!({"a": "true", "b": "5", "c": "yes", "d": "yes", "e": "", "f": "1.50"})
    );
}

#[test]
fn truth_values_are_those_of_yaml_1_1_where_one_is_wanted() {
    for (word, meant) in [
        ("true", true),
        ("yes", true),
        ("On", true),
        ("no", false),
        ("OFF", false),
    ] {
        let object = objects(&config(&format!("stunMode: {word}"))).remove(0);
        assert_eq!(object["spec"]["stunMode"], meant, "{word}");
    }
}

#[test]
fn words_stay_words_where_a_string_is_wanted() {
    for word in [
        "yes",
        "on",
        "1.2.3.4",
        "null-and-void",
        "'true'",
        "\"5\"",
        "0day",
    ] {
        let object = objects(&config(&format!("password: {word}"))).remove(0);
        assert_eq!(
            object["spec"]["password"],
            word.trim_matches(['"', '\'']),
            "{word}"
        );
    }
}

#[test]
fn whole_numbers_may_have_a_fraction_of_zero() {
    assert_eq!(
        objects(&config("authLifetime: 3600.0"))[0]["spec"]["authLifetime"],
        3600
    );
    assert_eq!(
        objects(&config("authLifetime: +3600"))[0]["spec"]["authLifetime"],
        3600
    );
}

#[test]
fn nothing_is_the_same_as_no_field() {
    for line in [
        "password:",
        "password: null",
        "password: ~",
        "authRef:",
        "loadBalancerServiceAnnotations:",
    ] {
        assert_eq!(objects(&config(line))[0]["spec"], json!({}), "{line}");
    }
}

#[test]
fn group_and_kind_of_parameters_may_be_left_out() {
    let text = "apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: a}
spec:
  controllerName: stunner.l7mp.io/gateway-operator
  parametersRef: {name: c, namespace: n}
";
    assert_eq!(
        objects(text)[0]["spec"]["parametersRef"],
        json!({"name": "c", "namespace": "n"})
    );
}

#[test]
fn either_spelling_of_user_name_is_read_and_not_both() {
    assert_eq!(objects(&config("username: a"))[0]["spec"]["username"], "a");
    assert_eq!(objects(&config("userName: a"))[0]["spec"]["userName"], "a");
    let both = config("username: a\n  userName: b");
    assert_eq!(
        problems(&both),
        [
            "5:3 error: spec.username: `username` is another spelling of `userName`, and both are set (keep one of them)"
        ]
    );
    assert_eq!(only(&both)["spec"], json!({"userName": "b"}));
}

#[test]
fn quantities_and_ports_are_numbers_or_words() {
    let text = "apiVersion: stunner.l7mp.io/v1
kind: Dataplane
metadata: {name: a}
spec: {resources: {limits: {cpu: 2, memory: 512Mi}, requests: {cpu: 0.5, memory: 8589934592}}}
";
    assert_eq!(
        objects(text)[0]["spec"]["resources"],
        json!({"limits": {"cpu": "2", "memory": "512Mi"}, "requests": {"cpu": "0.5", "memory": "8589934592"}})
    );
}

#[test]
fn plain_data_of_secrets_joins_the_encoded() {
    let text = "apiVersion: v1
kind: Secret
metadata: {name: a}
data:
  a: b25l
  b: |
    dHd
    v
stringData: {a: three, c: ''}
";
    assert_eq!(
        objects(text)[0]["data"],
        json!({"a": "dGhyZWU=", "b": "dHdv", "c": ""})
    );
}

#[test]
fn aliases_and_merge_keys_are_resolved() {
    let text = "apiVersion: stunner.l7mp.io/v1
kind: UDPRoute
metadata: {name: a}
spec:
  parentRefs: &parents [{name: gw}]
  rules:
  - backendRefs: [&b {name: x, port: 1}, {<<: *b, name: y}]
";
    assert_eq!(
        objects(text)[0]["spec"]["rules"][0]["backendRefs"],
        json!([{"name": "x", "port": 1}, {"name": "y", "port": 1}])
    );
}
