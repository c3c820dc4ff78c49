//! SIGTERM and SIGINT: readiness, new and live sessions, config updates, the end.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use interop_tests::config::Transport;
use interop_tests::process::wait_until;
use interop_tests::scene::{CHANNEL, Scene, assert_alive};
use serde_json::json;
use stunner_stun::Method;

/// Far below the default of `--drain-timeout`, and generous for a machine that compiles something else.
const SOON: Duration = Duration::from_secs(20);

#[track_caller]
fn drain(scene: &Scene) {
    scene.server.terminate();
    assert!(
        wait_until(SOON, || scene.server.ready_status() == Some(503)),
        "still ready after SIGTERM"
    );
}

#[test]
fn new_allocations_get_508_and_live_ones_go_on() {
    let mut scene = Scene::start();
    let mut sessions = scene.sessions();
    drain(&scene);
    assert_eq!(
        scene.server.health("/live").expect("live").status,
        200,
        "a draining server is alive"
    );
    for transport in Transport::ALL {
        let mut client = scene.client(transport);
        client.binding().expect("STUN while draining");
        assert_eq!(
            client.allocate().expect_err("draining").code(),
            Some(508),
            "{transport:?}"
        );
    }
    assert_alive(&mut sessions, "while draining");
    for session in &mut sessions {
        session
            .bind(CHANNEL + 1, SocketAddr::from(([127, 0, 0, 2], 9)))
            .expect("bind while draining");
    }
    assert!(scene.server.is_running());
}

#[test]
fn config_updates_apply_while_draining() {
    let mut scene = Scene::start();
    let mut session = scene.session(Transport::Udp);
    drain(&scene);
    scene.apply(|config| config.cluster("udp")["endpoints"] = json!(["127.0.0.9"]));
    assert!(
        !session.echoes_within(CHANNEL, b"withdrawn", Duration::from_millis(300)),
        "the update did not apply"
    );
    scene.apply(|config| config.cluster("udp")["endpoints"] = json!(["127.0.0.1"]));
    assert!(session.echoes(CHANNEL, b"again"));
    assert_eq!(
        scene.server.ready_status(),
        Some(503),
        "an update made it ready again"
    );
}

#[test]
fn it_exits_when_the_last_session_ends() {
    let mut scene = Scene::start();
    let mut sessions = scene.sessions();
    drain(&scene);
    let last = sessions.pop().expect("a session");
    for mut session in sessions {
        assert_eq!(session.refresh(0).expect("delete"), 0);
    }
    std::thread::sleep(Duration::from_millis(1200));
    assert!(scene.server.is_running(), "exits although a session lives");
    let mut last = last;
    last.refresh(0).expect("delete");
    let status = scene
        .server
        .wait_end(SOON)
        .expect("exits when nobody is left");
    assert!(status.success(), "{status}");
}

#[test]
fn without_sessions_it_exits_at_once() {
    let mut scene = Scene::start();
    scene.server.terminate();
    assert!(scene.server.wait_end(SOON).expect("exits").success());
}

#[test]
fn a_closed_stream_ends_its_session_and_the_drain() {
    let mut scene = Scene::start();
    let session = scene.session(Transport::Tls);
    drain(&scene);
    drop(session);
    assert!(
        scene.server.wait_end(SOON).is_some(),
        "holds on to the session of a closed connection"
    );
}

#[test]
fn a_second_signal_of_either_kind_stops_at_once() {
    for second in [libc::SIGTERM, libc::SIGINT] {
        let mut scene = Scene::start();
        let _session = scene.session(Transport::Udp);
        drain(&scene);
        scene.server.process().signal(second);
        assert!(
            scene.server.wait_end(SOON).is_some(),
            "signal {second} while draining does not stop it"
        );
    }
}

#[test]
fn sigint_drains_too() {
    let mut scene = Scene::start();
    let mut session = scene.session(Transport::Udp);
    scene.server.interrupt();
    assert!(wait_until(SOON, || scene.server.ready_status() == Some(503)));
    assert!(session.echoes(CHANNEL, b"draining"));
    session.refresh(0).expect("delete");
    assert!(scene.server.wait_end(SOON).is_some());
}

/// RFC 8489 10: the answer names where to go.
#[test]
fn rfc8489_10_new_clients_are_sent_to_the_alternate_server() {
    let scene = Scene::start_with(&["--alternate-server", "192.0.2.44:3478"], |_| {});
    let _session = scene.session(Transport::Udp);
    drain(&scene);
    let mut client = scene.client(Transport::Udp);
    let refusal = client.allocate().expect_err("draining");
    assert_eq!(refusal.code(), Some(300));
    let response = client
        .exchange(Method::ALLOCATE, |writer| {
            writer.requested_transport(17);
        })
        .expect("an answer");
    assert_eq!(response.code(), 300);
    let alternate = response.message().alternate_server();
    assert_eq!(
        alternate,
        Some(Ok(SocketAddr::from(([192, 0, 2, 44], 3478))))
    );
}

#[test]
fn ready_while_draining_keeps_the_endpoint_ready() {
    for flag in ["--ready-while-draining", "--force-ready-status"] {
        let scene = Scene::start_with(&[flag], |_| {});
        let _session = scene.session(Transport::Udp);
        scene.server.terminate();
        // A new client each time: to one that was let in before the drain began, a second allocation is a mistake.
        let draining = wait_until(SOON, || {
            let refusal = scene.client(Transport::Udp).allocate().err();
            refusal.and_then(|refusal| refusal.code()) == Some(508)
        });
        assert!(draining);
        assert_eq!(scene.server.ready_status(), Some(200), "{flag}");
    }
}

#[test]
fn the_drain_timeout_and_stale_sessions_do_not_hold_the_process() {
    let mut scene = Scene::start_with(&["--drain-timeout", "2s"], |_| {});
    let mut busy = scene.session(Transport::Udp);
    let begun = Instant::now();
    drain(&scene);
    let ended = wait_until(SOON, || {
        busy.echoes_within(CHANNEL, b"busy", Duration::from_millis(200));
        !scene.server.is_running()
    });
    assert!(ended, "outlives its --drain-timeout");
    let took = begun.elapsed();
    assert!(took >= Duration::from_millis(1_900), "ended after {took:?}");

    let mut scene = Scene::start_with(&["--stale-allocation-timeout", "2s"], |_| {});
    let _idle = scene.session(Transport::Udp);
    drain(&scene);
    assert!(
        scene.server.wait_end(SOON).is_some(),
        "a stale allocation holds the drain"
    );
}
