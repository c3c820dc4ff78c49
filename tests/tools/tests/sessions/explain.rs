//! Whether a peer would be admitted, as dataplanes and configurations say it.

use interop_tests::scene::Scene;
use standalone_tests::manifests::{Folder, class, gateway, route};
use standalone_tests::stunner::run_to_end;

use crate::scenery::{Scenery, ctl, ctl_with};

#[test]
fn a_running_gateway_answers_for_every_peer_of_the_table() {
    let scenery = Scenery::start();
    let own_listener = format!("127.0.0.1:{}", scenery.one);
    let cases: &[(&[&str], i32, &str)] = &[
        (
            &["--peer", "10.1.2.3:5000"],
            0,
            "admitted: clients of default/one/{tcp,udp} reach 10.1.2.3:5000/udp",
        ),
        (&["--peer", "10.1.2.3"], 0, "route:   default/media"),
        (
            &["--peer", "127.0.0.1:5000", "--listener", "udp"],
            0,
            "rule:    cluster default/media, 127.0.0.1/32",
        ),
        (
            &["--peer", "10.2.2.3:5000"],
            1,
            "denied: clients of default/one/{tcp,udp} do not reach 10.2.2.3:5000/udp",
        ),
        (
            &["--peer", "10.2.2.3:5000"],
            1,
            "why:     not in any route of `default/one/{tcp,udp}`",
        ),
        (
            &["--peer", "10.2.2.3:5000"],
            1,
            "nearest: cluster default/media, 10.1.0.0/16",
        ),
        (
            &["--peer", "10.1.2.3:5000", "--protocol", "tcp"],
            1,
            "for the other transport only",
        ),
        (&["--peer", "169.254.169.254:80"], 1, "not in any route"),
        (
            &["--peer", "[2001:db8::7]:5000"],
            1,
            "a StaticService with the prefix 2001:db8::7/128",
        ),
        (&["--peer", &own_listener], 1, "which is never a peer"),
        (
            &["--peer", "169.254.169.254:80"],
            1,
            "change:  leave it closed",
        ),
        (
            &["--peer", "[fd12:3456::7]:5000"],
            1,
            "the gateway has no IPv6 relay address, only 127.0.0.1",
        ),
    ];
    for (arguments, code, part) in cases {
        let mut all = vec!["explain", "one"];
        all.extend(*arguments);
        let ran = scenery.ctl(&all).with_code(*code);
        assert!(
            ran.stdout.contains(part),
            "{arguments:?}: {part} is missing:\n{}",
            ran.stdout
        );
    }
}

#[test]
fn the_answer_is_also_a_value() {
    let scenery = Scenery::start();
    let arguments = [
        "explain",
        "default/one",
        "--listener",
        "udp",
        "--peer",
        "10.2.2.3:5000",
        "-o",
        "json",
    ];
    let ran = scenery.ctl(&arguments).with_code(1);
    let value = &ran.values()[0];
    assert_eq!(value["admitted"], false);
    let listener = &value["listeners"][0];
    assert_eq!(listener["listener"], "default/one/udp");
    assert_eq!(listener["reason"], "no_route");
    assert_eq!(listener["grounds"]["prefix"], "10.1.0.0/16");
    assert_eq!(listener["answers"][0]["source"], scenery.admin());
    let admitted = [
        "explain",
        "one",
        "--peer",
        "10.1.2.3:5000",
        "-o",
        "jsonpath={.admitted}",
    ];
    assert_eq!(scenery.ctl(&admitted).with_code(0).stdout, "true\n");
}

#[test]
fn a_client_learns_what_it_was_refused_lately() {
    let scenery = Scenery::start();
    let mut session = scenery.session();
    for _ in 0..2 {
        let _ = session.permit("10.2.2.3:5000".parse().expect("an address"));
    }
    let arguments = [
        "explain",
        "one",
        "--client",
        "127.0.0.1",
        "--peer",
        "10.2.2.3:5000",
    ];
    let ran = scenery.ctl(&arguments).with_code(1);
    assert!(
        ran.stdout.contains(
            "client 127.0.0.1: 1 live session, refused this peer twice lately, the last time at 2"
        ),
        "{}",
        ran.stdout
    );
    let other = [
        "explain",
        "one",
        "--client",
        "192.0.2.1",
        "--peer",
        "10.1.2.3:5000",
    ];
    let ran = scenery.ctl(&other).with_code(0);
    assert!(
        ran.stdout
            .contains("no live session, not refused this peer lately"),
        "{}",
        ran.stdout
    );
}

#[test]
fn a_stunnerd_with_a_config_of_its_own_names_answers_too() {
    let scene = Scene::start();
    let admin = scene.server.admin_address();
    let ask = |peer: &str| {
        ctl(&[
            "explain",
            "interop/gateway",
            "--listener",
            "udp",
            "--peer",
            peer,
            "--admin",
            admin,
        ])
    };
    assert!(
        ask("127.0.0.1:5000")
            .with_code(0)
            .stdout
            .contains("admitted: clients of udp reach")
    );
    assert!(
        ask("127.0.0.9:5000")
            .with_code(1)
            .stdout
            .contains("denied: clients of udp do not reach")
    );
}

#[test]
fn manifests_are_explained_before_anything_runs() {
    let folder = Folder::default();
    let manifests = [
        class(),
        gateway("gw", &[("udp", "TURN-UDP", 3478)]),
        route("media", "gw", &["10.1.0.0/16"]),
    ];
    folder.write("all.yaml", &manifests.join("---\n"));
    let path = folder.path().to_str().expect("a path");
    let (code, configs) = run_to_end(&["translate", "-o", "json", path], None);
    assert_eq!(code, Some(0), "{configs}");
    let configs = &configs[configs.find("{").expect("JSON")..];
    let ask = |peer: &str| ctl_with(&["explain", "gw", "--peer", peer, "--config", "-"], configs);
    let admitted = ask("10.1.2.3:5000").with_code(0);
    assert!(
        admitted.stdout.contains("route:   default/media"),
        "{admitted:?}"
    );
    assert!(!admitted.stdout.contains("pass-1"));
    let denied = ask("10.2.2.3:5000").with_code(1);
    assert!(
        denied
            .stdout
            .contains("why:     not in any route of `default/gw/udp`"),
        "{denied:?}"
    );
}
