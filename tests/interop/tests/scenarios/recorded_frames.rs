//! `stunnerd` fed with what the Go operator's config discovery service sent, frame by frame, relays real traffic.
//!
//! The recordings name the default ports and pod addresses, so each story runs on a host of its own that has them.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use interop_tests::cds::CdsServer;
use interop_tests::client::{Credentials, TurnClient};
use interop_tests::config::Transport;
use interop_tests::echo::UdpEcho;
use interop_tests::netns::Host;
use interop_tests::process::{Process, wait_until};
use interop_tests::{http, need, stunnerd};
use serde_json::Value;

const SOON: Duration = Duration::from_secs(20);
/// What `$STUNNER_ADDR` stands for in the recordings.
const POD: &str = "10.244.0.9";
/// Two endpoints of the recorded route, and one that no recorded cluster admits.
const MEDIA: &str = "10.244.1.11";
const SECOND: &str = "10.244.3.1";
const OTHER: &str = "10.244.9.1";
const CHANNEL: u16 = 0x4000;

/// The text frames of a recorded subscription about one gateway, in order.
fn frames(recording: &str, gateway: &str) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/io/cds/tests/fixtures");
    let file = folder.join(recording);
    let text = std::fs::read_to_string(&file)
        .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let mut lines = text.lines();
    let mut found = Vec::new();
    while let Some(line) = lines.next() {
        // The first byte of the header: a final frame of text (RFC 6455 5.2).
        if line.starts_with("header 81") {
            let payload = lines.next().unwrap_or_default();
            let config: Value = serde_json::from_str(payload).expect("a recorded config is JSON");
            if config["admin"]["name"] == gateway {
                found.push(payload.to_owned());
            }
        }
    }
    found
}

/// A host with the recorded addresses, a replaying service and our dataplane.
struct Story {
    cds: CdsServer,
    dataplane: Process,
}

impl Story {
    fn begin(gateway: &str) -> Self {
        let cds = CdsServer::start_on(13478);
        let mut command = Command::new(stunnerd::binary());
        command
            .args(["--watch", "--config", "http://127.0.0.1:13478"])
            .args(["--id", gateway])
            .env("STUNNER_ADDR", POD);
        let dataplane = Process::start("stunnerd", command).expect("start stunnerd");
        let story = Self { cds, dataplane };
        assert!(
            wait_until(SOON, || story.cds.watchers() == 1),
            "does not subscribe"
        );
        story
    }

    /// Sends a recorded frame and waits until `done` says that it runs.
    #[track_caller]
    fn replay(&self, frame: &str, done: impl Fn(&Value) -> bool) {
        self.cds.push_text(frame);
        let runs = || {
            let status = http::get("127.0.0.1:8086", "/status").ok();
            status.is_some_and(|answer| answer.status == 200 && done(&answer.json()))
        };
        assert!(wait_until(SOON, runs), "does not run: {frame}");
    }

    fn client(&self, transport: Transport) -> TurnClient {
        let server: SocketAddr = format!("{POD}:3478").parse().expect("an address");
        TurnClient::connect(transport, server, "")
            .with_credentials(Credentials::new("fixture-user", "fixture-pass"))
    }
}

fn endpoints(status: &Value, cluster: usize) -> String {
    status["clusters"][cluster]["endpoints"].to_string()
}

#[test]
fn the_recorded_life_of_a_udp_gateway_relays_real_traffic() {
    let test = "the_recorded_life_of_a_udp_gateway_relays_real_traffic";
    let host = need!(test, Host::with_addresses(&[POD, MEDIA, SECOND, OTHER]));
    let frames = frames("watch-one.txt", "stunner/udp-gateway");
    let [subscribed, narrowed, node, moved, deleted] = frames.as_slice() else {
        panic!("{} frames", frames.len());
    };
    host.inside(|| {
        let mut story = Story::begin("stunner/udp-gateway");
        story.replay(subscribed, |status| endpoints(status, 0).contains(MEDIA));
        let (low, inside) = (
            UdpEcho::start(&format!("{MEDIA}:5000")),
            UdpEcho::start(&format!("{MEDIA}:9500")),
        );
        let outsider = UdpEcho::start(&format!("{OTHER}:9500"));
        let mut old = story.client(Transport::Udp);
        let relayed = old.join(CHANNEL, low.address());
        assert_eq!(relayed.ip().to_string(), POD);
        assert!(old.permit(outsider.address()).is_err());

        // The route gets a port range: peers outside it are refused from now on.
        story.replay(narrowed, |status| endpoints(status, 0).contains("9000"));
        let mut client = story.client(Transport::Udp);
        client.join(CHANNEL, inside.address());
        let refusal = client.bind(CHANNEL + 1, low.address()).expect_err("narrow");
        assert_eq!(refusal.code(), Some(403));

        // Public addresses are for clients' eyes and disturb nobody.
        for (frame, address) in [(node, "203.0.113.50"), (moved, "203.0.113.51")] {
            story.replay(frame, |status| status.to_string().contains(address));
            assert!(client.echoes(CHANNEL, address.as_bytes()), "at {address}");
        }

        // The Gateway is deleted: what runs goes on until the pod is told to end.
        story.cds.push_text(deleted);
        std::thread::sleep(Duration::from_millis(500));
        assert!(client.echoes(CHANNEL, b"after the deletion"));
        client.refresh(600).expect("refresh");
        let mut late = story.client(Transport::Udp);
        late.join(CHANNEL, inside.address());
        assert!(story.dataplane.ended().is_none());
    });
}

#[test]
fn the_recorded_life_of_a_tcp_gateway_relays_real_traffic() {
    let test = "the_recorded_life_of_a_tcp_gateway_relays_real_traffic";
    let host = need!(test, Host::with_addresses(&[POD, MEDIA, SECOND, OTHER]));
    let frames = frames("watch-namespace.txt", "stunner/tcp-gateway");
    // Later ones repeat the fourth: the Go service re-sends what has not changed.
    let [subscribed, narrowed, node, moved, repeated @ ..] = frames.as_slice() else {
        panic!("{} frames", frames.len());
    };
    host.inside(|| {
        let story = Story::begin("stunner/tcp-gateway");
        story.replay(subscribed, |status| endpoints(status, 1).contains(SECOND));
        let (media, second) = (
            UdpEcho::start(&format!("{MEDIA}:9500")),
            UdpEcho::start(&format!("{SECOND}:7000")),
        );
        let mut client = story.client(Transport::Tcp);
        client.join(CHANNEL, media.address());
        client.bind(CHANNEL + 1, second.address()).expect("bind");
        story.replay(narrowed, |status| status.to_string().contains("9000"));
        for frame in [node, moved].into_iter().chain(repeated) {
            story.replay(frame, |status| {
                status.to_string().contains("public_address")
            });
            for channel in [CHANNEL, CHANNEL + 1] {
                assert!(client.echoes(channel, b"through the stream"));
            }
        }
        let outsider: SocketAddr = format!("{OTHER}:9500").parse().expect("an address");
        let refusal = client.permit(outsider).expect_err("not admitted");
        assert_eq!(refusal.code(), Some(403));
    });
}
