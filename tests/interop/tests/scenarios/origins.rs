//! Where configs come from: files that are edited, renamed over and swapped, and a config discovery service.

use std::time::Duration;

use interop_tests::cds::CdsServer;
use interop_tests::config::{Config, Transport};
use interop_tests::http;
use interop_tests::ports::free_port;
use interop_tests::process::{Process, wait_until};
use interop_tests::scene::{CHANNEL, Scene};
use interop_tests::stunnerd;

const SOON: Duration = Duration::from_secs(20);

/// A config with one UDP listener and the name that `/status` will show.
fn named(name: &str, health: u16, port: u16) -> Config {
    let mut config = Config::empty();
    config.0["admin"]["name"] = name.into();
    config.0["admin"]["healthcheck_endpoint"] = format!("http://127.0.0.1:{health}").into();
    config.add_listener("udp", Transport::Udp, port, None);
    config
}

fn running_name(health: u16) -> Option<String> {
    let answer = http::get(&format!("127.0.0.1:{health}"), "/status").ok()?;
    let document: serde_json::Value = serde_json::from_str(&answer.body).ok()?;
    document["admin"]["name"].as_str().map(str::to_owned)
}

#[track_caller]
fn expect_name(health: u16, name: &str) {
    let mut last = None;
    let seen = wait_until(SOON, || {
        last = running_name(health);
        last.as_deref() == Some(name)
    });
    assert!(seen, "the config {name} does not run, but {last:?}");
}

fn start(arguments: &[&str]) -> Process {
    let mut command = std::process::Command::new(stunnerd::binary());
    command.args(arguments).args(["--admin-address", "off"]);
    Process::start("stunnerd", command).expect("start stunnerd")
}

#[test]
fn a_file_written_in_place_renamed_over_or_swapped_is_followed() {
    let dir = tempfile::tempdir().expect("temporary folder");
    let file = dir.path().join("stunnerd.yaml");
    let (health, port) = (free_port(), free_port());
    let text = |name: &str| named(name, health, port).text();
    // A bare path that does not exist yet.
    let _server = start(&["--watch", "--config", file.to_str().expect("path")]);
    std::thread::sleep(Duration::from_millis(500));
    std::fs::write(&file, text("first")).expect("write");
    expect_name(health, "first");
    for round in 0..3 {
        std::fs::write(&file, text(&format!("in-place-{round}"))).expect("write");
        expect_name(health, &format!("in-place-{round}"));
        let next = dir.path().join("next");
        std::fs::write(&next, text(&format!("renamed-{round}"))).expect("write");
        std::fs::rename(&next, &file).expect("rename");
        expect_name(health, &format!("renamed-{round}"));
    }
    std::fs::remove_file(&file).expect("remove");
    std::thread::sleep(Duration::from_millis(300));
    expect_name(health, "renamed-2");
    std::fs::write(&file, text("back")).expect("write");
    expect_name(health, "back");
}

/// A mounted ConfigMap: `file -> ..data/file`, `..data -> ..DATE`, and only `..data` is swapped.
#[test]
fn the_symlink_swap_of_a_mounted_config_map_is_followed() {
    let dir = tempfile::tempdir().expect("temporary folder");
    let (health, port) = (free_port(), free_port());
    let publish = |version: &str| {
        let folder = dir.path().join(format!("..{version}"));
        std::fs::create_dir(&folder).expect("create");
        std::fs::write(
            folder.join("stunnerd.conf"),
            named(version, health, port).text(),
        )
        .expect("write");
        let link = dir.path().join("..data_tmp");
        std::os::unix::fs::symlink(format!("..{version}"), &link).expect("link");
        std::fs::rename(&link, dir.path().join("..data")).expect("swap");
    };
    publish("one");
    let file = dir.path().join("stunnerd.conf");
    std::os::unix::fs::symlink("..data/stunnerd.conf", &file).expect("link");
    let origin = format!("file://{}", file.display());
    let _server = start(&["-w", "-c", &origin]);
    expect_name(health, "one");
    for version in ["two", "three", "four"] {
        publish(version);
        expect_name(health, version);
    }
}

#[test]
fn a_broken_file_changes_nothing_until_it_is_good_again() {
    let mut scene = Scene::start();
    let mut session = scene.session(Transport::Udp);
    let good = scene.config();
    for broken in [
        "",
        "{",
        "version: v9",
        "version: v1\nlisteners: 7",
        &good.text().replace("TURN-UDP", "TURN-CARRIER-PIGEON"),
    ] {
        std::fs::write(scene.server.config_file(), broken).expect("write");
        std::thread::sleep(Duration::from_millis(400));
        assert!(session.echoes(CHANNEL, b"broken file"), "after {broken:?}");
        assert!(scene.server.is_running(), "exits on {broken:?}");
        assert_eq!(scene.server.ready_status(), Some(200));
    }
    scene.server.apply(&good);
    assert!(session.echoes(CHANNEL, b"good again"));
}

#[test]
fn cds_watch_applies_frames_ignores_deletion_and_survives_the_operator() {
    let (health, port, cds_port) = (free_port(), free_port(), free_port());
    let cds = CdsServer::start_on(cds_port);
    let id = "interop/gateway";
    let mut server = start(&["-w", "-c", &cds.address(), "--id", id]);
    assert!(
        wait_until(SOON, || cds.watchers() == 1),
        "does not subscribe"
    );
    let request = cds.requests().remove(0);
    assert!(
        request.starts_with("GET /api/v1/configs/interop/gateway?"),
        "{request}"
    );
    assert!(request.contains("watch=true"), "{request}");
    assert!(
        request
            .to_ascii_lowercase()
            .contains("\r\norigin: http://127.0.0.1"),
        "{request}"
    );

    cds.push(&named(id, health, port));
    expect_name(health, id);
    assert!(wait_until(SOON, || http::get(
        &format!("127.0.0.1:{health}"),
        "/ready"
    )
    .is_ok_and(|answer| answer.status == 200)));

    // Neither broken text nor the deletion of the config stops what runs.
    cds.push_text("{ not json");
    cds.push_text(r#"{"version":"v1","auth":{"type":"static"},"listeners":[{"name":"x","protocol":"NONSENSE"}]}"#);
    cds.push_deletion(id);
    std::thread::sleep(Duration::from_millis(500));
    let peer = interop_tests::echo::UdpEcho::start("127.0.0.1:0");
    let address = std::net::SocketAddr::from(([127, 0, 0, 1], port));
    let mut client = interop_tests::client::TurnClient::connect(Transport::Udp, address, "");
    client.join(CHANNEL, peer.address());

    // The client's keepalive.
    assert!(
        wait_until(SOON, || cds.pings() >= 1),
        "no ping within {SOON:?}"
    );

    // The operator dies; sessions and readiness do not notice. It comes back, and so do we.
    drop(cds);
    std::thread::sleep(Duration::from_secs(2));
    assert!(client.echoes(CHANNEL, b"without CDS"));
    assert!(server.ended().is_none());
    let cds = CdsServer::start_on(cds_port);
    let mut changed = named(id, health, port);
    changed.0["admin"]["loglevel"] = "all:DEBUG".into();
    cds.push(&changed);
    assert!(
        wait_until(Duration::from_secs(40), || cds.watchers() == 1),
        "does not come back"
    );
    let level = || {
        let answer = http::get(&format!("127.0.0.1:{health}"), "/status").ok()?;
        answer.json()["admin"]["loglevel"]
            .as_str()
            .map(str::to_owned)
    };
    assert!(
        wait_until(SOON, || level().as_deref() == Some("all:DEBUG")),
        "the config of the new operator does not run"
    );
    assert!(client.echoes(CHANNEL, b"with CDS again"));
}

#[test]
fn cds_is_asked_once_without_watch() {
    let cds = CdsServer::start();
    let (health, port) = (free_port(), free_port());
    cds.push(&named("once", health, port));
    let origin = format!("http://{}", cds.address());
    let mut command = std::process::Command::new(stunnerd::binary());
    command
        .args(["-c", &origin, "-i", "ns/gw", "--admin-address", "off"])
        .env("STUNNER_NODENAME", "node-a");
    let _server = Process::start("stunnerd", command).expect("start");
    expect_name(health, "once");
    let requests = cds.requests();
    assert_eq!(requests.len(), 1, "{requests:?}");
    assert!(
        requests[0].starts_with("GET /api/v1/configs/ns/gw?node=node-a "),
        "{}",
        requests[0]
    );
}

#[test]
fn the_cached_config_serves_when_the_discovery_service_is_away() {
    let cache = tempfile::tempdir().expect("temporary folder");
    let (health, port, cds_port) = (free_port(), free_port(), free_port());
    let cache_path = cache.path().to_str().expect("path").to_owned();
    let arguments = [
        "-w",
        "-c",
        &format!("127.0.0.1:{cds_port}"),
        "-i",
        "ns/gw",
        "--config-cache",
        &cache_path,
    ];
    let cds = CdsServer::start_on(cds_port);
    cds.push(&named("cached", health, port));
    let server = start(&arguments);
    expect_name(health, "cached");
    assert!(wait_until(SOON, || std::fs::read_dir(cache.path())
        .is_ok_and(|mut entries| entries.next().is_some())));
    drop((server, cds));
    let _server = start(&arguments);
    expect_name(health, "cached");
    for entry in std::fs::read_dir(cache.path()).expect("cache").flatten() {
        use std::os::unix::fs::PermissionsExt;
        let mode = entry.metadata().expect("metadata").permissions().mode();
        assert_eq!(mode & 0o077, 0, "{:?} can be read by others", entry.path());
    }
}
