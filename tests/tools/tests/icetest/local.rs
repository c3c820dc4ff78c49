//! `stunnerctl icetest --admin` through a gateway without a cluster.

use interop_tests::config::PASSWORD as STUNNERD_PASSWORD;
use interop_tests::pki::{Identity, TestCa};
use interop_tests::ports::free_port;
use serde_json::json;
use standalone_tests::manifests::{Folder, PASSWORD, USER, class, gateway, route};
use standalone_tests::stunner::Stunner;

use crate::scenery::{Gateway, icetest, runs};

struct Local {
    stunner: Stunner,
    admin: String,
    root: tempfile::NamedTempFile,
    ports: [u16; 4],
    _folder: Folder,
}

fn secret(identity: &Identity) -> String {
    format!(
        "apiVersion: v1\nkind: Secret\ntype: kubernetes.io/tls\nmetadata:\n  name: identity\n  namespace: default\n\
         data:\n  tls.crt: {}\n  tls.key: {}\n",
        identity.cert_base64(),
        identity.key_base64()
    )
}

/// `stunner run` with a listener of each transport.
fn local() -> Local {
    let ca = TestCa::new();
    let ports = [free_port(), free_port(), free_port(), free_port()];
    let [udp, tcp, tls, dtls] = ports;
    let folder = Folder::default();
    let plain = gateway("gw", &[("udp", "TURN-UDP", udp), ("tcp", "TURN-TCP", tcp)]);
    let certificate = "    tls:\n      certificateRefs:\n      - name: identity\n";
    let secure = format!(
        "{plain}  - name: tls\n    protocol: TURN-TLS\n    port: {tls}\n{certificate}\
         \x20 - name: dtls\n    protocol: TURN-DTLS\n    port: {dtls}\n{certificate}"
    );
    folder.write("class.yaml", &class());
    folder.write("gateway.yaml", &secure);
    folder.write("secret.yaml", &secret(&ca.ecdsa("gateway")));
    folder.write("route.yaml", &route("media", "gw", &["127.0.0.1/32"]));
    let admin = format!("127.0.0.1:{}", free_port());
    let stunner = Stunner::run(&[folder.path()], &["--admin-address", &admin]);
    let root = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(root.path(), ca.root_pem()).expect("written");
    Local {
        stunner,
        admin,
        root,
        ports,
        _folder: folder,
    }
}

#[test]
fn a_local_gateway_is_called_over_every_transport_with_a_credential_of_its_own() {
    let local = local();
    let trust = [("SSL_CERT_FILE", local.root.path().to_str().expect("a path"))];
    let told = icetest(&["--admin", &local.admin, "-o", "json"], &trust);
    assert_eq!(told.code, Some(0), "{told:#?}\n{:?}", local.stunner.lines());
    let mut runs = runs(&told);
    runs.sort();
    assert_eq!(
        runs,
        [
            "asymmetric dtls passed",
            "asymmetric tcp passed",
            "asymmetric tls passed",
            "asymmetric udp passed",
            "symmetric dtls skipped",
            "symmetric tcp skipped",
            "symmetric tls skipped",
            "symmetric udp skipped",
        ]
    );
    let json = told.json();
    let listener = json["runs"][0]["listener"].as_str().unwrap_or_default();
    assert!(listener.starts_with("default/gw/"), "{json:#}");
}

#[test]
fn with_a_credential_of_the_users_both_ends_go_through_the_local_gateway() {
    let local = local();
    let [udp, tcp, ..] = local.ports;
    let servers = json!([{
        "urls": [format!("turn:127.0.0.1:{udp}?transport=udp"), format!("turn:127.0.0.1:{tcp}?transport=tcp")],
        "username": USER, "credential": PASSWORD,
    }]);
    let told = icetest(
        &[
            "--admin",
            &local.admin,
            "--ice-servers",
            &servers.to_string(),
            "-o",
            "json",
            "udp",
            "tcp",
        ],
        &[],
    );
    assert_eq!(told.code, Some(0), "{told:#?}");
    let mut runs = runs(&told);
    runs.sort();
    assert_eq!(
        runs,
        [
            "asymmetric tcp passed",
            "asymmetric udp passed",
            "symmetric tcp passed",
            "symmetric udp passed"
        ]
    );
}

#[test]
fn a_route_that_admits_no_relays_makes_the_symmetric_test_impossible_not_failed() {
    let gateway = Gateway::start_with(|config| {
        config.cluster("udp")["endpoints"] = json!(["192.0.2.1"]);
        config.cluster("tcp")["endpoints"] = json!(["192.0.2.1"]);
    });
    let servers = gateway.ice_servers(STUNNERD_PASSWORD);
    let admin = gateway.server.admin_address();
    let told = icetest(
        &[
            "--admin",
            admin,
            "--ice-servers",
            &servers,
            "-o",
            "json",
            "udp",
        ],
        &[],
    );
    assert_eq!(told.code, Some(0), "{told:#?}");
    assert_eq!(
        runs(&told),
        ["asymmetric udp passed", "symmetric udp skipped"]
    );
    let reason = told.json()["runs"][1]["reason"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    assert!(reason.contains("127.0.0.1"), "{reason}");
}

#[test]
fn certificates_that_nobody_vouches_for_fail_the_test_unless_told_otherwise() {
    let gateway = Gateway::start();
    let admin = gateway.server.admin_address();
    let told = icetest(&["--admin", admin, "-o", "json", "tls", "dtls"], &[]);
    assert_eq!(told.code, Some(1), "{told:#?}");
    for run in &told.json()["runs"].as_array().expect("runs")[..2] {
        assert_eq!(run["result"], "failed", "{run:#}");
        assert_eq!(run["hop"], "gateway", "{run:#}");
        assert!(
            run["error"]
                .as_str()
                .unwrap_or_default()
                .contains("certificate"),
            "{run:#}"
        );
    }
    let told = icetest(
        &["--admin", admin, "--insecure", "-o", "json", "tls", "dtls"],
        &[],
    );
    assert_eq!(told.code, Some(0), "{told:#?}");
}

#[test]
fn what_is_not_there_is_told_with_what_is() {
    let local = local();
    let told = icetest(&["--admin", &local.admin, "-n", "other"], &[]);
    assert_eq!(told.code, Some(1), "{told:#?}");
    assert!(
        told.stderr.contains("hint: there are: default/gw/dtls"),
        "{told:#?}"
    );
    let nobody = format!("127.0.0.1:{}", free_port());
    let told = icetest(&["--admin", &nobody], &[]);
    assert_eq!(told.code, Some(1), "{told:#?}");
    assert!(
        told.stderr.contains("error: ") && told.stderr.contains("hint: "),
        "{told:#?}"
    );
}
