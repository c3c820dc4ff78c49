//! Statuses: ours are written, those of others stay.

use cluster_tests::{Cluster, GatewayApi, kinds, need};
use serde_json::{Value, json};
use stunner_translate::{Plan, RouteKind, RoutePlan, Unit};

use crate::objects::{gateway_status, plan};
use crate::world::{CONTROLLER, World};

fn condition(kind: &str, status: &str) -> Value {
    json!({
        "type": kind, "status": status, "reason": kind, "message": "m", "observedGeneration": 1,
        "lastTransitionTime": "1970-01-01T00:00:00Z",
    })
}

fn route_plan(conditions: &[Value]) -> RoutePlan {
    let status = json!({"parents": [{
        "parentRef": {"name": "gw"}, "controllerName": CONTROLLER, "conditions": conditions,
    }]});
    RoutePlan {
        status: serde_json::from_value(status).expect("a status"),
    }
}

#[tokio::test]
async fn a_gateways_status_is_written_once_with_the_time_of_its_last_change() {
    let test = "a_gateways_status_is_written_once_with_the_time_of_its_last_change";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let mut world = World::new(cluster, "write-gateway-status").await;
    let mut wanted = plan(&world.uid);
    let status = |programmed: &str| {
        gateway_status(json!({
            "conditions": [condition("Accepted", "True"), condition("Programmed", programmed)],
            "addresses": [{"type": "IPAddress", "value": "192.0.2.1"}],
        }))
    };
    wanted.status = Some(status("False"));
    world.write_gateway(Some(wanted.clone())).await;
    let first = world.object(kinds::GATEWAY, "gw").await["status"].clone();
    let writes = world
        .writes_during(async |world| world.write_gateway(Some(wanted.clone())).await)
        .await;
    assert_eq!(writes, []);
    assert_eq!(first["addresses"][0]["value"], "192.0.2.1");
    let time = |status: &Value, kind: &str| {
        let conditions = status["conditions"].as_array().unwrap();
        let found = conditions.iter().find(|entry| entry["type"] == kind);
        found.unwrap()["lastTransitionTime"].clone()
    };
    assert_ne!(time(&first, "Accepted"), "1970-01-01T00:00:00Z");

    tokio::time::sleep(std::time::Duration::from_millis(1100)).await;
    wanted.status = Some(status("True"));
    world.write_gateway(Some(wanted.clone())).await;
    let second = world.object(kinds::GATEWAY, "gw").await["status"].clone();
    assert_eq!(time(&second, "Accepted"), time(&first, "Accepted"));
    assert_ne!(time(&second, "Programmed"), time(&first, "Programmed"));
    let events = world
        .objects
        .list(kinds::EVENT, &world.gateway.namespace)
        .await;
    assert_eq!(events.len(), 1);
    assert_eq!(events[0]["reason"], "Programmed");
    assert_eq!(events[0]["type"], "Normal");
}

#[tokio::test]
async fn a_gateway_that_was_made_anew_does_not_get_the_status_of_the_old_one() {
    let test = "a_gateway_that_was_made_anew_does_not_get_the_status_of_the_old_one";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let mut world = World::new(cluster, "write-gateway-anew").await;
    let mut wanted = plan("not-its-uid");
    wanted.status = Some(gateway_status(
        json!({"conditions": [condition("Accepted", "False")]}),
    ));
    let writes = world
        .writes_during(async |world| world.write_gateway(Some(wanted.clone())).await)
        .await;
    assert_eq!(writes, []);
}

/// Translation may change its mind before the watch has told of our last write.
#[tokio::test]
async fn a_cache_that_has_not_seen_our_status_does_not_mislead() {
    let test = "a_cache_that_has_not_seen_our_status_does_not_mislead";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let mut world = World::new(cluster, "write-stale-status").await;
    let write = async |world: &mut World, accepted: &str| {
        let mut wanted = plan(&world.uid);
        let conditions = [
            condition("Accepted", accepted),
            condition("Programmed", "False"),
        ];
        wanted.status = Some(gateway_status(json!({"conditions": conditions})));
        let mut whole = Plan::default();
        whole.gateways.insert(world.gateway.clone(), wanted);
        let unit = Unit::Gateway(world.gateway.clone());
        world.resubmit(whole, unit).await;
        let live = world.object(kinds::GATEWAY, "gw").await;
        assert_eq!(live["status"]["conditions"][0]["status"], accepted);
    };
    write(&mut world, "True").await;
    world.refresh().await;
    write(&mut world, "False").await;
    write(&mut world, "True").await;
}

async fn entries_of_others_stay(
    test: &str,
    kind: RouteKind,
    resource: kinds::Kind,
    namespace: &str,
) {
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let mut world = World::new(cluster, namespace).await;
    world
        .objects
        .apply_object(&json!({
            "apiVersion": resource.api_version(), "kind": "UDPRoute",
            "metadata": {"name": "route", "namespace": namespace},
            "spec": {"parentRefs": [{"name": "gw"}], "rules": [{"backendRefs": [{"name": "b", "port": 1}]}]},
        }))
        .await;
    let theirs = json!({
        "parentRef": {"group": "gateway.networking.k8s.io", "kind": "Gateway", "name": "other"},
        "controllerName": "example.test/controller", "conditions": [condition("Accepted", "True")],
    });
    world
        .objects
        .merge_status(resource, namespace, "route", json!({"parents": [theirs]}))
        .await;
    let parents = async |world: &World| {
        let route = world.object(resource, "route").await;
        route["status"]["parents"].as_array().unwrap().clone()
    };

    let ours = route_plan(&[
        condition("Accepted", "True"),
        condition("ResolvedRefs", "True"),
    ]);
    world.write_route(kind, "route", Some(ours.clone())).await;
    let both = parents(&world).await;
    assert_eq!(both.len(), 2);
    assert_eq!(both[0], theirs);
    assert_eq!(both[1]["controllerName"], CONTROLLER);
    let writes = world
        .writes_during(async |world| world.write_route(kind, "route", Some(ours.clone())).await)
        .await;
    assert_eq!(writes, []);

    // The route is no longer ours: our entry goes.
    world.write_route(kind, "route", None).await;
    assert_eq!(parents(&world).await, [theirs]);
    let writes = world
        .writes_during(async |world| world.write_route(kind, "route", None).await)
        .await;
    assert_eq!(writes, []);

    world.objects.delete(resource, namespace, "route").await;
    let writes = world
        .writes_during(async |world| {
            world.write_route(kind, "route", None).await;
            world.write_route(kind, "route", Some(ours.clone())).await;
        })
        .await;
    assert_eq!(writes, []);
}

#[tokio::test]
async fn parents_of_other_controllers_stay_on_our_udproute() {
    let test = "parents_of_other_controllers_stay_on_our_udproute";
    entries_of_others_stay(test, RouteKind::Udp, kinds::UDP_ROUTE, "write-route").await;
}

#[tokio::test]
async fn parents_of_other_controllers_stay_on_an_official_udproute() {
    let test = "parents_of_other_controllers_stay_on_an_official_udproute";
    let kind = kinds::OFFICIAL_UDP_ROUTE;
    entries_of_others_stay(test, RouteKind::OfficialUdp, kind, "write-official-route").await;
}
