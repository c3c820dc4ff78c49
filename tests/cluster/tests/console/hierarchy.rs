//! What everybody sees who reaches the operator's loopback address: the hierarchy, as it is now.

use cluster_tests::{Cluster, GatewayApi, Operator, eventually, need};
use serde_json::Value;

use crate::world::{PASSWORD, USER, World, of, shown};

#[tokio::test]
async fn the_hierarchy_is_shown_and_follows_changes() {
    let test = "the_hierarchy_is_shown_and_follows_changes";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let world = World::new(cluster, "console-hierarchy").await;
    let operator = world.operator(cluster).await;
    let console = operator.console();
    let route = "UDPRoute.stunner.l7mp.io/console-hierarchy/media";
    let backend = |state: &Value| Some(of(&state["routes"], route)?["backends"][0].clone());

    let missing = shown(console, None, "the missing backend", |state| {
        backend(state).filter(|backend| backend["resolved"] == false)
    })
    .await;
    let message = missing["message"].as_str().unwrap_or_default();
    assert!(
        message.contains("StaticService console-hierarchy/media does not exist"),
        "{message}"
    );

    let before = console.state(None).expect("a state");
    assert_eq!(before["mode"], "operator");
    assert_eq!(before["token"], "missing");
    assert!(before["live"].is_null(), "{before}");
    assert_eq!(before["classes"][0]["name"], "console-hierarchy");
    let gateway = of(&before["gateways"], "console-hierarchy/edge").expect("the Gateway");
    assert_eq!(gateway["listeners"][0]["routes"][0], route);
    for secret in [USER, PASSWORD] {
        assert!(!before.to_string().contains(secret), "{before}");
    }

    world
        .apply(&world.static_service("media", "10.1.2.0/24"))
        .await;
    let mended = shown(console, None, "the backend once it is there", |state| {
        let backend = backend(state)?;
        (backend["resolved"] == true).then(|| (backend, state["generation"].as_u64()))
    })
    .await;
    assert_eq!(mended.0["endpoints"], 1);
    assert!(mended.1 > before["generation"].as_u64(), "{before}");

    world.apply(&world.gateway("second", 3479)).await;
    shown(console, None, "the second Gateway", |state| {
        of(&state["gateways"], "console-hierarchy/second").map(|_| ())
    })
    .await;
}

#[tokio::test]
async fn the_page_is_served_and_says_when_to_ask_again() {
    let test = "the_page_is_served_and_says_when_to_ask_again";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let world = World::new(cluster, "console-page").await;
    let operator = world.operator(cluster).await;
    let page = operator.console().ask("GET", "/", None, None);
    let page = page.expect("a page");
    assert_eq!(page.status, 200);
    assert!(page.body.contains("<html"), "{}", page.body);
}

#[tokio::test]
async fn an_address_in_use_is_a_warning_and_off_is_silent() {
    let test = "an_address_in_use_is_a_warning_and_off_is_silent";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let world = World::new(cluster, "console-address").await;
    let first = world.operator(cluster).await;
    let address = format!("127.0.0.1:{}", first.console().port());
    let options = world.options().arg(&format!("--console-address={address}"));
    let second = Operator::start(cluster, options).await;
    // That it is ready may be known before its log has been read.
    let warning = eventually("a warning", async || {
        let log = second.log();
        let warning = log.iter().find(|line| line.contains("--console-address"));
        warning.cloned().ok_or_else(|| log.join("\n"))
    })
    .await;
    assert!(warning.contains(&address), "{warning}");
    assert!(warning.contains("WARN"), "{warning}");

    let options = world.options().arg("--console-address=off");
    let third = Operator::start(cluster, options).await;
    assert!(third.console().state(None).is_err());
    let log = third.log().join("\n");
    assert!(!log.contains("console"), "{log}");
}
