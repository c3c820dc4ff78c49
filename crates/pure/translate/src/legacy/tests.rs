use serde_json::Value;

use super::*;
use crate::class::class_plan;
use crate::key::ObjectKind;
use crate::manifests::{QUICKSTART, World, verdict};
use crate::settings::Mode;

fn world() -> World {
    let mut world = World::new(QUICKSTART);
    world.settings.mode = Mode::Legacy;
    world
}

fn written(world: &World) -> Option<ConfigMap> {
    let class = world.snapshot.classes.get("stunner").unwrap();
    match config_map(&world.snapshot, &world.settings, class)? {
        Workload::ConfigMap(map) => Some(*map),
        other => panic!("{other:?} is no ConfigMap"),
    }
}

fn content(map: &ConfigMap) -> Value {
    serde_json::from_str(&map.data.as_ref().unwrap()["stunnerd.conf"]).unwrap()
}

#[test]
fn all_gateways_of_the_class_share_one_config_map_without_an_owner() {
    let mut world = world();
    world.apply(
        "kind: Gateway\nmetadata: {name: a, namespace: apps, uid: a-uid}\nspec: {gatewayClassName: stunner, listeners: [{name: tcp, protocol: TCP, port: 3478}]}\n",
    );
    let map = written(&world).unwrap();
    assert_eq!(map.metadata.name.as_deref(), Some("stunnerd-config"));
    assert_eq!(map.metadata.namespace.as_deref(), Some("system"));
    assert_eq!(map.metadata.owner_references, None);
    let annotations = map.metadata.annotations.as_ref().unwrap();
    assert_eq!(
        annotations["stunner.l7mp.io/related-gateway-name"],
        "/stunner"
    );
    let config = content(&map);
    assert_eq!(config["admin"]["name"], "stunner-daemon");
    let names: Vec<_> = config["listeners"]
        .as_array()
        .unwrap()
        .iter()
        .map(|l| &l["name"])
        .collect();
    assert_eq!(names, ["apps/a/tcp", "apps/gw/udp"]);
}

#[test]
fn a_class_without_gateways_has_a_config_too() {
    let mut world = world();
    world.remove(ObjectKind::Gateway, "apps", "gw");
    let config = content(&written(&world).unwrap());
    assert_eq!(config["auth"]["type"], "static");
    assert_eq!(config.get("listeners"), None);
}

#[test]
fn the_gateway_config_names_the_config_map() {
    let mut world = world();
    world.apply(
        "kind: GatewayConfig\nmetadata: {name: config, namespace: system}\nspec: {userName: u, password: p, stunnerConfig: mine}\n",
    );
    assert_eq!(
        written(&world).unwrap().metadata.name.as_deref(),
        Some("mine")
    );
}

#[test]
fn broken_credentials_leave_the_last_good_in_place() {
    let broken = "kind: GatewayConfig\nmetadata: {name: config, namespace: system}\nspec: {authRef: {name: gone}}\n";
    let mut fresh = world();
    fresh.apply(broken);
    assert_eq!(written(&fresh), None);

    let mut settled = world();
    settled.settle();
    let before = content(&written(&settled).unwrap());
    settled.apply(broken);
    assert_eq!(content(&written(&settled).unwrap()), before);
}

#[test]
fn of_two_classes_that_write_one_config_map_the_first_wins() {
    let mut world = world();
    let class = QUICKSTART.split("\n---").next().unwrap();
    world.apply(&class.replace("name: stunner,", "name: later,"));
    let accepted = |name: &str| {
        let plan = class_plan(&world.snapshot, &world.settings, name).unwrap();
        (
            verdict(&plan.status.conditions, "Accepted"),
            plan.workloads.len(),
        )
    };
    assert_eq!(accepted("later"), ("True/Accepted".to_owned(), 1));
    assert_eq!(
        accepted("stunner"),
        ("False/InvalidParameters".to_owned(), 0)
    );
    let gateway = world.gateway();
    let status = gateway.status.unwrap();
    assert_eq!(verdict(&status.conditions, "Programmed"), "False/Invalid");
}

#[test]
fn a_gateway_has_a_service_and_neither_config_nor_pods() {
    let plan = world().gateway();
    assert_eq!(plan.config, None);
    assert!(matches!(plan.workloads.as_slice(), [Workload::Service(_)]));
    assert_eq!(plan.retired, []);
}
