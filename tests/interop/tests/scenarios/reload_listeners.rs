//! Certificates, listeners added, moved, changed and removed, and the HTTP endpoints: only what a change names may feel it.

use std::net::SocketAddr;
use std::time::Duration;

use interop_tests::client::Link;
use interop_tests::config::Transport;
use interop_tests::http;
use interop_tests::ports::free_port;
use interop_tests::process::wait_until;
use interop_tests::scene::{CHANNEL, Scene, assert_alive};
use serde_json::json;

const SOON: Duration = Duration::from_secs(20);

fn at(port: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], port))
}

#[test]
fn a_new_certificate_is_shown_to_new_handshakes_only() {
    let mut scene = Scene::start();
    let mut sessions = scene.sessions();
    for (common_name, identity) in [
        ("rotated ecdsa", scene.ca.ecdsa("rotated ecdsa")),
        ("rotated rsa", scene.ca.rsa("rotated rsa")),
    ] {
        let before = sessions[2].link.server_certificate();
        scene.apply(|config| {
            for name in ["tls", "dtls"] {
                config.listener(name)["cert"] = identity.cert_base64().into();
                config.listener(name)["key"] = identity.key_base64().into();
            }
        });
        assert_alive(&mut sessions, "after the certificate changed");
        for transport in [Transport::Tls, Transport::Dtls] {
            let new = scene.session(transport).link.server_certificate();
            assert!(
                new.is_some() && new != before,
                "{transport:?} still shows the old certificate, not {common_name}"
            );
        }
    }
}

#[test]
fn a_certificate_that_does_not_fit_its_key_changes_nothing() {
    let mut scene = Scene::start();
    let mut sessions = scene.sessions();
    let before = sessions[2].link.server_certificate();
    let mut config = scene.config();
    config.listener("tls")["cert"] = scene.ca.ecdsa("stranger").cert_base64().into();
    config.listener("udp")["port"] = free_port().into();
    scene.server.write_config(&config);
    scene.server.expect_rejected(1.0);
    assert_alive(&mut sessions, "after a broken certificate");
    assert!(scene.server.is_running());
    // Nothing of that config was applied: not the certificate, not the port beside it.
    assert!(
        Link::connect(Transport::Tls, at(config.port("tls")), scene.ca.root_pem())
            .is_ok_and(|link| link.server_certificate() == before)
    );
    let mut there = scene.client_at(Transport::Udp, at(config.port("udp")));
    there
        .binding()
        .expect_err("the port of a config that was refused is open");
}

#[test]
fn an_added_listener_touches_nobody_and_serves() {
    let mut scene = Scene::start();
    let mut sessions = scene.sessions();
    let identity = scene.identity.clone();
    for transport in Transport::ALL {
        let port = free_port();
        scene.apply(|config| {
            config.add_listener(
                &format!("more-{}", transport.name()),
                transport,
                port,
                Some(&identity),
            );
        });
        scene
            .client_at(transport, at(port))
            .join(CHANNEL, scene.peer.address());
        assert_alive(&mut sessions, "after a listener was added");
    }
}

#[test]
fn a_moved_listener_opens_the_new_port_and_drains_the_old() {
    let mut scene = Scene::start();
    let mut sessions = scene.sessions();
    for transport in Transport::ALL {
        let (old, new) = (scene.address(transport), free_port());
        scene.apply(|config| config.listener(transport.name())["port"] = new.into());
        assert_alive(&mut sessions, "after a listener moved");
        scene
            .client_at(transport, at(new))
            .join(CHANNEL, scene.peer.address());
        // A new client at the old port finds nobody, or a refusal; never an allocation.
        if let Ok(link) = Link::connect(transport, old, scene.ca.root_pem()) {
            let refusal = interop_tests::client::TurnClient::new(link)
                .allocate()
                .expect_err("the old port takes new clients");
            assert!(
                matches!(refusal.code(), None | Some(508)),
                "{transport:?}: {refusal:?}"
            );
        }
    }
    assert_alive(&mut sessions, "after all listeners moved");
}

#[test]
fn a_new_relay_address_is_for_new_allocations() {
    let mut scene = Scene::start();
    let mut sessions = scene.sessions();
    scene.apply(|config| {
        for transport in Transport::ALL {
            config.listener(transport.name())["address"] = "127.0.0.2".into();
        }
    });
    assert_alive(&mut sessions, "after the relay address changed");
    for transport in Transport::ALL {
        let relayed = scene.client(transport).join(CHANNEL, scene.peer.address());
        assert_eq!(relayed.ip().to_string(), "127.0.0.2", "{transport:?}");
    }
}

/// The kernel has one socket per port and family of transports, so the protocol changes under it.
#[test]
fn a_changed_protocol_keeps_running_sessions_as_what_they_were() {
    let mut scene = Scene::start();
    let mut sessions = scene.sessions();
    let identity = scene.identity.clone();
    scene.apply(|config| {
        for (name, protocol) in [("udp", "TURN-DTLS"), ("tcp", "TURN-TLS")] {
            let listener = config.listener(name);
            listener["protocol"] = protocol.into();
            listener["cert"] = identity.cert_base64().into();
            listener["key"] = identity.key_base64().into();
        }
        for (name, protocol) in [("dtls", "TURN-UDP"), ("tls", "TURN-TCP")] {
            config.listener(name)["protocol"] = protocol.into();
        }
    });
    assert_alive(&mut sessions, "after the protocols changed");
    let port = |name: &str| at(scene.server.config().port(name));
    for (transport, name) in [
        (Transport::Dtls, "udp"),
        (Transport::Tls, "tcp"),
        (Transport::Udp, "dtls"),
        (Transport::Tcp, "tls"),
    ] {
        scene
            .client_at(transport, port(name))
            .join(CHANNEL, scene.peer.address());
    }
    assert_alive(&mut sessions, "after clients of the new protocols came");
}

#[test]
fn a_removed_listener_ends_its_sessions_and_no_other() {
    let mut scene = Scene::start();
    for victim in Transport::ALL {
        let mut sessions = scene.sessions();
        let others_before = scene.server.allocation_count().expect("a count");
        scene.apply(|config| config.remove_listener(victim.name()));
        let mut ended = sessions.remove(
            Transport::ALL
                .iter()
                .position(|transport| *transport == victim)
                .expect("one of them"),
        );
        assert!(
            !ended.echoes_within(CHANNEL, b"removed", Duration::from_millis(300)),
            "{victim:?} still relays"
        );
        if victim.is_stream() {
            let closed = wait_until(SOON, || ended.poll().is_err());
            assert!(
                closed,
                "the {victim:?} connection of a removed listener stays open"
            );
        }
        assert_alive(&mut sessions, "after another listener was removed");
        assert!(wait_until(SOON, || scene.server.allocation_count()
            == Some(others_before - 1)));
        // Shards publish their counters in their own time.
        let name = format!("name=\"{}\"", victim.name());
        let open = || {
            let family = "stunner_listener_connections";
            scene.server.metric(family, &[&name])
        };
        assert!(
            wait_until(SOON, || open() == 0.0),
            "{victim:?}: {} connections of a removed listener",
            open()
        );
        drop(sessions);
        // Start the next round from a full set, with nobody connected.
        let full = {
            let mut config = scene.config();
            config.add_listener(victim.name(), victim, free_port(), Some(&scene.identity));
            config
        };
        end_all(&scene);
        scene.server.apply(&full);
    }
}

/// Ends every session through the admin API.
fn end_all(scene: &Scene) {
    let admin = scene.server.admin_address();
    let answer = http::get(admin, "/api/v1/sessions").expect("sessions");
    for session in answer.json()["sessions"].as_array().into_iter().flatten() {
        let path = format!(
            "/api/v1/sessions/{}",
            session["id"].as_str().expect("an id")
        );
        let answer =
            http::request("DELETE", admin, &path, None, Duration::from_secs(5)).expect("delete");
        assert_eq!(answer.status, 200, "{}", answer.body);
    }
    assert!(wait_until(SOON, || scene.server.allocation_count() == Some(0)));
}

#[test]
fn removing_a_listener_ends_what_still_drains_on_its_former_port() {
    let mut scene = Scene::start();
    let mut sessions = vec![scene.session(Transport::Udp), scene.session(Transport::Tcp)];
    scene.apply(|config| {
        config.listener("udp")["port"] = free_port().into();
        config.listener("tcp")["port"] = free_port().into();
    });
    assert_alive(&mut sessions, "while draining on the former port");
    scene.apply(|config| {
        config.remove_listener("udp");
        config.remove_listener("tcp");
    });
    for session in &mut sessions {
        assert!(
            !session.echoes_within(CHANNEL, b"gone", Duration::from_millis(300)),
            "drains on after its listener was removed"
        );
    }
    assert!(wait_until(SOON, || scene.server.allocation_count() == Some(0)));
}

#[test]
fn moving_health_and_metrics_touches_nothing_else() {
    let mut scene = Scene::start();
    let mut sessions = scene.sessions();
    let old_health = scene
        .config()
        .endpoint("healthcheck_endpoint")
        .expect("health")
        .0;
    let old_metrics = scene
        .config()
        .endpoint("metrics_endpoint")
        .expect("metrics")
        .0;
    scene.apply(|config| {
        config.0["admin"]["healthcheck_endpoint"] =
            format!("http://127.0.0.1:{}", free_port()).into();
        config.0["admin"]["metrics_endpoint"] =
            format!("http://127.0.0.1:{}/stats", free_port()).into();
    });
    assert_alive(&mut sessions, "after the endpoints moved");
    assert_eq!(scene.server.ready_status(), Some(200));
    assert!(
        scene
            .server
            .metrics()
            .contains("stunner_allocations_active")
    );
    assert!(
        wait_until(SOON, || http::get(&old_health, "/ready").is_err()),
        "the old health port is open"
    );
    assert!(
        wait_until(SOON, || http::get(&old_metrics, "/metrics").is_err()),
        "the old metrics port is open"
    );
    scene.apply(|config| config.0["admin"]["metrics_endpoint"] = "".into());
    assert_alive(&mut sessions, "after metrics were switched off");
}

#[test]
fn a_change_that_fails_half_way_leaves_everything_as_it_was() {
    let mut scene = Scene::start();
    let mut sessions = scene.sessions();
    let taken = std::net::TcpListener::bind("0.0.0.0:0").expect("bind");
    let mut config = scene.config();
    let (new_udp, new_tls) = (free_port(), free_port());
    config.listener("udp")["port"] = new_udp.into();
    config.listener("tls")["port"] = new_tls.into();
    config.listener("tcp")["port"] = taken.local_addr().expect("address").port().into();
    config.cluster("udp")["endpoints"] = json!(["192.0.2.1"]);
    let running = scene.config();
    scene.server.write_config(&config);
    scene.server.expect_rejected(1.0);
    assert_alive(&mut sessions, "after a change that failed");
    for transport in Transport::ALL {
        scene
            .client_at(transport, at(running.port(transport.name())))
            .join(CHANNEL, scene.peer.address());
    }
    assert!(
        Link::connect(Transport::Tls, at(new_tls), scene.ca.root_pem()).is_err(),
        "half of the failed config is open"
    );
    scene
        .client_at(Transport::Udp, at(new_udp))
        .binding()
        .expect_err("half of the failed config is open");
    assert!(scene.server.is_running());
}
