//! Other web sites, rebound names, and a console that strangers can reach.

use cluster_tests::{Cluster, Console, GatewayApi, Operator, need};
use interop_tests::ports::free_port;
use serde_json::json;

use crate::world::{World, notes, of, shown};

#[tokio::test]
async fn other_sites_and_rebound_names_are_refused() {
    let test = "other_sites_and_rebound_names_are_refused";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let world = World::new(cluster, "console-strangers").await;
    let operator = world.operator(cluster).await;
    let console = operator.console();
    let host = format!("127.0.0.1:{}", console.port());

    let rebound = console.send("GET", "/api/v1/state", &[("Host", "rebound.example")], None);
    let rebound = rebound.expect("an answer");
    assert!(matches!(rebound.status, 403 | 421), "{}", rebound.status);
    assert!(
        !rebound.body.contains("console-strangers"),
        "{}",
        rebound.body
    );

    let body = json!({ "gateway": "console-strangers/edge", "listener": "udp" }).to_string();
    let start = |headers: &[(&str, &str)]| {
        let mut all = vec![
            ("Host", host.as_str()),
            ("Content-Type", "application/json"),
        ];
        all.extend_from_slice(headers);
        let answer = console.send("POST", "/api/v1/ice-tests", &all, Some(&body));
        answer.expect("an answer").status
    };
    assert_eq!(start(&[("Origin", "https://elsewhere.example")]), 403);
    assert_eq!(start(&[("Origin", "null")]), 403);
    assert_eq!(start(&[("Sec-Fetch-Site", "cross-site")]), 403);
    // From the console's own page it is the token that is missing.
    assert_eq!(start(&[("Origin", &format!("http://{host}"))]), 401);
}

#[tokio::test]
async fn a_console_that_strangers_can_reach_shows_nothing_without_the_right_to_see_gateways() {
    let test = "a_console_that_strangers_can_reach_shows_nothing_without_the_right_to_see_gateways";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let world = World::new(cluster, "console-exposed").await;
    let gateways = |verbs: &[&str]| json!([{ "apiGroups": ["gateway.networking.k8s.io"], "resources": ["gateways"], "verbs": verbs }]);
    let seeing = world.token("seeing", gateways(&["list"]), true).await;
    let blind = world.token("blind", gateways(&["get"]), true).await;
    let port = free_port();
    let options = world
        .options()
        .arg(&format!("--console-address=0.0.0.0:{port}"));
    let operator = Operator::start(cluster, options).await;
    let console = Console::new(port);

    shown(
        console,
        Some(&seeing),
        "the Gateway to those who may",
        |state| of(&state["gateways"], "console-exposed/edge").map(|_| ()),
    )
    .await;
    for (token, standing) in [
        (None, "missing"),
        (Some("no-such-token"), "refused"),
        (Some(blind.as_str()), "refused"),
    ] {
        let state = console.state(token).expect("a state");
        assert_eq!(state["token"], standing, "{state}");
        assert!(!state.to_string().contains("console-exposed"), "{state}");
    }
    let state = console.state(Some(&blind)).expect("a state");
    assert!(notes(&state).contains("may not list Gateways"), "{state}");
    let log = operator.log().join("\n");
    for token in [&seeing, &blind] {
        assert!(!log.contains(token.as_str()), "a token is in the log");
    }
}
