//! Kinds and versions, names and namespaces.

use super::{objects, only, problems, reading};

#[test]
fn a_wrong_kind_or_version_is_told_what_to_write() {
    for (head, expected) in [
        (
            "apiVersion: gateway.networking.k8s.io/v2\nkind: Gateway",
            "1:13 error: apiVersion: Gateway has no version `gateway.networking.k8s.io/v2` (write `gateway.networking.k8s.io/v1`; `gateway.networking.k8s.io/v1beta1` and `gateway.networking.k8s.io/v1alpha2` can be read too)",
        ),
        (
            "apiVersion: stunner.l7mp.io/v1\nkind: UPDRoute",
            "2:7 error: kind: `stunner.l7mp.io` has no kind `UPDRoute` (did you mean `UDPRoute`?)",
        ),
        (
            "apiVersion: stunner.l7mp.io/v1\nkind: Gateway",
            "1:13 error: apiVersion: `stunner.l7mp.io` has no kind `Gateway` (write `apiVersion: gateway.networking.k8s.io/v1`)",
        ),
        (
            "apiVersion: gateway.network.k8s.io/v1\nkind: Gateway",
            "1:13 error: apiVersion: `gateway.network.k8s.io/v1` has no kind Gateway (did you mean `gateway.networking.k8s.io/v1`?)",
        ),
        (
            "apiVersion: v1\nkind: Gateway",
            "1:13 error: apiVersion: `v1` has no kind Gateway (did you mean `gateway.networking.k8s.io/v1`?)",
        ),
        (
            "apiVersion: v1\nkind: secrets",
            "2:7 error: kind: `v1` has no kind `secrets` (did you mean `Secret`?)",
        ),
        (
            "kind: UDPRoute",
            "1:1 error: apiVersion: missing required field `apiVersion` (add `apiVersion: gateway.networking.k8s.io/v1` or `apiVersion: stunner.l7mp.io/v1`)",
        ),
    ] {
        let text = format!("{head}\nmetadata: {{name: a}}\n");
        assert_eq!(problems(&text), [expected]);
    }
}

#[test]
fn objects_without_a_namespace_are_in_default() {
    let [secret] = &objects("apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n")[..] else {
        panic!("one object")
    };
    assert_eq!(secret["metadata"]["namespace"], "default");
}

#[test]
fn objects_of_the_whole_cluster_have_no_namespace() {
    let text = "apiVersion: v1\nkind: Node\nmetadata: {name: a, namespace: b}\n";
    assert_eq!(
        problems(text),
        [
            "3:32 warning: metadata.namespace: a Node belongs to no namespace, this one is ignored (remove it)"
        ]
    );
    assert_eq!(only(text)["metadata"].get("namespace"), None);
}

#[test]
fn names_are_those_that_kubernetes_allows() {
    let label = "lower-case letters, digits and `-`, at most 63, beginning and ending with a letter or digit";
    let name =
        "lower-case letters, digits, `-` and `.`, beginning and ending with a letter or digit";
    for (metadata, expected) in [
        (
            "{}",
            "3:11 error: metadata.name: missing required field `name` (add `name`, a lower-case DNS name)".to_owned(),
        ),
        (
            "{generateName: a-}",
            "3:11 error: metadata.name: missing required field `name` (add `name`: only an API server can make names from `generateName`)".to_owned(),
        ),
        (
            "{name: My_Config}",
            format!("3:18 error: metadata.name: expected a lower-case DNS name of at most 253 characters, found `My_Config` ({name})"),
        ),
        (
            "{name: a, namespace: a.b}",
            format!("3:32 error: metadata.namespace: expected a DNS label of at most 63 characters, found `a.b` ({label})"),
        ),
        (
            "{name: 5}",
            "3:18 error: metadata.name: expected string, found integer 5 (put it in quotes: `\"5\"`)".to_owned(),
        ),
    ] {
        let text = format!("apiVersion: stunner.l7mp.io/v1\nkind: GatewayConfig\nmetadata: {metadata}\n");
        assert_eq!(problems(&text), [expected]);
        assert!(reading(&text).manifests.is_empty(), "{metadata}: nobody knows which object is meant");
    }
}

#[test]
fn exported_objects_pass() {
    let text = r#"
apiVersion: v1
kind: Service
metadata:
  creationTimestamp: "2024-01-31T12:00:00Z"
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: |
      {"apiVersion":"v1","kind":"Service"}
  finalizers: [service.kubernetes.io/load-balancer-cleanup]
  generation: 3
  labels: {app: media}
  managedFields:
  - apiVersion: v1
    fieldsType: FieldsV1
    fieldsV1: {f:spec: {f:ports: {'k:{"port":80}': {.: {}}}}}
    manager: kubectl
    operation: Update
    time: "2024-01-31T12:00:00Z"
  name: media
  namespace: default
  ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: a, uid: b, controller: true}]
  resourceVersion: "42"
  selfLink: /api/v1/namespaces/default/services/media
  uid: 5a7f
spec:
  allocateLoadBalancerNodePorts: true
  clusterIP: 10.0.0.1
  clusterIPs: [10.0.0.1]
  externalTrafficPolicy: Cluster
  internalTrafficPolicy: Cluster
  ipFamilies: [IPv4]
  ipFamilyPolicy: SingleStack
  ports:
  - {name: udp, nodePort: 30000, port: 3478, protocol: UDP, targetPort: turn}
  - {name: tcp, port: 3479, protocol: TCP, targetPort: 3479}
  selector: {app: media}
  sessionAffinity: None
  type: LoadBalancer
status:
  loadBalancer:
    ingress: [{ip: 192.0.2.1, ipMode: VIP, aFieldOfTheFuture: 1}]
---
apiVersion: v1
kind: Node
metadata: {name: a, creationTimestamp: null}
spec: {podCIDR: 10.0.0.0/24, podCIDRs: [10.0.0.0/24], providerID: kind://a}
status:
  addresses: [{address: 192.0.2.9, type: ExternalIP}]
  allocatable: {cpu: "2", memory: 8037884Ki, pods: 110}
  conditions: [{type: Ready, status: "True", reason: a, message: b, lastHeartbeatTime: "2024-01-31T12:00:00Z", lastTransitionTime: "2024-01-31T12:00:00Z"}]
  images: [{names: [a], sizeBytes: 5}]
  nodeInfo: {architecture: amd64, bootID: a, aFieldOfTheFuture: {}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: gw, resourceVersion: "1"}
spec:
  gatewayClassName: stunner
  allowedListeners: {namespaces: {from: All}}
  listeners:
  - {name: udp, port: 3478, protocol: TURN-UDP, allowedRoutes: {namespaces: {from: Same}}}
status: {conditions: [{type: Accepted}], anything: [1]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: media-abc, labels: {kubernetes.io/service-name: media}}
addressType: IPv4
endpoints:
- addresses: [10.0.0.5]
  conditions: {ready: true, serving: true, terminating: false}
  nodeName: a
  targetRef: {kind: Pod, name: b, namespace: default, uid: c}
  hints: {forZones: [{name: z}]}
ports: [{name: udp, port: 3478, protocol: UDP}]
---
apiVersion: v1
kind: Endpoints
metadata: {name: media}
subsets:
- addresses: [{ip: 10.0.0.5, nodeName: a}]
  notReadyAddresses: []
  ports: [{name: udp, port: 3478, protocol: UDP}]
---
apiVersion: v1
kind: Namespace
metadata: {name: media, labels: {kubernetes.io/metadata.name: media}}
spec: {finalizers: [kubernetes]}
status: {phase: Active}
---
apiVersion: v1
kind: Secret
metadata: {name: tls}
data: {tls.crt: "", tls.key: ""}
type: kubernetes.io/tls
"#;
    let objects = objects(text);
    assert_eq!(objects.len(), 7);
    assert_eq!(
        objects[0]["status"]["loadBalancer"]["ingress"][0]["ip"],
        "192.0.2.1"
    );
    assert_eq!(objects[0]["spec"]["ports"][0]["targetPort"], "turn");
    assert_eq!(objects[1]["status"]["addresses"][0]["address"], "192.0.2.9");
    assert_eq!(objects[2].get("status"), None);
}
