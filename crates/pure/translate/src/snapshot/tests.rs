use super::manifest::{WORLD, object, objects, snapshot, world_with};
use super::*;
use crate::key::{Object, ObjectKey, ObjectKind, RouteKind};
use crate::settings::Settings;

fn names(dirty: &Dirty) -> Vec<String> {
    dirty
        .iter()
        .map(|unit| match unit {
            Unit::Class(name) => format!("class {name}"),
            Unit::Gateway(name) => format!("gateway {name}"),
            Unit::Route(RouteKind::Udp, name) => format!("route {name}"),
            Unit::Route(RouteKind::OfficialUdp, name) => format!("official route {name}"),
            Unit::Route(RouteKind::OfficialTcp, name) => format!("TCP route {name}"),
        })
        .collect()
}

/// What a change touches in [`WORLD`].
fn touched(change: &str) -> Vec<String> {
    names(&snapshot(WORLD).apply(object(change)))
}

fn touched_by_removal(kind: ObjectKind, namespace: &str, name: &str) -> Vec<String> {
    names(&snapshot(WORLD).remove(&ObjectKey::new(kind, namespace, name)))
}

const ROUTE: &[&str] = &["class stunner", "gateway stunner/gw", "route stunner/media"];
const GATEWAY: &[&str] = &["class stunner", "gateway stunner/gw"];
const NOTHING: &[&str] = &[];

#[test]
fn applying_the_same_again_touches_nothing() {
    let mut snapshot = snapshot(WORLD);
    for object in objects(WORLD) {
        let kind = object.kind();
        assert_eq!(names(&snapshot.apply(object)), NOTHING, "{kind}");
    }
}

#[test]
fn an_endpoint_touches_the_routes_of_its_service_and_their_gateways() {
    let slice = |endpoints: &str| {
        format!(
            "{{kind: EndpointSlice, addressType: IPv4,
               metadata: {{namespace: stunner, name: media-1, labels: {{kubernetes.io/service-name: media}}}},
               endpoints: [{endpoints}]}}"
        )
    };
    assert_eq!(touched(&slice("{addresses: [10.244.0.1]}")), ROUTE);
    let ready = "{addresses: [10.244.0.2], conditions: {ready: true}}, {addresses: [10.244.0.1]}";
    assert_eq!(touched(&slice(ready)), NOTHING, "only readiness changed");
    let removed = touched_by_removal(ObjectKind::EndpointSlice, "stunner", "media-1");
    assert_eq!(removed, ROUTE);
}

#[test]
fn a_slice_that_moves_to_another_service_touches_the_routes_of_both() {
    let other = "{kind: UDPRoute, apiVersion: stunner.l7mp.io/v1, metadata: {namespace: stunner, name: other},
      spec: {rules: [{backendRefs: [{name: other}]}]}}";
    let mut snapshot = world_with(other);
    let dirty = snapshot.apply(object(
        "{kind: EndpointSlice, addressType: IPv4, endpoints: [],
          metadata: {namespace: stunner, name: media-1, labels: {kubernetes.io/service-name: other}}}",
    ));
    assert_eq!(
        names(&dirty),
        [
            "class stunner",
            "gateway stunner/gw",
            "route stunner/media",
            "route stunner/other",
        ]
    );
}

#[test]
fn objects_that_nobody_refers_to_touch_nothing() {
    for change in [
        "{kind: Service, metadata: {namespace: stunner, name: other}, spec: {clusterIP: 10.96.0.9}}",
        "{kind: EndpointSlice, addressType: IPv4, endpoints: [{addresses: [10.0.0.1]}],
          metadata: {namespace: other, name: media-1, labels: {kubernetes.io/service-name: media}}}",
        "{kind: Secret, metadata: {namespace: stunner, name: other}, data: {}}",
        "{kind: StaticService, metadata: {namespace: stunner, name: other}, spec: {prefixes: []}}",
        "{kind: Dataplane, metadata: {name: other}, spec: {}}",
        "{kind: Namespace, metadata: {name: stunner, labels: {tier: media}}}",
        "{kind: Node, metadata: {name: node-a}, status: {addresses: [{type: ExternalIP, address: 192.0.2.1}]}}",
        "{kind: Deployment, metadata: {namespace: stunner, name: other}}",
        "{kind: ConfigMap, metadata: {namespace: stunner, name: other}}",
        "{kind: ReferenceGrant, metadata: {namespace: stunner, name: other}, spec: {from: [], to: []}}",
    ] {
        assert_eq!(touched(change), NOTHING, "{change}");
    }
}

#[test]
fn our_own_status_writes_touch_nothing() {
    let conditions = "conditions: [{type: Accepted, status: 'True', reason: Accepted, message: '',
      lastTransitionTime: '2024-01-01T00:00:00Z'}]";
    let mut snapshot = snapshot(WORLD);
    for object in objects(WORLD) {
        let object = match object {
            Object::Gateway(mut gateway) => {
                let gateway_mut = Arc::make_mut(&mut gateway);
                gateway_mut.metadata.resource_version = Some("2".to_owned());
                gateway_mut.status = Some(yaml(&format!("{{{conditions}}}")));
                Object::Gateway(gateway)
            }
            Object::GatewayClass(mut class) => {
                Arc::make_mut(&mut class).status = Some(yaml(&format!("{{{conditions}}}")));
                Object::GatewayClass(class)
            }
            Object::UdpRoute(mut route) => {
                let parents = format!("{{parents: [{{parentRef: {{name: gw}}, {conditions}}}]}}");
                Arc::make_mut(&mut route).status = Some(yaml(&parents));
                Object::UdpRoute(route)
            }
            _ => continue,
        };
        let key = object.key();
        assert_eq!(names(&snapshot.apply(object)), NOTHING, "{key:?}");
    }
    let gateway = snapshot.gateways.get(&NamespacedName::new("stunner", "gw"));
    assert!(
        gateway.is_some_and(|gateway| gateway.status.is_some()),
        "it is kept all the same"
    );
}

fn yaml<T: serde::de::DeserializeOwned>(text: &str) -> T {
    serde_saphyr::from_str(text).expect("YAML")
}

#[test]
fn a_label_of_a_gateway_touches_it_but_not_its_routes() {
    let gateway = "{kind: Gateway, metadata: {namespace: stunner, name: gw, uid: gw, generation: 1, labels: {a: b}},
      spec: {gatewayClassName: stunner,
        listeners: [{name: udp, protocol: TURN-UDP, port: 3478}, {name: tcp, protocol: TURN-TCP, port: 3479}]}}";
    assert_eq!(touched(gateway), GATEWAY);
}

#[test]
fn a_gateway_that_changes_its_listeners_or_vanishes_touches_its_routes() {
    let gateway =
        "{kind: Gateway, metadata: {namespace: stunner, name: gw, uid: gw, generation: 2},
      spec: {gatewayClassName: stunner, listeners: [{name: udp, protocol: TURN-UDP, port: 3478}]}}";
    assert_eq!(touched(gateway), ROUTE);
    let removed = touched_by_removal(ObjectKind::Gateway, "stunner", "gw");
    assert_eq!(removed, ROUTE);
}

#[test]
fn a_gateway_that_moves_to_another_class_touches_both() {
    let other =
        "{kind: GatewayClass, metadata: {name: other}, spec: {controllerName: example.test/x}}";
    let dirty = world_with(other).apply(object(
        "{kind: Gateway, metadata: {namespace: stunner, name: gw, uid: gw, generation: 2},
          spec: {gatewayClassName: other, listeners: []}}",
    ));
    assert_eq!(
        names(&dirty),
        [
            "class other",
            "class stunner",
            "gateway stunner/gw",
            "route stunner/media",
        ]
    );
}

#[test]
fn a_gateway_that_appears_touches_the_routes_that_wait_for_it() {
    let waiting = "{kind: UDPRoute, apiVersion: stunner.l7mp.io/v1, metadata: {namespace: stunner, name: waiting},
      spec: {parentRefs: [{name: late, namespace: other}], rules: []}}";
    let mut snapshot = world_with(waiting);
    let dirty = snapshot.apply(object(
        "{kind: Gateway, metadata: {namespace: other, name: late}, spec: {gatewayClassName: none, listeners: []}}",
    ));
    assert_eq!(
        names(&dirty),
        ["gateway other/late", "route stunner/waiting"]
    );
}

#[test]
fn a_class_touches_its_gateways_and_their_routes_only_when_it_changes_hands() {
    let class = |controller: &str, config: &str| {
        format!(
            "{{kind: GatewayClass, metadata: {{name: stunner}}, spec: {{controllerName: {controller},
               parametersRef: {{group: stunner.l7mp.io, kind: GatewayConfig, namespace: system, name: {config}}}}}}}"
        )
    };
    let ours = "stunner.l7mp.io/gateway-operator";
    assert_eq!(touched(&class(ours, "other")), GATEWAY);
    assert_eq!(touched(&class("example.test/x", "config")), ROUTE);
    let removed = touched_by_removal(ObjectKind::GatewayClass, "", "stunner");
    assert_eq!(removed, ROUTE);
}

#[test]
fn what_a_gateway_runs_on_touches_class_and_gateway() {
    let config = "{kind: GatewayConfig, metadata: {namespace: system, name: config}, spec: {realm: example.test}}";
    assert_eq!(touched(config), GATEWAY);
    let dataplane = "{kind: Dataplane, metadata: {name: default}, spec: {replicas: 2}}";
    assert_eq!(touched(dataplane), GATEWAY);
    let config_map = "{kind: ConfigMap, metadata: {namespace: system, name: stunnerd-config}}";
    assert_eq!(touched(config_map), GATEWAY);
    let ca = "{kind: ConfigMap, metadata: {namespace: stunner, name: gw-config-discovery}}";
    assert_eq!(touched(ca), GATEWAY);
    let deployment = "{kind: Deployment, metadata: {namespace: stunner, name: gw, generation: 1}}";
    assert_eq!(touched(deployment), GATEWAY);
}

#[test]
fn a_secret_touches_the_gateways_that_use_it() {
    let mut snapshot = world_with(
        "{kind: GatewayConfig, metadata: {namespace: system, name: config}, spec: {authRef: {name: auth}}}
---
{kind: Gateway, metadata: {namespace: tls, name: gw}, spec: {gatewayClassName: none, listeners: [
  {name: tls, protocol: TURN-TLS, port: 443, tls: {certificateRefs: [{name: cert, namespace: certs}]}}]}}",
    );
    let auth =
        "{kind: Secret, metadata: {namespace: system, name: auth}, data: {password: cGFzcw==}}";
    assert_eq!(names(&snapshot.apply(object(auth))), GATEWAY);
    assert_eq!(names(&snapshot.apply(object(auth))), NOTHING);
    let cert = "{kind: Secret, metadata: {namespace: certs, name: cert}}";
    assert_eq!(names(&snapshot.apply(object(cert))), ["gateway tls/gw"]);
}

#[test]
fn only_secrets_of_configs_and_of_our_gateways_are_asked_for() {
    let settings = Settings::default();
    let mut snapshot = world_with(
        "{kind: GatewayConfig, metadata: {namespace: system, name: config}, spec: {authRef: {name: auth}}}
---
{kind: Gateway, metadata: {namespace: tls, name: gw}, spec: {gatewayClassName: later, listeners: [
  {name: tls, protocol: TURN-TLS, port: 443, tls: {certificateRefs: [{name: cert}]}}]}}",
    );
    let auth = NamespacedName::new("system", "auth");
    let cert = NamespacedName::new("tls", "cert");
    assert_eq!(
        snapshot.referenced_secrets(&settings),
        BTreeSet::from([auth.clone()])
    );
    assert_eq!(
        snapshot.take_changed_secrets(),
        BTreeSet::from([auth.clone(), cert.clone()])
    );
    snapshot.apply(object(
        "{kind: GatewayClass, metadata: {name: later}, spec: {controllerName: stunner.l7mp.io/gateway-operator}}",
    ));
    assert_eq!(
        snapshot.take_changed_secrets(),
        BTreeSet::from([cert.clone()])
    );
    assert!(snapshot.references_secret(&settings, &cert));
    snapshot.remove(&ObjectKey::new(ObjectKind::Gateway, "tls", "gw"));
    assert_eq!(
        snapshot.take_changed_secrets(),
        BTreeSet::from([cert.clone()])
    );
    assert_eq!(
        snapshot.referenced_secrets(&settings),
        BTreeSet::from([auth])
    );
}

#[test]
fn a_service_touches_as_a_backend_only_by_what_backends_are_made_of() {
    let service = |more: &str| {
        format!(
            "{{kind: Service, metadata: {{namespace: stunner, name: media{more}}},
               spec: {{type: ClusterIP, clusterIP: 10.96.0.1, clusterIPs: [10.96.0.1]}}}}"
        )
    };
    assert_eq!(touched(&service(", annotations: {a: b}")), NOTHING);
    let changed = "{kind: Service, metadata: {namespace: stunner, name: media},
      spec: {type: ClusterIP, clusterIP: 10.96.0.2, clusterIPs: [10.96.0.2]}}";
    assert_eq!(touched(changed), ROUTE);
    let removed = touched_by_removal(ObjectKind::Service, "stunner", "media");
    assert_eq!(removed, ROUTE);
}

#[test]
fn nodes_touch_only_gateways_that_are_reached_at_nodes() {
    let node = "{kind: Node, metadata: {name: node-a}, status: {addresses: [{type: ExternalIP, address: 192.0.2.1}]}}";
    let heartbeat = "{kind: Node, metadata: {name: node-a, annotations: {beat: '2'}},
      status: {addresses: [{type: ExternalIP, address: 192.0.2.1}], conditions: [{type: Ready, status: 'True'}]}}";
    let service = |status: &str| {
        format!(
            "{{kind: Service, metadata: {{namespace: stunner, name: gw}},
               spec: {{type: LoadBalancer, ports: [{{port: 3478, nodePort: 30001}}]}}, status: {status}}}"
        )
    };
    let mut snapshot = world_with(&service("{}"));
    assert_eq!(names(&snapshot.apply(object(node))), GATEWAY);
    assert_eq!(names(&snapshot.apply(object(heartbeat))), NOTHING);
    let another = node.replace("node-a", "node-b");
    assert_eq!(names(&snapshot.apply(object(&another))), NOTHING);
    let moved = node.replace("192.0.2.1", "192.0.2.2");
    assert_eq!(names(&snapshot.apply(object(&moved))), GATEWAY);
    let balanced = service("{loadBalancer: {ingress: [{ip: 192.0.2.9}]}}");
    assert_eq!(names(&snapshot.apply(object(&balanced))), GATEWAY);
    let removed = snapshot.remove(&ObjectKey::new(ObjectKind::Node, "", "node-a"));
    assert_eq!(names(&removed), NOTHING);
}

#[test]
fn status_ticks_of_a_deployment_touch_nothing() {
    let deployment = |ready: i32, revision: i32, generation: i32| {
        object(&format!(
            "{{kind: Deployment, metadata: {{namespace: stunner, name: gw, generation: {generation},
               annotations: {{deployment.kubernetes.io/revision: '{revision}'}}}}, status: {{readyReplicas: {ready}}}}}"
        ))
    };
    let mut snapshot = snapshot(WORLD);
    snapshot.apply(deployment(0, 1, 1));
    assert_eq!(names(&snapshot.apply(deployment(3, 2, 1))), NOTHING);
    assert_eq!(names(&snapshot.apply(deployment(3, 2, 2))), GATEWAY);
}

#[test]
fn labels_of_a_namespace_touch_routes_whose_gateway_selects() {
    let gateway = "{kind: Gateway, metadata: {namespace: stunner, name: gw}, spec: {gatewayClassName: stunner,
      listeners: [{name: udp, protocol: UDP, port: 1, allowedRoutes: {namespaces: {from: Selector, selector: {}}}}]}}";
    let mut snapshot = world_with(gateway);
    let labelled = "{kind: Namespace, metadata: {name: stunner, labels: {tier: media}}}";
    assert_eq!(names(&snapshot.apply(object(labelled))), ROUTE);
    let annotated =
        "{kind: Namespace, metadata: {name: stunner, labels: {tier: media}, annotations: {a: b}}}";
    assert_eq!(names(&snapshot.apply(object(annotated))), NOTHING);
}

#[test]
fn a_grant_touches_what_refers_into_its_namespace() {
    let route = "{kind: UDPRoute, apiVersion: stunner.l7mp.io/v1, metadata: {namespace: stunner, name: media},
      spec: {parentRefs: [{name: gw}], rules: [{backendRefs: [{name: media, namespace: other}]}]}}";
    let mut snapshot = world_with(route);
    let grant = |namespace: &str| {
        object(&format!(
            "{{kind: ReferenceGrant, metadata: {{namespace: {namespace}, name: g}}, spec: {{from: [], to: []}}}}"
        ))
    };
    assert_eq!(names(&snapshot.apply(grant("other"))), ROUTE);
    assert_eq!(names(&snapshot.apply(grant("stunner"))), NOTHING);
}

#[test]
fn a_grant_touches_gateways_with_certificates_in_its_namespace() {
    let mut snapshot = world_with(
        "{kind: Gateway, metadata: {namespace: stunner, name: gw}, spec: {gatewayClassName: stunner, listeners: [
           {name: tls, protocol: TLS, port: 443, tls: {certificateRefs: [{name: cert, namespace: certs}]}}]}}",
    );
    let grant =
        "{kind: ReferenceGrant, metadata: {namespace: certs, name: g}, spec: {from: [], to: []}}";
    assert_eq!(names(&snapshot.apply(object(grant))), GATEWAY);
}

#[test]
fn once_its_class_is_gone_the_service_of_a_gateway_tells_routes_whose_it_was() {
    let mut snapshot = snapshot(WORLD);
    snapshot.remove(&ObjectKey::new(ObjectKind::GatewayClass, "", "stunner"));
    let service =
        "{kind: Service, metadata: {namespace: stunner, name: gw}, spec: {clusterIP: 10.96.0.9}}";
    assert_eq!(
        names(&snapshot.apply(object(service))),
        ["gateway stunner/gw", "route stunner/media"]
    );
}

#[test]
fn rivals_for_a_config_map_are_touched_with_its_writer() {
    let mut snapshot = world_with(
        "{kind: GatewayClass, metadata: {name: second}, spec: {controllerName: stunner.l7mp.io/gateway-operator,
           parametersRef: {group: stunner.l7mp.io, kind: GatewayConfig, namespace: system, name: second}}}
---
{kind: GatewayConfig, metadata: {namespace: system, name: second}, spec: {}}",
    );
    let removed = snapshot.remove(&ObjectKey::new(
        ObjectKind::GatewayConfig,
        "system",
        "config",
    ));
    assert_eq!(
        names(&removed),
        ["class second", "class stunner", "gateway stunner/gw"]
    );
}

#[test]
fn namesakes_are_touched_when_a_route_comes_or_goes() {
    let official = "{kind: UDPRoute, apiVersion: gateway.networking.k8s.io/v1,
      metadata: {namespace: stunner, name: media}, spec: {parentRefs: [{name: gw}], rules: []}}";
    let mut snapshot = world_with(official);
    let removed = snapshot.remove(&ObjectKey::new(
        ObjectKind::Route(RouteKind::Udp),
        "stunner",
        "media",
    ));
    assert_eq!(
        names(&removed),
        [
            "class stunner",
            "gateway stunner/gw",
            "route stunner/media",
            "official route stunner/media",
        ]
    );
}

#[test]
fn a_route_that_moves_touches_the_gateway_it_leaves_and_the_one_it_joins() {
    let other = "{kind: Gateway, metadata: {namespace: stunner, name: other}, spec: {gatewayClassName: stunner, listeners: []}}";
    let mut snapshot = world_with(other);
    let dirty = snapshot.apply(object(
        "{kind: UDPRoute, apiVersion: stunner.l7mp.io/v1, metadata: {namespace: stunner, name: media},
          spec: {parentRefs: [{name: other}], rules: []}}",
    ));
    assert_eq!(
        names(&dirty),
        [
            "class stunner",
            "gateway stunner/gw",
            "gateway stunner/other",
            "route stunner/media",
        ]
    );
}

#[test]
fn a_write_failure_touches_its_gateway_once() {
    let mut snapshot = snapshot(WORLD);
    let gateway = NamespacedName::new("stunner", "gw");
    let failure = WriteFailure {
        message: "refused".to_owned(),
        external_ips_refused: false,
    };
    let mut set =
        |failure| names(&snapshot.set_write_failure(&gateway, WorkloadKind::Service, failure));
    assert_eq!(set(Some(failure.clone())), GATEWAY);
    assert_eq!(set(Some(failure)), NOTHING);
    assert_eq!(set(None), GATEWAY);
    assert_eq!(set(None), NOTHING);
}

#[test]
fn removing_everything_leaves_nothing_behind() {
    let mut snapshot = world_with(
        "{kind: GatewayConfig, metadata: {namespace: system, name: config}, spec: {authRef: {name: auth, namespace: x}}}
---
{kind: ReferenceGrant, metadata: {namespace: x, name: g}, spec: {from: [], to: []}}
---
{kind: Service, metadata: {namespace: stunner, name: gw}, spec: {ports: [{port: 1, nodePort: 30001}]}}",
    );
    for object in objects(WORLD) {
        snapshot.remove(&object.key());
    }
    for (kind, namespace, name) in [
        (ObjectKind::ReferenceGrant, "x", "g"),
        (ObjectKind::Service, "stunner", "gw"),
    ] {
        snapshot.remove(&ObjectKey::new(kind, namespace, name));
    }
    snapshot.take_changed_secrets();
    assert_eq!(
        format!("{snapshot:?}"),
        format!("{:?}", Snapshot::default())
    );
}

#[test]
fn units_are_all_there_is_to_translate() {
    assert_eq!(names(&snapshot(WORLD).units()), ROUTE);
}

#[test]
fn the_authority_of_a_gateway_with_a_long_name_touches_it_too() {
    let long = "g".repeat(253);
    let mut snapshot = world_with(&format!(
        "{{kind: Gateway, metadata: {{namespace: stunner, name: {long}}}, spec: {{gatewayClassName: stunner}}}}"
    ));
    let name = crate::metadata::derived_name(&long, "-config-discovery");
    let config_map = format!("{{kind: ConfigMap, metadata: {{namespace: stunner, name: {name}}}}}");
    let touched = snapshot.apply(object(&config_map));
    let gateway = Unit::Gateway(NamespacedName::new("stunner", long));
    assert!(touched.contains(&gateway), "{touched:?}");
}
