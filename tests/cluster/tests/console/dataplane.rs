//! A real dataplane behind the console: metrics by the API server's pod proxy, the admin API by port-forward, both
//! with the visitor's token.
//!
//! The pod is a process of this machine. Its address is one of the machine's that is not loopback, since the API
//! server proxies to no other; the kubelet is the part of one that answers port-forwards.

use std::net::SocketAddr;
use std::process::Command;

use cluster_tests::{
    Cluster, Console, GatewayApi, Kubelet, Operator, eventually, need, own_address,
};
use interop_tests::client::{Credentials, TurnClient};
use interop_tests::config::Transport;
use interop_tests::echo::UdpEcho;
use interop_tests::ports::free_port;
use interop_tests::process::Process;
use interop_tests::skip::Missing;
use interop_tests::stunnerd;
use serde_json::{Value, json};

use crate::world::{PASSWORD, USER, World, notes, of, shown};

const NS: &str = "console-live";
const CHANNEL: u16 = 0x4000;

/// As a browser makes it, with one data channel.
const OFFER: &str = "v=0\r\no=- 4858251974351650128 2 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\n\
a=group:BUNDLE 0\r\na=extmap-allow-mixed\r\na=msid-semantic: WMS\r\n\
m=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\nc=IN IP4 0.0.0.0\r\n\
a=ice-ufrag:Ab3d\r\na=ice-pwd:0123456789abcdefghijklmn\r\na=ice-options:trickle\r\n\
a=fingerprint:sha-256 D2:FA:0E:C3:22:59:5E:14:95:69:92:3D:13:B4:84:24:2C:C2:A2:C0:3E:FD:34:8E:5E:EA:6F:AF:52:CE:E6:0F\r\n\
a=setup:actpass\r\na=mid:0\r\na=sctp-port:5000\r\na=max-message-size:262144\r\n";

struct Stage {
    // Dropped in this order: what asks before what is asked.
    _dataplane: Process,
    _kubelet: Kubelet,
    operator: Operator,
    world: World,
    turn: SocketAddr,
}

impl Stage {
    async fn set(cluster: &Cluster) -> Result<Self, Missing> {
        let address = own_address()?;
        let (turn, admin, metrics) = (free_port(), free_port(), free_port());
        let world = World::new(cluster, NS).await;
        world.apply(&config(metrics)).await;
        world
            .apply(&world.static_service("media", "127.0.0.1"))
            .await;
        world.apply(&world.gateway("edge", turn)).await;
        for object in backend_without_route() {
            world.apply(&object).await;
        }
        let kubelet = Kubelet::start(cluster, NS, &[(8087, admin)]).await;
        kubelet.pod(&pod(), &address.to_string()).await;
        let operator = world.operator(cluster).await;
        let origin = format!("http://127.0.0.1:{}", operator.cds_port());
        let dataplane = Process::start("stunnerd", {
            let mut command = Command::new(stunnerd::binary());
            command
                .args(["--watch", "--config", &origin])
                .args(["--log", "all:INFO"])
                .args(["--admin-address", &format!("127.0.0.1:{admin}")])
                .env("STUNNER_NAMESPACE", NS)
                .env("STUNNER_NAME", "edge")
                .env("STUNNER_ADDR", "127.0.0.1");
            command
        });
        Ok(Stage {
            _dataplane: dataplane.expect("start the dataplane"),
            _kubelet: kubelet,
            operator,
            world,
            turn: SocketAddr::from(([127, 0, 0, 1], turn)),
        })
    }

    fn console(&self) -> Console {
        self.operator.console()
    }

    /// A token with all that the console can use.
    async fn visitor(&self) -> String {
        let rules = json!([
            { "apiGroups": [""], "resources": ["pods"], "verbs": ["list"] },
            { "apiGroups": [""], "resources": ["pods/proxy"], "verbs": ["get"] },
            { "apiGroups": [""], "resources": ["pods/portforward"], "verbs": ["get", "create"] },
        ]);
        self.world.token("visitor", rules, false).await
    }

    async fn client(&self, user: &str, password: &str) -> TurnClient {
        eventually("an allocation", async || {
            // What it is refused is counted.
            let mut client = TurnClient::connect(Transport::Udp, self.turn, "")
                .with_credentials(Credentials::new(user, password))
                .without_repeats();
            let allocated = client.allocate();
            allocated.map_err(|refusal| format!("{refusal:?}"))?;
            Ok(client)
        })
        .await
    }
}

/// The world's, with metrics at a port that is free here.
fn config(metrics: u16) -> Value {
    json!({
        "apiVersion": "stunner.l7mp.io/v1", "kind": "GatewayConfig",
        "metadata": { "name": "config", "namespace": NS },
        "spec": { "userName": USER, "password": PASSWORD, "dataplane": NS,
                  "metricsEndpoint": format!("http://0.0.0.0:{metrics}/metrics") },
    })
}

/// A Service that somebody forgot to name in a route.
fn backend_without_route() -> [Value; 2] {
    [
        json!({
            "apiVersion": "v1", "kind": "Service", "metadata": { "name": "media-server", "namespace": NS },
            "spec": { "clusterIP": "None", "ports": [{ "port": 5000, "protocol": "UDP" }] },
        }),
        json!({
            "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
            "metadata": { "name": "media-server-1", "namespace": NS,
                          "labels": { "kubernetes.io/service-name": "media-server" } },
            "endpoints": [{ "addresses": ["10.0.0.7"] }],
        }),
    ]
}

fn pod() -> Value {
    json!({ "name": "edge-1", "namespace": NS, "labels": {
        "app": "stunner",
        "stunner.l7mp.io/related-gateway-namespace": NS,
        "stunner.l7mp.io/related-gateway-name": "edge",
    } })
}

#[tokio::test]
async fn traffic_sessions_denials_and_ice_tests_come_from_the_dataplane() {
    let test = "traffic_sessions_denials_and_ice_tests_come_from_the_dataplane";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let stage = need!(test, Stage::set(cluster).await);
    let visitor = stage.visitor().await;
    let console = stage.console();
    let echo = UdpEcho::start("127.0.0.1:0");
    let mut client = stage.client(USER, PASSWORD).await;
    client.bind(CHANNEL, echo.address()).expect("admitted");
    assert!(client.echoes(CHANNEL, b"through the dataplane"));
    let elsewhere: SocketAddr = "10.0.0.7:5000".parse().expect("an address");
    let refused = client.bind(CHANNEL + 1, elsewhere).expect_err("refused");
    assert_eq!(refused.code(), Some(403));

    let state = shown(
        console,
        Some(&visitor),
        "what the dataplane says",
        |state| {
            let live = &state["live"];
            let listener = of(&live["listeners"], "console-live/edge/udp")?;
            let is_all = listener["traffic"]["rxBytes"].as_u64()? > 0
                && live["sessionsTotal"] == 1
                && live["denials"].as_array()?.len() == 1;
            is_all.then(|| state.clone())
        },
    )
    .await;
    assert_eq!(state["token"], "accepted");
    let live = &state["live"];
    let gateway = of(&live["gateways"], "console-live/edge").expect("the Gateway");
    assert_eq!(gateway["phase"], "running");
    assert_eq!(gateway["allocations"], 1);
    let cluster_traffic = of(&live["clusters"], "console-live/media").expect("the cluster");
    assert!(cluster_traffic["traffic"]["txPackets"].as_u64() > Some(0));
    assert_eq!(live["denialsByReason"]["no_route"], 1, "{live}");
    let denial = &live["denials"][0];
    let sentence = denial["sentence"].as_str().unwrap_or_default();
    assert!(
        sentence.ends_with(
            "was refused peer 10.0.0.7:5000: not in any route of `console-live/edge/udp`; \
             nearest: Service console-live/media-server"
        ),
        "{sentence}"
    );
    assert_eq!(notes(&state), "", "{state}");
    assert!(!state.to_string().contains(PASSWORD), "{state}");

    // Without a token, and to others, nothing of it is shown.
    let stranger = console.state(None).expect("a state");
    assert!(stranger["live"].is_null(), "{stranger}");

    ice_test(&stage, &visitor, echo.address()).await;

    let id = live["sessions"][0]["id"].as_str().expect("an id");
    let path = format!("/api/v1/sessions/{id}");
    let ended = console.ask("DELETE", &path, Some(&visitor), None);
    assert_eq!(ended.expect("an answer").status, 200);
    shown(console, Some(&visitor), "the end of the session", |state| {
        of(&state["live"]["sessions"], id).is_none().then_some(())
    })
    .await;
}

/// A guest credential from the pod, good for the echo peer there and for nobody else.
async fn ice_test(stage: &Stage, visitor: &str, echo: SocketAddr) {
    let console = stage.console();
    let start = |gateway: &str, listener: &str| {
        let body = json!({ "gateway": gateway, "listener": listener }).to_string();
        let answer = console.ask("POST", "/api/v1/ice-tests", Some(visitor), Some(&body));
        answer.expect("an answer")
    };
    let unknown = start("console-live/edge", "none");
    assert_eq!(unknown.status, 404, "{}", unknown.body);
    let started = start("console-live/edge", "udp");
    assert_eq!(started.status, 201, "{}", started.body);
    let started = started.json();
    let server = &started["iceServers"][0];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (user, credential) = (text(&server["username"]), text(&server["credential"]));
    assert_ne!((user.as_str(), credential.as_str()), (USER, PASSWORD));
    let mut guest = stage.client(&user, &credential).await;
    let peer: SocketAddr = text(&started["peer"]).parse().expect("the peer");
    guest.permit(peer).expect("the echo peer");
    assert!(guest.bind(CHANNEL, echo).is_err(), "a guest reaches others");

    let id = text(&started["id"]);
    let offer = json!({ "sdp": OFFER }).to_string();
    let path = format!("/api/v1/ice-tests/{id}/offer");
    let answer = console.ask("POST", &path, Some(visitor), Some(&offer));
    let answer = answer.expect("an answer");
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert!(text(&answer.json()["sdp"]).contains("webrtc-datachannel"));
    for _ in 0..2 {
        let path = format!("/api/v1/ice-tests/{id}");
        let ended = console.ask("DELETE", &path, Some(visitor), None);
        assert_eq!(ended.expect("an answer").status, 200);
    }
}
