//! What the results of manifests look like.

use std::fs;

use crate::cli::TranslateOutput;
use crate::input::Sources;

use super::{Translated, diff};

const WORLD: &str = "
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: stunner}
spec:
  controllerName: stunner.l7mp.io/gateway-operator
  parametersRef: {group: stunner.l7mp.io, kind: GatewayConfig, name: config, namespace: default}
---
apiVersion: stunner.l7mp.io/v1
kind: GatewayConfig
metadata: {name: config, namespace: default}
spec: {authType: static, userName: user, password: hunter2}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: gw, namespace: default}
spec:
  gatewayClassName: stunner
  listeners: [{name: udp, protocol: TURN-UDP, port: 3478}]
---
apiVersion: stunner.l7mp.io/v1
kind: UDPRoute
metadata: {name: route, namespace: default}
spec:
  parentRefs: [{name: gw}]
  rules: [{backendRefs: [{group: stunner.l7mp.io, kind: StaticService, name: hosts}]}]
---
apiVersion: stunner.l7mp.io/v1
kind: StaticService
metadata: {name: hosts, namespace: default}
spec: {prefixes: [192.0.2.0/24]}
";

fn translated(manifests: &str) -> Translated {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("all.yaml"), manifests).expect("a file");
    Translated::of(&Sources {
        paths: vec![folder.path().display().to_string()],
        recursive: false,
    })
}

#[test]
fn the_table_shows_gateways_listeners_and_routes_and_why() {
    let table = translated(WORLD).text(TranslateOutput::Table);
    assert_eq!(
        table,
        "\
CLASS     PARAMETERS       ACCEPTED
stunner   default/config   True

NAMESPACE   GATEWAY   CLASS     ADDRESS   ACCEPTED   PROGRAMMED
default     gw        stunner   <none>    True       False

NAMESPACE   GATEWAY   LISTENER   PROTOCOL   PORT   ROUTES   ACCEPTED   PROGRAMMED   RESOLVEDREFS
default     gw        udp        TURN-UDP   3478   1        True       False        True

NAMESPACE   ROUTE   KIND                       PARENT       BACKENDS        ACCEPTED   RESOLVEDREFS
default     route   UDPRoute.stunner.l7mp.io   default/gw   default/hosts   True       True

Gateway default/gw: Programmed=False (AddressNotAssigned): Without a public address so far: udp. Service default/gw is not there yet.
listener default/gw/udp: Programmed=False (Pending): The listener has no public address so far.
"
    );
}

#[test]
fn a_difference_tells_that_credentials_differ_and_not_what_they_are() {
    let old = translated(WORLD);
    let new = WORLD.replace("hunter2", "hunter3");
    let new = translated(&new.replace("192.0.2.0/24", "192.0.2.0/25"));
    let text = diff::diff(("old", &old.result()), ("new", &new.result()));
    assert_eq!(
        text,
        "\
--- config default/gw of old
+++ config default/gw of new
@@ -8,7 +8,7 @@
   type: static
   realm: stunner.l7mp.io
   credentials:
-    password: <hidden 1>
+    password: <hidden 3>
     username: <hidden 2>
 listeners:
 - name: default/gw/udp
@@ -22,4 +22,4 @@
   type: STATIC
   protocol: UDP
   endpoints:
-  - 192.0.2.0/24
+  - 192.0.2.0/25
"
    );
    let same = diff::diff(("old", &old.result()), ("new", &translated(WORLD).result()));
    assert_eq!(same, "");
}

#[test]
fn nothing_in_the_result_depends_on_when_it_is_made() {
    let text = translated(WORLD).text(TranslateOutput::Json);
    assert!(
        !text.contains("lastTransitionTime") && !text.contains("1970"),
        "{text}"
    );
    let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let keys: Vec<&String> = value.as_object().expect("an object").keys().collect();
    assert_eq!(keys, ["configs", "workloads", "statuses"]);
    let kinds = |list: &str| -> Vec<String> {
        let items = value[list].as_array().expect("a list").iter();
        items
            .map(|item| item["kind"].as_str().unwrap_or_default().to_owned())
            .collect()
    };
    assert_eq!(kinds("workloads"), ["Deployment", "Service"]);
    assert_eq!(kinds("statuses"), ["GatewayClass", "Gateway", "UDPRoute"]);
    assert_eq!(
        value["configs"][0]["auth"]["credentials"]["password"],
        "hunter2"
    );
}

#[test]
fn an_object_that_is_there_twice_is_told_and_is_no_error() {
    let twice = format!(
        "{WORLD}---\n{}",
        WORLD.rsplit("---").next().unwrap_or_default()
    );
    let problems = translated(&twice).problems;
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(!problems[0].is_error());
}
