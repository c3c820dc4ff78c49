//! What breaks the schema is left out at the smallest place that leaves a valid object.

use serde_json::{Value, json};

use super::{config, gateway, only, problems, reading, route};

/// What is left under `spec`, or `null` when nothing is; there must be an error, and the tree must have lost the same.
fn left(text: &str) -> Value {
    let reading = reading(text);
    assert!(
        reading.problems.iter().any(|problem| problem.is_error()),
        "{text}"
    );
    match &reading.manifests[..] {
        [manifest] => {
            assert!(manifest.repaired);
            super::json(&manifest.object)["spec"].clone()
        }
        _ => Value::Null,
    }
}

#[test]
fn one_prefix_of_many_is_left_out() {
    let text = "apiVersion: stunner.l7mp.io/v1
kind: StaticService
metadata: {name: a}
spec: {prefixes: [192.0.2.0/24, 10.0.0.0/33, '', 2001:db8::1, 7]}
";
    assert_eq!(
        left(text),
        json!({"prefixes": ["192.0.2.0/24", "2001:db8::1"]})
    );
    let reading = reading(text);
    assert_eq!(
        reading.manifests[0].place_of("spec.prefixes[1]").column,
        50,
        "the tree has lost the same items"
    );
}

#[test]
fn one_backend_of_many_is_left_out() {
    for broken in [
        "{name: bad, port: x}",
        "{name: bad, port: 0}",
        "{name: bad, port: 70000}",
        "{name: bad, endPort: 5}",
        "{name: bad, port: 9, endPort: 5}",
        "{name: bad, prot: 9}",
        "{name: ''}",
        "{port: 5}",
        "bad",
        "{name: bad, namespace: A_B}",
        "{name: bad, name: twice}",
    ] {
        let text = route(&format!("[{{name: a, port: 1}}, {broken}, {{name: b}}]"));
        let backends = &left(&text)["rules"][0]["backendRefs"];
        assert_eq!(
            *backends,
            json!([{"name": "a", "port": 1}, {"name": "b"}]),
            "{broken}"
        );
    }
}

#[test]
fn a_rule_may_lose_all_its_backends() {
    let text = route("[{name: a, port: x}]");
    assert_eq!(
        left(&text),
        json!({"parentRefs": [{"name": "gw"}], "rules": [{}]})
    );
    assert_eq!(problems(&text).len(), 1);
}

#[test]
fn one_parent_of_many_is_left_out() {
    let text =
        route("[{name: a}]").replace("[{name: gw}]", "[{name: gw}, {name: b, sectionName: A_B}]");
    assert_eq!(left(&text)["parentRefs"], json!([{"name": "gw"}]));
}

#[test]
fn one_listener_of_many_is_left_out() {
    for broken in [
        "{name: bad, port: '3478', protocol: TURN-UDP}",
        "{name: bad, port: 70000, protocol: TURN-UDP}",
        "{name: bad, port: 3478}",
        "{name: B_D, port: 3478, protocol: TURN-UDP}",
        "{name: bad, port: 3478, protocol: TURN UDP}",
        "{name: bad, port: 3478, portocol: TURN-UDP}",
        "udp",
    ] {
        let listeners = &left(&gateway(broken))["listeners"];
        assert_eq!(listeners.as_array().map(Vec::len), Some(1), "{broken}");
    }
}

#[test]
fn a_gateway_without_any_listener_is_left_out_as_a_whole() {
    let text = gateway("{name: a}").replace("port: 3478, ", "");
    assert_eq!(left(&text), Value::Null);
}

#[test]
fn one_optional_field_is_left_out() {
    let good = json!({"name": "b", "port": 1, "protocol": "TURN-TLS"});
    for broken in ["hostname: 'A:1'", "hostnam: a", "tls: true"] {
        let text = gateway(&format!(
            "{{name: b, port: 1, protocol: TURN-TLS, {broken}}}"
        ));
        assert_eq!(left(&text)["listeners"][1], good, "{broken}");
    }
    for broken in [
        "realm: A_B",
        "minPort: -1",
        "userQouta: 5",
        "unknown: {a: b}",
    ] {
        assert_eq!(left(&config(broken)), json!({}), "{broken}");
    }
}

/// Without what is broken it would have no quota, relay though it is for STUN only, or ask for other credentials.
#[test]
fn a_config_is_left_out_as_a_whole() {
    for broken in [
        "authType: nonsense",
        "userQuota: many",
        "userQuota: '5'",
        "stunMode: 'true'",
        "authRef: {namespace: a}",
        "authRef: {nme: a}",
    ] {
        let text = config(&format!("userName: a\n  password: b\n  {broken}"));
        assert_eq!(left(&text), Value::Null, "{broken}");
    }
}

/// Without `allowedRoutes` a listener takes every kind of route, and those of its own namespace.
#[test]
fn a_listener_whose_routes_are_not_known_is_left_out() {
    for broken in [
        "namespaces: {from: Al}",
        "namespaces: {from: Selector, selector: {matchLabels: {a: b}, matchExpressions: [{key: c, operator: Inn, values: [d]}]}}",
        "kinds: [{kid: TCPRoute}]",
        "kinds: [{kind: UDPRoute}, {kind: TCP Route}]",
        "kind: [{kind: UDPRoute}]",
    ] {
        let listener =
            format!("{{name: b, port: 1, protocol: TURN-UDP, allowedRoutes: {{{broken}}}}}");
        let listeners = &left(&gateway(&listener))["listeners"];
        assert_eq!(listeners.as_array().map(Vec::len), Some(1), "{broken}");
    }
}

#[test]
fn the_second_of_two_equal_keys_is_left_out() {
    let text = "apiVersion: stunner.l7mp.io/v1
kind: StaticService
metadata: {name: a}
spec:
  prefixes: [192.0.2.1]
  prefixes: [192.0.2.2]
";
    assert_eq!(
        problems(text),
        ["6:3 error: spec.prefixes: this key is given twice (keep one of the two)"]
    );
    assert_eq!(only(text)["spec"]["prefixes"], json!(["192.0.2.1"]));
}

#[test]
fn a_list_that_is_too_long_loses_its_end() {
    let text =
        route("[{name: a}]").replace("[{name: gw}]", &format!("[{}]", "{name: gw}, ".repeat(40)));
    assert_eq!(left(&text)["parentRefs"].as_array().map(Vec::len), Some(32));
    assert_eq!(problems(&text).len(), 1);
}

#[test]
fn messages_say_what_was_expected_and_what_was_found() {
    for (text, expected) in [
        (
            gateway("{name: b, port: '3478', protocol: TURN-UDP}"),
            r#"8:21 error: spec.listeners[1].port: expected integer, found string "3478" (remove the quotes)"#,
        ),
        (
            gateway("{name: b, port: many, protocol: TURN-UDP}"),
            r#"8:21 error: spec.listeners[1].port: expected integer, found string "many" (write an integer from 1 to 65535 in digits)"#,
        ),
        (
            gateway("{name: b, port: 70000, protocol: TURN-UDP}"),
            "8:21 error: spec.listeners[1].port: expected a number from 1 to 65535, found 70000 (write a number from 1 to 65535)",
        ),
        (
            gateway("{name: b, protocol: TURN-UDP}"),
            "8:5 error: spec.listeners[1].port: missing required field `port` (add `port`, an integer from 1 to 65535)",
        ),
        (
            gateway("{name: b, prot: 1, protocol: TURN-UDP}"),
            "8:15 error: spec.listeners[1].prot: unknown field `prot` (did you mean `port`?)",
        ),
        (
            config("authType: statc"),
            "5:13 error: spec.authType: expected one of `static`, `plaintext`, `ephemeral`, `longterm`, `timewindowed`, found `statc` (did you mean `static`?)",
        ),
        (
            config("logLevel: 7"),
            "5:13 error: spec.logLevel: expected string, found integer 7 (put it in quotes: `\"7\"`)",
        ),
        (
            config("stunMode: maybe"),
            "5:13 error: spec.stunMode: expected boolean, found string \"maybe\" (write `true` or `false`)",
        ),
        (
            route("name: a"),
            "8:7 error: spec.rules[0].backendRefs: expected list, found mapping (write it as lines that begin with `- `)",
        ),
    ] {
        assert_eq!(problems(&text), [expected]);
    }
}
