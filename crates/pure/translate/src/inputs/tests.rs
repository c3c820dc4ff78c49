use super::*;
use crate::key::ObjectKind;
use crate::manifests::{QUICKSTART, World};
use crate::ownership;

fn find(world: &World) -> Result<Inputs, Unserved> {
    let name = NamespacedName::new("apps", "gw");
    let gateway = &world.snapshot.gateways[&name];
    let class = world.snapshot.classes.get("stunner");
    let good = ownership::last_good(&world.snapshot, gateway);
    inputs(
        &world.snapshot,
        &world.settings,
        gateway,
        class.map(|class| class.as_ref()),
        good,
    )
}

fn settled() -> World {
    let mut world = World::new(QUICKSTART);
    world.settle();
    world
}

#[test]
fn live_inputs_are_used_as_they_are() {
    let inputs = find(&World::new(QUICKSTART)).unwrap();
    assert_eq!(inputs.auth.method.as_str(), "static");
    assert!(matches!(&inputs.dataplane, Template::Named(name, _) if name == "default"));
    assert_eq!(inputs.problems, [] as [&str; 0]);
    assert_eq!(inputs.notices, [] as [&str; 0]);
}

#[test]
fn without_a_last_good_everything_that_is_missing_is_reported_at_once() {
    let mut world = World::new(QUICKSTART);
    world.apply(
        "kind: GatewayConfig\nmetadata: {name: config, namespace: system}\nspec: {dataplane: special, authRef: {name: gone}}\n",
    );
    let problems = find(&world).unwrap_err();
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert!(problems[0].contains("system/gone"));
    assert!(problems[1].contains("special"));
}

#[test]
fn a_deleted_config_is_replaced_by_the_last_good() {
    let mut world = settled();
    let before = find(&world).unwrap();
    world.remove(ObjectKind::GatewayConfig, "system", "config");
    let after = find(&world).unwrap();
    assert_eq!(after.config, before.config);
    assert_eq!(after.auth, before.auth);
    assert_eq!(after.problems.len(), 1);
}

#[test]
fn a_deleted_class_is_replaced_by_the_last_good() {
    let mut world = settled();
    world.remove(ObjectKind::GatewayClass, "", "stunner");
    let inputs = find(&world).unwrap();
    assert_eq!(inputs.auth.method.as_str(), "static");
    assert!(inputs.problems[0].contains("GatewayClass stunner"));
}

#[test]
fn broken_credentials_are_replaced_while_the_rest_stays_live() {
    let mut world = settled();
    world.apply(
        "kind: GatewayConfig\nmetadata: {name: config, namespace: system}\nspec: {authRef: {name: gone}, logLevel: 'all:TRACE'}\n",
    );
    let inputs = find(&world).unwrap();
    assert_eq!(inputs.auth.method.as_str(), "static");
    assert_eq!(inputs.config.spec.log_level.as_deref(), Some("all:TRACE"));
    assert_eq!(inputs.problems.len(), 1);
}

#[test]
fn a_deleted_dataplane_is_replaced_by_the_last_good() {
    let mut world = settled();
    world.remove(ObjectKind::Dataplane, "", "default");
    let inputs = find(&world).unwrap();
    let spec = inputs.dataplane.spec().unwrap();
    assert_eq!(spec.image.as_deref(), Some("example.test/stunnerd:1"));
    assert_eq!(inputs.problems.len(), 1);
}

#[test]
fn a_new_gateway_gets_built_in_defaults_where_there_is_no_default_dataplane() {
    let mut world = World::new(QUICKSTART);
    world.remove(ObjectKind::Dataplane, "", "default");
    for _ in 0..2 {
        // The second time round must not take the built-in defaults for a Dataplane that was deleted.
        let inputs = find(&world).unwrap();
        assert!(matches!(inputs.dataplane, Template::BuiltIn(_)));
        assert_eq!(inputs.problems, [] as [&str; 0]);
        assert_eq!(inputs.notices.len(), 1);
        world.settle();
    }
}

#[test]
fn a_gateway_made_anew_does_not_inherit() {
    let mut world = settled();
    world.remove(ObjectKind::GatewayConfig, "system", "config");
    world.apply(
        &QUICKSTART
            .rsplit("\n---")
            .next()
            .unwrap()
            .replace("gw-uid", "other-uid"),
    );
    assert!(find(&world).is_err());
}

#[test]
fn legacy_mode_needs_no_dataplane() {
    let mut world = World::new(QUICKSTART);
    world.settings.mode = Mode::Legacy;
    world.remove(ObjectKind::Dataplane, "", "default");
    let inputs = find(&world).unwrap();
    assert_eq!(inputs.dataplane, Template::Nothing);
    assert_eq!(inputs.problems, [] as [&str; 0]);
}
