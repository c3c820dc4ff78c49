//! Servers that are listeners of Gateways: config discovery, and what a cluster may answer.

use std::io::{Read, Write};
use std::net::TcpListener;

use interop_tests::cds::CdsServer;
use interop_tests::config::{Config, Transport};
use interop_tests::echo::UdpEcho;
use serde_json::{Value, json};

use crate::process::{Ended, Turncat, expect_problem};
use crate::scenery::{Auth, Client, Server};

/// The config of a running server as an operator would publish it.
fn published(server: &Server) -> Config {
    let mut config = server.stunnerd.config().clone();
    for transport in Transport::ALL {
        let listener = config.listener(transport.name());
        listener["public_address"] = "127.0.0.1".into();
        listener["public_port"] = listener["port"].clone();
        listener["address"] = "$STUNNER_ADDR".into();
        listener["name"] = format!("interop/gateway/{}", transport.name()).into();
    }
    config
}

#[test]
fn a_listener_of_a_gateway_is_found_by_config_discovery() {
    for auth in [Auth::Static, Auth::Ephemeral] {
        let server = Server::start(auth);
        let cds = CdsServer::start();
        cds.push(&published(&server));
        let (address, ca) = (cds.address(), server.ca_file.display().to_string());
        let peer = UdpEcho::start("127.0.0.1:0");
        let peer = format!("udp://{}", peer.address());
        for transport in Transport::ALL {
            let full = format!("k8s://interop/gateway:{}", transport.name());
            let short = format!("k8s:///gateway:{}", transport.name());
            let ways: [&[&str]; 2] = [&[&full], &["-n", "interop", &short]];
            for way in ways {
                let mut arguments = vec!["--cds-server-address", &address, "udp://127.0.0.1:0"];
                arguments.extend(way);
                arguments.push(&peer);
                let mut turncat = Turncat::start_with(&arguments, &[("SSL_CERT_FILE", &ca)]);
                Client::connect(&turncat.ready()).echoes(b"hello");
                assert_eq!(turncat.interrupt().code, Some(0));
            }
        }
        let requests = cds.requests();
        assert_eq!(requests.len(), 8);
        for request in requests {
            assert!(
                request.starts_with("GET /api/v1/configs/interop/gateway HTTP/1.1\r\n"),
                "{request}"
            );
        }
    }
}

/// A Gateway that changes its credentials while the server is away.
#[test]
fn a_reconnection_asks_for_the_gateway_again() {
    let server = Server::start(Auth::Static);
    let cds = CdsServer::start();
    cds.push(&published(&server));
    let address = cds.address();
    let peer = UdpEcho::start("127.0.0.1:0");
    let peer = format!("udp://{}", peer.address());
    let uri = "k8s://interop/gateway:udp";
    let mut turncat = Turncat::start(&[
        "--cds-server-address",
        &address,
        "udp://127.0.0.1:0",
        uri,
        &peer,
    ]);
    let mut client = Client::connect(&turncat.ready());
    client.echoes(b"before");
    let mut changed = server.stunnerd.config().clone();
    changed.0["auth"]["credentials"] = json!({ "username": "second", "password": "second-pass" });
    let mut server = server;
    server.stunnerd.apply(&changed);
    cds.push(&published(&server));
    server.end_sessions();
    client.echoes_in_the_end("after");
    assert_eq!(turncat.interrupt().code, Some(0));
}

/// `turncat` with standard input, to the end.
fn ask(flags: &[&str], server: &str, env: &[(&str, &str)]) -> Ended {
    let mut arguments = flags.to_vec();
    arguments.extend(["-", server, "udp://127.0.0.1:9"]);
    Turncat::start_with(&arguments, env).end()
}

#[test]
fn what_is_wrong_with_a_gateway_is_told() {
    let server = Server::start(Auth::Static);
    let cds = CdsServer::start();
    let address = cds.address();
    let flags = ["--cds-server-address", address.as_str()];

    let ended = ask(&flags, "k8s://interop/gateway:udp", &[]);
    expect_problem(
        &ended,
        "config of Gateway interop/gateway not found",
        "check the name",
    );

    let config = published(&server);
    cds.push(&config);
    let ended = ask(&flags, "k8s://interop/gateway:quic", &[]);
    expect_problem(
        &ended,
        "the Gateway `interop/gateway` has no listener `quic`",
        "it has `udp`, `tcp`, `tls`, `dtls`",
    );

    let mut twice = config.clone();
    let copy = twice.0["listeners"][0].clone();
    twice.0["listeners"]
        .as_array_mut()
        .expect("a list")
        .push(copy);
    cds.push(&twice);
    let ended = ask(&flags, "k8s://interop/gateway:udp", &[]);
    expect_problem(
        &ended,
        "the Gateway `interop/gateway` has 2 listeners `udp`",
        "a name of its own",
    );

    let mut waiting = config.clone();
    waiting.0["listeners"][0]["public_address"] = "".into();
    cds.push(&waiting);
    let ended = ask(&flags, "k8s://interop/gateway:udp", &[]);
    expect_problem(
        &ended,
        "the listener `udp` of the Gateway `interop/gateway` has no public address and port",
        "kubectl -n interop get gateway gateway",
    );

    let mut open = config;
    open.0["auth"] = json!({ "type": "none" });
    cds.push(&open);
    let ended = ask(&flags, "k8s://interop/gateway:udp", &[]);
    expect_problem(
        &ended,
        "the Gateway `interop/gateway` has no authentication",
        "authType",
    );
}

#[test]
fn without_a_kubeconfig_it_says_how_to_give_one() {
    let ended = ask(&[], "k8s://interop/gateway:udp", &[]);
    expect_problem(&ended, "there is no kubeconfig", "`--kubeconfig`");
}

/// An API server that answers every request the same.
fn api_server(status: &'static str, body: Value) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("bind");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut request = [0; 8192];
            let _ = stream.read(&mut request);
            let body = body.to_string();
            let head = format!(
                "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                body.len()
            );
            let _ = stream.write_all(format!("{head}{body}").as_bytes());
        }
    });
    format!("http://{address}")
}

fn kubeconfig(server: &str) -> tempfile::NamedTempFile {
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "test",
        "contexts": [{ "name": "test", "context": { "cluster": "test", "user": "test" } }],
        "clusters": [{ "name": "test", "cluster": { "server": server } }],
        "users": [{ "name": "test", "user": {} }],
    });
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), config.to_string()).expect("write");
    file
}

#[test]
fn a_refusal_of_the_cluster_says_which_role_is_missing() {
    let server = api_server(
        "403 Forbidden",
        json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": "Forbidden", "code": 403,
            "message": "pods is forbidden: User \"ann\" cannot list resource \"pods\"",
        }),
    );
    let file = kubeconfig(&server);
    let path = file.path().display().to_string();
    let ended = ask(&[], "k8s://interop/gateway:udp", &[("KUBECONFIG", &path)]);
    expect_problem(
        &ended,
        "not permitted to list pods",
        "--verb=list --resource=pods",
    );
}

#[test]
fn two_discovery_services_are_refused_by_name() {
    let pod = |namespace: &str, name: &str, owner: &str| {
        json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {
                "name": name, "namespace": namespace, "uid": name,
                "labels": { "stunner.l7mp.io/config-discovery-service": "enabled" },
                "ownerReferences": [{ "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner, "uid": owner, "controller": true }],
            },
            "spec": { "containers": [{ "name": "operator" }] },
            "status": { "phase": "Running", "conditions": [{ "type": "Ready", "status": "True" }] },
        })
    };
    let pods = json!({
        "kind": "PodList", "apiVersion": "v1", "metadata": { "resourceVersion": "1" },
        "items": [pod("stunner-system", "operator-a", "one"), pod("old", "operator-b", "other")],
    });
    let server = api_server("200 OK", pods);
    let file = kubeconfig(&server);
    let path = file.path().display().to_string();
    let ended = ask(&["--kubeconfig", &path], "k8s://interop/gateway:udp", &[]);
    expect_problem(&ended, "several ", "--cds-server-namespace");
    for name in ["stunner-system/one", "old/other"] {
        assert!(ended.stderr.contains(name), "{}", ended.stderr);
    }
}

#[test]
fn an_api_server_that_is_away_is_told() {
    let port = interop_tests::ports::free_port();
    let file = kubeconfig(&format!("http://127.0.0.1:{port}"));
    let path = file.path().display().to_string();
    let ended = ask(&["--kubeconfig", &path], "k8s://interop/gateway:udp", &[]);
    expect_problem(&ended, "the API server cannot be reached", "hint: ");
}
