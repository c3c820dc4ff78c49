use std::net::{IpAddr, SocketAddr};

use super::*;
use crate::manifests::{QUICKSTART, World};
use crate::snapshot::manifest::world_with;
use crate::translate::translate;

fn of(world: &World) -> Overview {
    overview(&world.snapshot, &world.plan(), &world.settings)
}

fn of_snapshot(text: &str) -> Overview {
    let snapshot = world_with(text);
    let settings = Settings::default();
    overview(&snapshot, &translate(&snapshot, &settings), &settings)
}

#[test]
fn a_gateway_shows_its_class_listeners_routes_and_backends() {
    let seen = of_snapshot("");
    assert_eq!(seen.classes[0].name, "stunner");
    assert_eq!(
        seen.classes[0].controller,
        "stunner.l7mp.io/gateway-operator"
    );
    let parameters = seen.classes[0].parameters.as_ref().expect("parameters");
    assert!(parameters.found);
    assert_eq!(
        (parameters.namespace.as_str(), parameters.name.as_str()),
        ("system", "config")
    );
    let gateway = &seen.gateways[0];
    assert_eq!(
        (gateway.id.as_str(), gateway.class.as_str()),
        ("stunner/gw", "stunner")
    );
    let listener = &gateway.listeners[0];
    assert_eq!(listener.id, "stunner/gw/udp");
    assert_eq!(listener.routes, ["UDPRoute.stunner.l7mp.io/stunner/media"]);
    assert_eq!(listener.attached_routes, 1);
    assert!(listener.served);
    let route = &seen.routes[0];
    assert_eq!(route.id, listener.routes[0]);
    assert_eq!(route.cluster.as_deref(), Some("stunner/media"));
    assert_eq!(route.parents[0].gateway, "stunner/gw");
    assert_eq!(route.parents[0].taken_by, ["udp", "tcp"]);
    let backend = &route.backends[0];
    assert_eq!(
        (backend.kind.as_str(), backend.name.as_str()),
        ("Service", "media")
    );
    assert_eq!((backend.endpoints, backend.resolved), (2, true));
    assert_eq!(backend.message, "");
}

#[test]
fn a_listener_has_a_uri_once_it_has_a_public_address() {
    let mut world = World::new(QUICKSTART);
    let seen = of(&world);
    assert_eq!(seen.gateways[0].listeners[0].uri, None);
    assert!(seen.gateways[0].listeners[0].served);
    world.apply(
        "{kind: Service, metadata: {name: gw, namespace: apps, labels: {stunner.l7mp.io/owned-by: stunner},
           annotations: {stunner.l7mp.io/related-gateway-name: apps/gw},
           ownerReferences: [{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, name: gw, uid: gw-uid}]},
          spec: {type: LoadBalancer, ports: [{name: udp, port: 3478, protocol: UDP}]},
          status: {loadBalancer: {ingress: [{ip: 203.0.113.9}]}}}",
    );
    let seen = of(&world);
    let listener = &seen.gateways[0].listeners[0];
    assert_eq!(
        listener.uri.as_deref(),
        Some("turn:203.0.113.9:3478?transport=udp")
    );
    assert_eq!(listener.public_address.as_deref(), Some("203.0.113.9"));
    assert_eq!(listener.public_port, Some(3478));
    assert_eq!(seen.gateways[0].addresses, ["203.0.113.9"]);
}

#[test]
fn a_backend_says_what_is_wrong_with_it_and_not_with_its_neighbours() {
    let seen = of_snapshot(
        "{kind: UDPRoute, apiVersion: stunner.l7mp.io/v1, metadata: {namespace: stunner, name: media},
          spec: {parentRefs: [{name: gw}], rules: [{backendRefs: [
            {name: none}, {name: media, port: 9000, endPort: 9100}, {name: media, endPort: 1}, {kind: Thing, name: x}]}]}}",
    );
    let told: Vec<(bool, usize, Option<&str>)> = seen.routes[0]
        .backends
        .iter()
        .map(|backend| {
            (
                backend.resolved,
                backend.endpoints,
                backend.ports.as_deref(),
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            (false, 0, Some("1-65535")),
            (true, 2, Some("9000-9100")),
            (false, 0, None),
            (false, 0, Some("1-65535")),
        ]
    );
    let messages: Vec<&str> = seen.routes[0]
        .backends
        .iter()
        .map(|backend| backend.message.as_str())
        .collect();
    assert!(messages[0].contains("stunner/none does not exist"));
    assert_eq!(messages[1], "");
    assert!(messages[3].contains("is a Thing"));
}

#[test]
fn a_backend_by_name_shows_the_name() {
    let seen = of_snapshot(
        "{kind: Service, metadata: {namespace: stunner, name: media},
          spec: {type: ExternalName, externalName: media.example.test}}",
    );
    assert_eq!(seen.routes[0].backends[0].names, ["media.example.test"]);
    assert_eq!(seen.routes[0].backends[0].endpoints, 0);
}

#[test]
fn a_masked_route_is_shown_without_a_cluster() {
    let seen = of_snapshot(
        "{kind: UDPRoute, apiVersion: gateway.networking.k8s.io/v1, metadata: {namespace: stunner, name: media},
          spec: {parentRefs: [{name: gw}], rules: [{backendRefs: [{name: media}]}]}}",
    );
    let clusters: Vec<(&str, Option<&str>)> = seen
        .routes
        .iter()
        .map(|route| (route.group.as_str(), route.cluster.as_deref()))
        .collect();
    assert_eq!(
        clusters,
        [
            ("stunner.l7mp.io", Some("stunner/media")),
            ("gateway.networking.k8s.io", None),
        ]
    );
    assert!(seen.routes[1].parents[0].taken_by.is_empty());
}

#[test]
fn what_is_not_ours_is_not_shown() {
    let seen = of_snapshot(
        "{kind: GatewayClass, metadata: {name: foreign}, spec: {controllerName: example.test/controller}}
---
{kind: Gateway, metadata: {namespace: other, name: foreign}, spec: {gatewayClassName: foreign,
  listeners: [{name: udp, protocol: UDP, port: 1}]}}
---
{kind: UDPRoute, apiVersion: stunner.l7mp.io/v1, metadata: {namespace: other, name: foreign},
  spec: {parentRefs: [{name: foreign}], rules: [{backendRefs: [{name: media}]}]}}",
    );
    assert_eq!(
        (seen.classes.len(), seen.gateways.len(), seen.routes.len()),
        (1, 1, 1)
    );
}

#[test]
fn no_secret_is_in_it() {
    let mut world = World::new(QUICKSTART);
    world.apply(
        "{kind: GatewayConfig, metadata: {name: config, namespace: system,
           annotations: {note: hush-annotation}},
          spec: {authType: static, userName: hush-user, password: hush-password, sharedSecret: hush-shared,
            authRef: {name: keys, namespace: system}}}
---
{kind: Secret, metadata: {name: keys, namespace: system}, data: {type: c3RhdGlj, username: aHVzaC1uYW1l, password: aHVzaC1wYXNz}}
---
{kind: Gateway, metadata: {name: gw, namespace: apps, uid: gw-uid, annotations: {note: hush-note}},
  spec: {gatewayClassName: stunner, listeners: [{name: udp, protocol: UDP, port: 3478}]}}",
    );
    let text = serde_json::to_string(&of(&world)).expect("JSON");
    for secret in ["hush", "aHVzaC", "c3RhdGlj"] {
        assert!(!text.contains(secret), "{text}");
    }
}

#[test]
fn the_names_are_those_of_the_console() {
    let seen = serde_json::to_value(of_snapshot("")).expect("JSON");
    let listener = &seen["gateways"][0]["listeners"][0];
    for key in [
        "id",
        "name",
        "protocol",
        "port",
        "publicAddress",
        "publicPort",
        "uri",
        "served",
        "conditions",
        "attachedRoutes",
        "routes",
    ] {
        assert!(listener.get(key).is_some(), "{key}");
    }
    let condition = &seen["classes"][0]["conditions"][0];
    assert_eq!(condition["type"], "Accepted");
    assert_eq!(condition["status"], "True");
    assert!(seen["routes"][0]["parents"][0].get("takenBy").is_some());
}

#[test]
fn it_does_not_depend_on_the_order_in_which_the_world_was_learned() {
    let objects = crate::snapshot::manifest::objects(crate::snapshot::manifest::WORLD);
    let settings = Settings::default();
    let seen = |objects: &mut dyn Iterator<Item = &crate::key::Object>| {
        let mut snapshot = Snapshot::default();
        for object in objects {
            snapshot.apply(object.clone());
        }
        overview(&snapshot, &translate(&snapshot, &settings), &settings)
    };
    assert_eq!(seen(&mut objects.iter()), seen(&mut objects.iter().rev()));
}

const BACKENDS: &str = "
{kind: Service, metadata: {namespace: media, name: media-server}, spec: {clusterIP: 10.96.0.9}}
---
{kind: EndpointSlice, addressType: IPv4,
  metadata: {namespace: media, name: s-1, labels: {kubernetes.io/service-name: media-server}},
  endpoints: [{addresses: [10.0.0.7]}]}
---
{kind: StaticService, metadata: {namespace: media, name: farm}, spec: {prefixes: [198.51.100.0/24, 2001:db8:1::/48]}}
---
{kind: StaticService, metadata: {namespace: media, name: host}, spec: {prefixes: [198.51.100.7]}}
";

#[test]
fn the_backend_that_has_an_address_is_the_nearest() {
    let snapshot = world_with(BACKENDS);
    let nearest = |address: &str| {
        let address: IpAddr = address.parse().expect("an address");
        nearest_backend(&snapshot, address).map(|found| (found.to_string(), found.holds))
    };
    let has = |text: &str| Some((text.to_owned(), true));
    assert_eq!(nearest("10.0.0.7"), has("Service media/media-server"));
    assert_eq!(
        nearest("::ffff:10.0.0.7"),
        has("Service media/media-server")
    );
    assert_eq!(nearest("10.96.0.9"), has("Service media/media-server"));
    assert_eq!(nearest("10.244.0.2"), has("Service stunner/media"));
    assert_eq!(nearest("198.51.100.8"), has("StaticService media/farm"));
    assert_eq!(nearest("198.51.100.7"), has("StaticService media/host"));
    assert_eq!(nearest("2001:db8:1::1"), has("StaticService media/farm"));
}

#[test]
fn else_the_backend_of_a_route_with_the_longest_common_prefix_is() {
    let snapshot = world_with(BACKENDS);
    let nearest = |address: &str| {
        let address: IpAddr = address.parse().expect("an address");
        nearest_backend(&snapshot, address).map(|found| (found.to_string(), found.holds))
    };
    // Service media/media-server is no backend of any route.
    let close = Some(("Service stunner/media".to_owned(), false));
    assert_eq!(nearest("10.244.7.7"), close);
    assert_eq!(nearest("10.0.0.8"), close);
    assert_eq!(nearest("203.0.113.1"), None);
    assert_eq!(nearest("2001:db8:2::1"), None);
    assert_eq!(
        nearest_backend(
            &Snapshot::default(),
            "10.0.0.1".parse().expect("an address")
        ),
        None
    );
}

fn sentence(peer: &str, reason: &str, nearest: Option<&NearestBackend>) -> String {
    denial_sentence(&Denial {
        listener: "default/udp-gateway/udp",
        client: "192.0.2.1:40000".parse().expect("an address"),
        peer: peer.parse().expect("an address"),
        reason,
        nearest,
    })
}

#[test]
fn a_denial_is_told_in_a_sentence() {
    let media = NearestBackend {
        kind: "Service".to_owned(),
        namespace: "media".to_owned(),
        name: "media-server".to_owned(),
        holds: true,
    };
    assert_eq!(
        sentence("10.0.0.7:5000", "no_route", Some(&media)),
        "client 192.0.2.1:40000 was refused peer 10.0.0.7:5000: not in any route of `default/udp-gateway/udp`; \
         nearest: Service media/media-server"
    );
    assert_eq!(
        sentence("10.0.0.7:0", "no_route", None),
        "client 192.0.2.1:40000 was refused peer 10.0.0.7: not in any route of `default/udp-gateway/udp`"
    );
    assert_eq!(
        sentence("10.0.0.7:5000", "port", Some(&media)),
        "client 192.0.2.1:40000 was refused peer 10.0.0.7:5000: the routes of `default/udp-gateway/udp` have the \
         address, but port 5000 is outside their ranges; nearest: Service media/media-server"
    );
    // Not a matter of backends.
    let own = sentence("10.0.0.7:3478", "own_listener", Some(&media));
    assert!(!own.contains("nearest"), "{own}");
}

#[test]
fn every_reason_has_its_own_words() {
    let known = stunner_config::admission::DenyReason::ALL;
    let said: std::collections::BTreeSet<String> = known
        .iter()
        .map(|reason| sentence("10.0.0.7:5000", reason.as_str(), None))
        .collect();
    assert_eq!(said.len(), known.len());
    let unknown = sentence("10.0.0.7:5000", "brand_new", None);
    assert!(unknown.ends_with("`default/udp-gateway/udp` says `brand_new`"));
}

#[test]
fn peers_of_six_have_brackets_only_with_a_port() {
    let peer: SocketAddr = "[2001:db8::1]:0".parse().expect("an address");
    assert_eq!(peer.ip().to_string(), "2001:db8::1");
    assert!(sentence("[2001:db8::1]:0", "no_route", None).contains("peer 2001:db8::1:"));
    assert!(sentence("[2001:db8::1]:9", "no_route", None).contains("peer [2001:db8::1]:9:"));
}
