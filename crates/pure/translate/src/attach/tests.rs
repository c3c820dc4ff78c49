use super::*;
use crate::snapshot::manifest::world_with;

/// The routes of stunner/gw, each as `kind namespace/name: listeners`.
fn attached(text: &str) -> Vec<String> {
    let snapshot = world_with(text);
    let gateway = &snapshot.gateways[&NamespacedName::new("stunner", "gw")];
    attached_routes(&snapshot, gateway)
        .iter()
        .map(|route| {
            let listeners: Vec<&str> = route
                .listeners
                .iter()
                .map(|&place| gateway.spec.listeners[place].name.as_str())
                .collect();
            format!("{:?} {}: {}", route.kind, route.name, listeners.join(" "))
        })
        .collect()
}

fn route(parents: &str) -> String {
    format!(
        "{{kind: UDPRoute, apiVersion: stunner.l7mp.io/v1, metadata: {{namespace: stunner, name: media}},
           spec: {{parentRefs: [{parents}], rules: []}}}}"
    )
}

fn gateway(allowed_routes: &str) -> String {
    format!(
        "{{kind: Gateway, metadata: {{namespace: stunner, name: gw}}, spec: {{gatewayClassName: stunner,
           listeners: [{{name: udp, protocol: TURN-UDP, port: 3478, allowedRoutes: {allowed_routes}}}]}}}}"
    )
}

const FROM_OTHER: &str = "
---
{kind: UDPRoute, apiVersion: stunner.l7mp.io/v1, metadata: {namespace: other, name: media},
  spec: {parentRefs: [{namespace: stunner, name: gw}], rules: []}}
";

#[test]
fn a_route_attaches_to_every_listener_of_its_parent() {
    assert_eq!(attached(""), ["Udp stunner/media: udp tcp"]);
}

#[test]
fn parents_of_other_groups_kinds_names_and_namespaces_are_not_meant() {
    for parent in [
        "{name: other}",
        "{name: gw, namespace: elsewhere}",
        "{name: gw, kind: Service}",
        "{name: gw, group: example.test}",
    ] {
        assert!(attached(&route(parent)).is_empty(), "{parent}");
    }
    let spelled_out =
        "{name: gw, namespace: stunner, kind: Gateway, group: gateway.networking.k8s.io}";
    assert_eq!(
        attached(&route(spelled_out)),
        ["Udp stunner/media: udp tcp"]
    );
}

#[test]
fn section_name_and_port_must_both_match() {
    let table = [
        ("{name: gw, sectionName: tcp}", Some("tcp")),
        ("{name: gw, port: 3478}", Some("udp")),
        ("{name: gw, sectionName: tcp, port: 3479}", Some("tcp")),
        ("{name: gw, sectionName: tcp, port: 3478}", None),
        ("{name: gw, sectionName: none}", None),
        ("{name: gw, port: 1}", None),
    ];
    for (parent, listener) in table {
        let expected: Vec<String> = listener
            .map(|listener| format!("Udp stunner/media: {listener}"))
            .into_iter()
            .collect();
        assert_eq!(attached(&route(parent)), expected, "{parent}");
    }
}

#[test]
fn several_parent_refs_to_one_gateway_attach_a_route_once() {
    let parents = "{name: gw}, {name: gw, sectionName: udp}, {name: gw, sectionName: tcp}";
    assert_eq!(attached(&route(parents)), ["Udp stunner/media: udp tcp"]);
}

#[test]
fn only_routes_of_the_gateways_namespace_attach_unless_it_says_otherwise() {
    for allowed in [
        "{}",
        "{namespaces: {}}",
        "{namespaces: {from: Same}}",
        "{namespaces: {from: Sometimes}}",
    ] {
        let text = gateway(allowed) + FROM_OTHER;
        assert_eq!(attached(&text), ["Udp stunner/media: udp"], "{allowed}");
    }
    let text = gateway("{namespaces: {from: All}}") + FROM_OTHER;
    assert_eq!(
        attached(&text),
        ["Udp other/media: udp", "Udp stunner/media: udp"]
    );
}

#[test]
fn a_selector_chooses_by_the_labels_of_the_routes_namespace() {
    let namespace = "\n---\n{kind: Namespace, metadata: {name: other, labels: {tier: media}}}";
    let by_label =
        gateway("{namespaces: {from: Selector, selector: {matchLabels: {tier: media}}}}");
    assert_eq!(
        attached(&(by_label.clone() + FROM_OTHER + namespace)),
        ["Udp other/media: udp"]
    );
    assert!(attached(&(by_label + FROM_OTHER)).is_empty());
    let missing = gateway("{namespaces: {from: Selector}}") + FROM_OTHER + namespace;
    assert!(attached(&missing).is_empty());
}

#[test]
fn a_namespace_can_be_selected_by_name_even_when_it_is_not_known() {
    let text = gateway(
        "{namespaces: {from: Selector, selector: {matchExpressions: [
           {key: kubernetes.io/metadata.name, operator: In, values: [other]}]}}}",
    ) + FROM_OTHER;
    assert_eq!(attached(&text), ["Udp other/media: udp"]);
}

#[test]
fn listeners_take_the_kinds_they_name() {
    let routes = "
---
{kind: UDPRoute, apiVersion: gateway.networking.k8s.io/v1, metadata: {namespace: stunner, name: official},
  spec: {parentRefs: [{name: gw}], rules: []}}
---
{kind: TCPRoute, metadata: {namespace: stunner, name: streams}, spec: {parentRefs: [{name: gw}], rules: []}}
";
    let own = "Udp stunner/media: udp";
    let official = "OfficialUdp stunner/official: udp";
    let tcp = "OfficialTcp stunner/streams: udp";
    let table: [(&str, &[&str]); 5] = [
        ("{kinds: []}", &[own, official, tcp]),
        ("{kinds: [{kind: UDPRoute}]}", &[own, official]),
        (
            "{kinds: [{group: stunner.l7mp.io, kind: UDPRoute}]}",
            &[own],
        ),
        ("{kinds: [{kind: TCPRoute}]}", &[tcp]),
        ("{kinds: [{kind: HTTPRoute}]}", &[]),
    ];
    for (allowed, expected) in table {
        assert_eq!(
            attached(&(gateway(allowed) + routes)),
            expected,
            "{allowed}"
        );
    }
}

#[test]
fn our_route_masks_the_official_one_of_its_name() {
    let official = "{kind: UDPRoute, apiVersion: gateway.networking.k8s.io/v1,
      metadata: {namespace: stunner, name: media}, spec: {parentRefs: [{name: gw}], rules: []}}";
    assert_eq!(attached(official), ["Udp stunner/media: udp tcp"]);
}
