use super::*;
use crate::manifests::{QUICKSTART, World, verdict};
use stunner_api::NamespacedName;

#[test]
fn classes_and_gateways_are_withdrawn_and_routes_are_not() {
    let mut world = World::new(QUICKSTART);
    world.apply(
        "kind: UDPRoute\nmetadata: {name: r, namespace: apps}\nspec: {parentRefs: [{name: gw}], rules: []}\n",
    );
    let plan = farewell(&world.snapshot, &world.settings);
    let class = &plan.classes["stunner"].status.conditions;
    assert_eq!(verdict(class, "Accepted"), "False/InvalidParameters");

    let gateway = &plan.gateways[&NamespacedName::new("apps", "gw")];
    assert!(gateway.workloads.is_empty() && gateway.retired.is_empty());
    let status = gateway.status.as_ref().unwrap();
    assert!(verdict(&status.conditions, "Accepted").starts_with("False/"));
    assert!(verdict(&status.conditions, "Programmed").starts_with("False/"));
    let listener = &status.listeners[0].conditions;
    assert_eq!(verdict(listener, "Accepted"), "Unknown/Pending");
    assert_eq!(verdict(listener, "ResolvedRefs"), "True/ResolvedRefs");
    assert_eq!(verdict(listener, "Conflicted"), "False/NoConflicts");
    assert!(plan.routes.is_empty());
}

#[test]
fn what_is_not_ours_is_left_alone() {
    let mut world = World::new(QUICKSTART);
    world.settings.controller_name = "example.test/other".to_owned();
    assert_eq!(farewell(&world.snapshot, &world.settings), Plan::default());
}
