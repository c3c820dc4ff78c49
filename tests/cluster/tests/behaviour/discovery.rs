//! Config discovery on the plain port of a running operator, as Go clients read it.

use std::time::Duration;

use cluster_tests::{Cluster, GatewayApi, Operator, eventually, kinds, need};
use serde_json::{Value, json};

use crate::site::{Site, conditions, same};

fn document(operator: &Operator, path: &str) -> (u16, Value) {
    let (status, body) = operator.cds().get(path).expect("an answer");
    let body =
        serde_json::from_str(&body).unwrap_or_else(|error| panic!("{path}: {error}: {body}"));
    (status, body)
}

fn names(list: &Value) -> Vec<String> {
    let items = list["items"].as_array().expect("items");
    let name = |item: &Value| {
        item["admin"]["name"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    items.iter().map(name).collect()
}

#[tokio::test]
async fn every_path_answers_as_the_go_operator_does() {
    let test = "every_path_answers_as_the_go_operator_does";
    let cluster = need!(test, Cluster::start(GatewayApi::V1_6Standard).await);
    let site = Site::new(&cluster, "paths").await;
    let operator = site.operator(&cluster).await;
    assert_eq!(
        document(&operator, "/api/v1/configs"),
        (200, json!({ "version": "v1", "items": [] }))
    );
    for name in ["b", "a"] {
        site.apply(site.gateway(name)).await;
        site.serve(&operator, name).await;
    }
    for path in ["/api/v1/configs", "/api/v1/configs/paths"] {
        let (status, list) = document(&operator, path);
        assert_eq!((status, &list["version"]), (200, &json!("v1")));
        assert_eq!(names(&list), ["paths/a", "paths/b"], "{path}");
    }
    let (status, one) = document(&operator, "/api/v1/configs/paths/a");
    assert_eq!(status, 200);
    assert_eq!(one["version"], json!("v1"));
    assert_eq!(
        one["auth"],
        json!({
            "type": "static", "realm": "example.test",
            "credentials": { "username": "user-1", "password": "pass-1" },
        })
    );
    let listener = &one["listeners"][0];
    for (field, wanted) in [
        ("name", json!("paths/a/udp")),
        ("protocol", json!("TURN-UDP")),
        ("port", json!(3478)),
        ("public_address", json!("192.0.2.1")),
        ("public_port", json!(3478)),
    ] {
        assert_eq!(listener[field], wanted, "{field} of {listener}");
    }
    let (status, missing) = document(&operator, "/api/v1/configs/paths/nobody");
    assert_eq!((status, &missing["code"]), (404, &json!(404)));
    let told = missing["message"].as_str().unwrap_or_default();
    assert!(told.contains("paths/nobody"), "{told}");
    let (status, none) = document(&operator, "/api/v1/configs/nowhere");
    assert_eq!(
        (status, none),
        (200, json!({ "version": "v1", "items": [] }))
    );
    let (status, license) = document(&operator, "/api/v1/license");
    assert_eq!(
        (status, &license["subscriptionType"], &license["lastError"]),
        (200, &json!("free"), &json!(""))
    );
    assert!(
        license["enabledFeatures"].is_array() && license["lastUpdated"].is_string(),
        "{license}"
    );
}

#[tokio::test]
async fn watches_get_one_frame_for_each_change_and_one_for_the_end() {
    let test = "watches_get_one_frame_for_each_change_and_one_for_the_end";
    let cluster = need!(test, Cluster::start(GatewayApi::V1_6Standard).await);
    let site = Site::new(&cluster, "frames").await;
    let operator = site.operator(&cluster).await;
    let early = operator.cds().watch_gateway("frames", "one").await;
    for name in ["one", "two"] {
        site.apply(site.gateway(name)).await;
        site.serve(&operator, name).await;
    }
    cluster.operator_is_calm(Duration::from_millis(500)).await;
    let cds = operator.cds();
    let (one, all) = (
        cds.watch_gateway("frames", "one").await,
        cds.watch("/api/v1/configs").await,
    );
    let place = cds.watch("/api/v1/configs/frames").await;
    eventually("the state at the beginning", async || {
        same(
            &json!([one.frames().len(), all.frames().len(), place.frames().len()]),
            json!([1, 2, 2]),
        )
    })
    .await;
    site.route("route", "one").await;
    eventually("the route", async || {
        let last = one.last().unwrap_or_default();
        same(&last["clusters"][0]["endpoints"], json!(["10.1.2.0/24"]))?;
        same(&last["listeners"][0]["routes"], json!(["frames/route"]))
    })
    .await;
    // A route and its backend came one after the other: one or two states, and nothing of the other Gateway.
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!((2..=3).contains(&one.frames().len()), "{:?}", one.frames());
    let of_two = all
        .frames()
        .iter()
        .filter(|frame| frame["admin"]["name"] == "frames/two")
        .count();
    assert_eq!(of_two, 1);

    site.objects.delete(kinds::GATEWAY, "frames", "one").await;
    for (name, watch) in [
        ("one", &one),
        ("all", &all),
        ("place", &place),
        ("early", &early),
    ] {
        eventually(&format!("the frame of the end on {name}"), async || {
            let last = watch.last().unwrap_or_default();
            same(&last["admin"]["name"], "frames/one")?;
            same(&last["auth"]["credentials"]["username"], "dummy-username")?;
            let empty = |list: &Value| list.as_array().is_none_or(Vec::is_empty);
            match empty(&last["listeners"]) && empty(&last["clusters"]) {
                true => Ok(()),
                false => Err(last.to_string()),
            }
        })
        .await;
        assert!(!watch.closed(), "{name}");
    }
    assert_eq!(document(&operator, "/api/v1/configs/frames/one").0, 404);
    assert_eq!(
        names(&document(&operator, "/api/v1/configs").1),
        ["frames/two"]
    );

    // A Gateway of the same name, before anybody has collected what the old one had.
    site.apply(site.gateway("one")).await;
    site.conditions(kinds::GATEWAY, "one", &[("Accepted", "True")])
        .await;
    let gateway = site.object(kinds::GATEWAY, "one", |_| Ok(())).await;
    for kind in [kinds::SERVICE, kinds::DEPLOYMENT] {
        site.object(kind, "one", |live| {
            same(
                &live["metadata"]["ownerReferences"][0]["uid"],
                gateway["metadata"]["uid"].clone(),
            )
        })
        .await;
    }
    eventually("the new one's config", async || {
        same(
            &one.last().unwrap_or_default()["listeners"][0]["port"],
            3478,
        )
    })
    .await;
}

/// GEP-1324: a route lists a parent for each controller; neither of two may hide the other's.
#[tokio::test]
async fn two_operators_share_a_route() {
    let test = "two_operators_share_a_route";
    let cluster = need!(test, Cluster::start(GatewayApi::V1_6Standard).await);
    let (left, right) = (
        Site::new(&cluster, "left").await,
        Site::new(&cluster, "right").await,
    );
    let mut gateway = right.gateway("gw");
    gateway["spec"]["listeners"][0]["allowedRoutes"] = json!({ "namespaces": { "from": "All" } });
    right.apply(gateway).await;
    left.apply(left.gateway("gw")).await;
    let _operators = (
        left.operator(&cluster).await,
        right.operator(&cluster).await,
    );
    left.route("route", "gw").await;
    let parents = json!({ "spec": { "parentRefs": [{ "name": "gw" }, { "name": "gw", "namespace": "right" }] } });
    left.objects
        .merge(kinds::UDP_ROUTE, "left", "route", parents)
        .await;
    let both = |live: &Value| {
        let parents = live["status"]["parents"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        for controller in ["stunner.l7mp.io/left", "stunner.l7mp.io/right"] {
            let entries: Vec<_> = parents
                .iter()
                .filter(|one| one["controllerName"] == controller)
                .collect();
            let [entry] = entries[..] else {
                return Err(format!(
                    "{} entries of {controller} in {parents:?}",
                    entries.len()
                ));
            };
            conditions(entry, &[("Accepted", "True"), ("ResolvedRefs", "True")])?;
        }
        Ok(())
    };
    left.object(kinds::UDP_ROUTE, "route", both).await;
    cluster.operator_is_calm(Duration::from_secs(1)).await;
    left.object(kinds::UDP_ROUTE, "route", both).await;
}
