//! What comes out of files: objects, and what is said about them.

mod arbitrary;
mod forms;
mod kinds;
mod older;
mod repair;
mod whole;

use serde_json::Value;
use stunner_manifest::{Reading, read};
use stunner_translate::Object;

fn reading(text: &str) -> Reading {
    read("f", text.as_bytes())
}

/// `LINE:COL severity: field: message (hint)` of every problem.
fn problems(text: &str) -> Vec<String> {
    let reading = reading(text);
    reading
        .problems
        .iter()
        .map(|problem| {
            format!(
                "{}:{} {}: {}: {} ({})",
                problem.line,
                problem.column,
                problem.severity.as_str(),
                problem.field,
                problem.message,
                problem.hint.as_deref().unwrap_or("no hint")
            )
        })
        .collect()
}

/// The objects of a text that has no problem.
fn objects(text: &str) -> Vec<Value> {
    let reading = reading(text);
    assert_eq!(reading.problems, [], "{text}");
    assert_eq!(reading.unreadable, [], "{text}");
    reading
        .manifests
        .iter()
        .map(|manifest| json(&manifest.object))
        .collect()
}

/// The only object of a text, whatever is wrong with it.
fn only(text: &str) -> Value {
    let reading = reading(text);
    match &reading.manifests[..] {
        [manifest] => json(&manifest.object),
        manifests => panic!("{manifests:?} {:#?}", reading.problems),
    }
}

fn json(object: &Object) -> Value {
    let json = match object {
        Object::GatewayClass(object) => serde_json::to_value(&**object),
        Object::GatewayConfig(object) => serde_json::to_value(&**object),
        Object::Gateway(object) => serde_json::to_value(&**object),
        Object::UdpRoute(object) => serde_json::to_value(&**object),
        Object::OfficialUdpRoute(object) | Object::OfficialTcpRoute(object) => {
            serde_json::to_value(&**object)
        }
        Object::StaticService(object) => serde_json::to_value(&**object),
        Object::Dataplane(object) => serde_json::to_value(&**object),
        Object::ReferenceGrant(object) => serde_json::to_value(&**object),
        Object::Secret(object) => serde_json::to_value(&**object),
        Object::Service(object) => serde_json::to_value(&**object),
        Object::EndpointSlice(object) => serde_json::to_value(&**object),
        Object::Endpoints(object) => serde_json::to_value(&**object),
        Object::Namespace(object) => serde_json::to_value(&**object),
        Object::Node(object) => serde_json::to_value(&**object),
        Object::Deployment(_) | Object::DaemonSet(_) | Object::ConfigMap(_) => {
            panic!("a kind that is not read from files")
        }
    };
    json.expect("objects can be written")
}

/// A Gateway with a listener, and `more` below its `spec`.
fn gateway(listener: &str) -> String {
    format!(
        "apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {{name: gw}}
spec:
  gatewayClassName: stunner
  listeners:
  - {{name: good, port: 3478, protocol: TURN-UDP}}
  - {listener}
"
    )
}

/// A GatewayConfig with one line of `spec`, which is line 5.
fn config(line: &str) -> String {
    format!(
        "apiVersion: stunner.l7mp.io/v1\nkind: GatewayConfig\nmetadata: {{name: c}}\nspec:\n  {line}\n"
    )
}

/// A UDPRoute with one line of backends, which is line 8.
fn route(backends: &str) -> String {
    format!(
        "apiVersion: stunner.l7mp.io/v1
kind: UDPRoute
metadata: {{name: r}}
spec:
  parentRefs: [{{name: gw}}]
  rules:
  - backendRefs:
      {backends}
"
    )
}
