use super::*;
use crate::key::ObjectKind;
use crate::manifests::{QUICKSTART, World, message, verdict};

fn accepted(world: &World) -> String {
    let plan = class_plan(&world.snapshot, &world.settings, "stunner").unwrap();
    verdict(&plan.status.conditions, "Accepted")
}

fn class_with(parameters: &str) -> World {
    World::new(&format!(
        "kind: GatewayClass\nmetadata: {{name: stunner}}\nspec:\n  controllerName: stunner.l7mp.io/gateway-operator\n{parameters}"
    ))
}

#[test]
fn a_class_in_order_is_accepted() {
    let world = World::new(QUICKSTART);
    assert_eq!(accepted(&world), "True/Accepted");
}

#[test]
fn a_class_of_another_controller_is_left_alone() {
    let mut world = World::new(QUICKSTART);
    world.settings.controller_name = "example.test/other".to_owned();
    assert_eq!(
        class_plan(&world.snapshot, &world.settings, "stunner"),
        None
    );
}

#[test]
fn bad_parameters_are_reported_on_the_class() {
    let reference = |fields: &str| format!("  parametersRef: {{{fields}}}\n");
    for parameters in [
        String::new(),
        reference("group: other, kind: GatewayConfig, name: config, namespace: system"),
        reference("group: stunner.l7mp.io, kind: Other, name: config, namespace: system"),
        reference("group: stunner.l7mp.io, kind: GatewayConfig, name: config"),
        reference("group: stunner.l7mp.io, kind: GatewayConfig, name: config, namespace: ''"),
        reference("group: stunner.l7mp.io, kind: GatewayConfig, name: '', namespace: system"),
        reference("group: stunner.l7mp.io, kind: GatewayConfig, name: gone, namespace: system"),
    ] {
        assert_eq!(
            accepted(&class_with(&parameters)),
            "False/InvalidParameters",
            "{parameters}"
        );
    }
}

#[test]
fn files_may_leave_out_group_and_kind_of_the_parameters() {
    let mut world = class_with("  parametersRef: {name: config, namespace: system}\n");
    world.apply("kind: GatewayConfig\nmetadata: {name: config, namespace: system}\nspec: {}\n");
    assert_eq!(accepted(&world), "True/Accepted");
}

#[test]
fn broken_authentication_is_not_the_classes_fault() {
    let mut world = World::new(QUICKSTART);
    world.apply(
        "kind: GatewayConfig\nmetadata: {name: config, namespace: system}\nspec: {authRef: {name: gone}}\n",
    );
    assert_eq!(accepted(&world), "True/Accepted");
}

#[test]
fn a_missing_dataplane_matters_unless_it_is_the_default_one() {
    let mut world = World::new(QUICKSTART);
    world.remove(ObjectKind::Dataplane, "", "default");
    assert_eq!(accepted(&world), "True/Accepted");
    let plan = class_plan(&world.snapshot, &world.settings, "stunner").unwrap();
    assert!(message(&plan.status.conditions, "Accepted").contains("built-in"));

    world.apply(
        "kind: GatewayConfig\nmetadata: {name: config, namespace: system}\nspec: {dataplane: special}\n",
    );
    assert_eq!(accepted(&world), "False/InvalidParameters");
    world.settings.mode = Mode::Legacy;
    assert_eq!(accepted(&world), "True/Accepted");
}

#[test]
fn supported_features_are_sorted_and_only_where_they_can_be_stored() {
    let mut settings = Settings {
        reference_grants: ReferenceGrants::Enforce,
        ..Settings::default()
    };
    let features = supported_features(&settings);
    assert!(features.is_sorted());
    assert!(
        features
            .iter()
            .any(|feature| feature.name == "ReferenceGrant")
    );
    settings.gateway_api.supported_features = false;
    assert_eq!(supported_features(&settings), []);
}
