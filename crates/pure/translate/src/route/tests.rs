use super::*;
use crate::snapshot::manifest::world_with;

/// Our entries for the route stunner/media, each as `gateway section port: Accepted reason, ResolvedRefs reason`.
fn entries(kind: RouteKind, text: &str) -> Vec<String> {
    parents(kind, text)
        .iter()
        .map(|entry| {
            let conditions: Vec<String> = entry
                .conditions
                .iter()
                .map(|condition| {
                    assert_eq!(condition.observed_generation, Some(1));
                    format!("{} {}", condition.status, condition.reason)
                })
                .collect();
            format!("{}: {}", entry.parent_ref.name, conditions.join(", "))
        })
        .collect()
}

fn parents(kind: RouteKind, text: &str) -> Vec<RouteParentStatus> {
    let snapshot = world_with(text);
    let name = NamespacedName::new("stunner", "media");
    let plan = route_plan(&snapshot, &Settings::default(), kind, &name);
    plan.expect("the route exists").status.parents
}

fn message(text: &str, kind: &str) -> String {
    let entries = parents(RouteKind::Udp, text);
    let condition = entries[0]
        .conditions
        .iter()
        .find(|condition| condition.type_ == kind);
    condition.expect("a condition").message.clone()
}

fn route(parents: &str, backends: &str) -> String {
    format!(
        "{{kind: UDPRoute, apiVersion: stunner.l7mp.io/v1,
           metadata: {{namespace: stunner, name: media, generation: 1}},
           spec: {{parentRefs: [{parents}], rules: [{{backendRefs: [{backends}]}}]}}}}"
    )
}

const FOREIGN: &str = "
---
{kind: GatewayClass, metadata: {name: foreign}, spec: {controllerName: example.test/controller}}
---
{kind: Gateway, metadata: {namespace: stunner, name: foreign}, spec: {gatewayClassName: foreign,
  listeners: [{name: udp, protocol: UDP, port: 1}]}}
";

#[test]
fn a_route_that_is_taken_and_resolved_says_so() {
    assert_eq!(
        entries(RouteKind::Udp, ""),
        ["gw: True Accepted, True ResolvedRefs"]
    );
}

#[test]
fn each_parent_is_told_about_as_the_user_wrote_it() {
    let refs = "{name: gw, sectionName: udp}, {name: gw, port: 3479}, {name: gw, namespace: stunner}, {name: gw, port: 3479}";
    let entries = parents(RouteKind::Udp, &route(refs, ""));
    let refs: Vec<String> = entries
        .iter()
        .map(|entry| {
            let parent = &entry.parent_ref;
            assert_eq!(parent.group.as_deref(), Some("gateway.networking.k8s.io"));
            assert_eq!(parent.kind.as_deref(), Some("Gateway"));
            format!(
                "{:?} {:?} {:?}",
                parent.namespace, parent.section_name, parent.port
            )
        })
        .collect();
    assert_eq!(
        refs,
        [
            "None Some(\"udp\") None",
            "None None Some(3479)",
            "Some(\"stunner\") None None",
        ]
    );
}

#[test]
fn a_missing_parent_is_told_only_beside_a_gateway_of_ours() {
    let both = route("{name: gw}, {name: nobody}", "");
    assert_eq!(
        entries(RouteKind::Udp, &both),
        [
            "gw: True Accepted, True ResolvedRefs",
            "nobody: False NoMatchingParent, True ResolvedRefs",
        ]
    );
    assert!(entries(RouteKind::Udp, &route("{name: nobody}", "")).is_empty());
}

#[test]
fn parents_of_other_controllers_and_kinds_get_no_entry() {
    let refs = "{name: foreign}, {name: gw}, {name: gw, group: '', kind: Service}";
    let text = route(refs, "") + FOREIGN;
    assert_eq!(
        entries(RouteKind::Udp, &text),
        ["gw: True Accepted, True ResolvedRefs"]
    );
    let text = route("{name: foreign}, {name: nobody}", "") + FOREIGN;
    assert!(entries(RouteKind::Udp, &text).is_empty());
}

#[test]
fn a_refusal_names_the_listener_and_the_remedy() {
    let other =
        "{kind: Gateway, metadata: {namespace: other, name: gw}, spec: {gatewayClassName: stunner,
      listeners: [{name: same, protocol: UDP, port: 1}]}}\n---\n";
    let text = other.to_owned() + &route("{name: gw, namespace: other}", "");
    assert_eq!(
        entries(RouteKind::Udp, &text),
        ["gw: False NotAllowedByListeners, True ResolvedRefs"]
    );
    let message = message(&text, "Accepted");
    for part in ["other/gw", "`same`", "stunner", "allowedRoutes"] {
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn a_section_or_port_that_no_listener_has_is_a_refusal() {
    for parent in ["{name: gw, sectionName: none}", "{name: gw, port: 1}"] {
        let text = route(parent, "");
        assert_eq!(
            entries(RouteKind::Udp, &text),
            ["gw: False NotAllowedByListeners, True ResolvedRefs"]
        );
        assert!(message(&text, "Accepted").contains("`udp` on port 3478"));
    }
}

#[test]
fn a_masked_route_waits() {
    let official = "{kind: UDPRoute, apiVersion: gateway.networking.k8s.io/v1,
      metadata: {namespace: stunner, name: media, generation: 1},
      spec: {parentRefs: [{name: gw}], rules: [{backendRefs: [{name: none}]}]}}";
    assert_eq!(
        entries(RouteKind::OfficialUdp, official),
        ["gw: False Pending, True ResolvedRefs"]
    );
}

#[test]
fn the_gravest_problem_gives_the_reason_and_the_message_names_all() {
    let table = [
        ("{name: none}", "BackendNotFound"),
        ("{name: none}, {kind: Thing, name: x}", "InvalidKind"),
        ("{kind: Thing, name: x}, {name: none}", "InvalidKind"),
        ("{name: media, endPort: 1}, {name: none}", "BackendNotFound"),
        ("{name: media, endPort: 1}", "UnsupportedValue"),
    ];
    for (backends, reason) in table {
        let text = route("{name: gw}", backends);
        assert_eq!(
            entries(RouteKind::Udp, &text),
            [format!("gw: True Accepted, False {reason}")],
            "{backends}"
        );
    }
    let text = route("{name: gw}", "{name: none}, {kind: Thing, name: x}");
    let message = message(&text, "ResolvedRefs");
    assert!(
        message.contains("stunner/none") && message.contains("stunner/x is a Thing"),
        "{message}"
    );
}

#[test]
fn remarks_do_not_make_references_unresolved() {
    let empty = "{kind: Service, metadata: {namespace: other, name: empty}, spec: {clusterIP: None}}\n---\n";
    let text = empty.to_owned() + &route("{name: gw}", "{name: empty, namespace: other}");
    assert_eq!(
        entries(RouteKind::Udp, &text),
        ["gw: True Accepted, True ResolvedRefs"]
    );
    let message = message(&text, "ResolvedRefs");
    assert!(
        message.contains("other/empty has no endpoints"),
        "{message}"
    );
    assert!(message.contains("ReferenceGrant"), "{message}");
}

#[test]
fn a_route_that_does_not_exist_has_no_plan() {
    let snapshot = world_with("");
    let name = NamespacedName::new("stunner", "none");
    assert!(route_plan(&snapshot, &Settings::default(), RouteKind::Udp, &name).is_none());
}
