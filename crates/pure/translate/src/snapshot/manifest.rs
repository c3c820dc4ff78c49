//! Manifests into snapshots, for tests.

use super::Snapshot;
use crate::key::Object;
use crate::support;

/// A Gateway of ours with a route that it takes, and the route's backend.
pub(crate) const WORLD: &str = "
{kind: GatewayClass, metadata: {name: stunner}, spec: {controllerName: stunner.l7mp.io/gateway-operator,
  parametersRef: {group: stunner.l7mp.io, kind: GatewayConfig, namespace: system, name: config}}}
---
{kind: GatewayConfig, metadata: {namespace: system, name: config}, spec: {userName: u, password: p}}
---
{kind: Dataplane, metadata: {name: default}, spec: {}}
---
{kind: Gateway, metadata: {namespace: stunner, name: gw, uid: gw, generation: 1}, spec: {gatewayClassName: stunner,
  listeners: [{name: udp, protocol: TURN-UDP, port: 3478}, {name: tcp, protocol: TURN-TCP, port: 3479}]}}
---
{kind: UDPRoute, apiVersion: stunner.l7mp.io/v1, metadata: {namespace: stunner, name: media, uid: media, generation: 1},
  spec: {parentRefs: [{name: gw}], rules: [{backendRefs: [{name: media}]}]}}
---
{kind: Service, metadata: {namespace: stunner, name: media},
  spec: {type: ClusterIP, clusterIP: 10.96.0.1, clusterIPs: [10.96.0.1]}}
---
{kind: EndpointSlice, addressType: IPv4,
  metadata: {namespace: stunner, name: media-1, labels: {kubernetes.io/service-name: media}},
  endpoints: [{addresses: [10.244.0.1]}, {addresses: [10.244.0.2], conditions: {ready: false}}]}
";

pub(crate) fn objects(text: &str) -> Vec<Object> {
    let known = |document| support::object(document).unwrap_or_else(|| panic!("{document:#}"));
    support::documents(text).iter().map(known).collect()
}

pub(crate) fn object(text: &str) -> Object {
    objects(text).remove(0)
}

/// [`WORLD`] and some more, which replaces what has the same name.
pub(crate) fn world_with(text: &str) -> Snapshot {
    let mut snapshot = snapshot(WORLD);
    for object in objects(text) {
        snapshot.apply(object);
    }
    snapshot
}

pub(crate) fn snapshot(text: &str) -> Snapshot {
    let mut snapshot = Snapshot::default();
    for object in objects(text) {
        snapshot.apply(object);
    }
    snapshot
}
