//! What is said when something is in the way.

use interop_tests::ports::free_port;

use crate::scenery::{Scenery, ctl};

#[test]
fn an_address_without_an_admin_api_is_told_with_what_to_do() {
    let address = format!("127.0.0.1:{}", free_port());
    for arguments in [
        &["top", "--once"][..],
        &["sessions"][..],
        &["sessions", "--kill", "0-1-1"][..],
        &["explain", "gw", "--peer", "10.0.0.1:1"][..],
    ] {
        let mut all = arguments.to_vec();
        all.extend(["--admin", &address]);
        let ran = ctl(&all).with_code(1);
        assert!(
            ran.stderr.contains("error: ") && ran.stderr.contains(&address),
            "{ran:#?}"
        );
        assert!(ran.stderr.contains("hint: "), "{ran:#?}");
        assert_eq!(ran.stdout, "");
    }
}

#[test]
fn without_a_cluster_the_way_without_one_is_told() {
    for arguments in [
        &["top"][..],
        &["sessions"][..],
        &["sessions", "--kill", "ns/pod/0-1-1"][..],
        &["explain", "gw", "--peer", "10.0.0.1:1"][..],
    ] {
        let ran = ctl(arguments).with_code(1);
        assert!(ran.stderr.contains("no kubeconfig"), "{ran:#?}");
        assert!(ran.stderr.contains("--admin"), "{ran:#?}");
    }
}

#[test]
fn wrong_words_are_wrong_usage() {
    for (arguments, error) in [
        (&["explain", "gw"][..], "`explain` needs `--peer IP:PORT`"),
        (
            &["explain", "--peer", "10.0.0.1:1"][..],
            "`explain` needs a gateway",
        ),
        (
            &["explain", "gw", "--peer", "host:1"][..],
            "it is no address",
        ),
        (
            &["explain", "gw", "--peer", "10.0.0.1:0"][..],
            "0 is no port",
        ),
        (
            &[
                "explain",
                "gw",
                "--peer",
                "10.0.0.1:1",
                "--protocol",
                "sctp",
            ][..],
            "there is no such protocol",
        ),
        (
            &["explain", "gw", "--peer", "10.0.0.1:1", "--client", "x"][..],
            "it is no address",
        ),
        (&["top", "--interval", "soon"][..], "interval"),
        (&["top", "a", "b"][..], "unexpected argument `b`"),
        (
            &["top", "a/b/c", "--admin", "127.0.0.1:1"][..],
            "`a/b/c` is no gateway",
        ),
        (&["sessions", "-o", "xml"][..], "there is no such output"),
    ] {
        let ran = ctl(arguments).with_code(2);
        assert!(ran.stderr.contains(error), "{arguments:?}: {ran:#?}");
        assert!(ran.stderr.contains("hint: "), "{ran:#?}");
    }
}

#[test]
fn a_gateway_or_listener_that_does_not_exist_is_told() {
    let scenery = Scenery::start();
    let gateway = scenery
        .ctl(&["explain", "three", "--peer", "10.0.0.1:1"])
        .with_code(1);
    assert!(
        gateway
            .stderr
            .contains("there is no gateway three with a listener"),
        "{gateway:#?}"
    );
    let listener = scenery
        .ctl(&[
            "explain",
            "one",
            "--listener",
            "sctp",
            "--peer",
            "10.0.0.1:1",
        ])
        .with_code(1);
    assert!(
        listener
            .stderr
            .contains("gateway one has no listener `sctp`"),
        "{listener:#?}"
    );
}
