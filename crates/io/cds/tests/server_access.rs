//! Tokens, TLS, and our own client at the other end.

mod service;

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use service::*;
use stunner_cds::server::{
    Access, Authorizer, BearerToken, ConfigStore, ConfigText, Scope, ServerOptions, Verdict,
};
use stunner_cds::{LoadError, Options, Origin, Provenance, Update, load_once, watch};
use stunner_http::LiveCertificate;
use tokio::net::TcpStream;
use tokio::sync::mpsc::Receiver;

/// Decides by what the token says, and remembers what it was asked.
#[derive(Default)]
struct Doorman {
    asked: Mutex<Vec<Scope>>,
}

impl Authorizer for Doorman {
    fn authorize<'a>(&'a self, token: &'a BearerToken, scope: &'a Scope) -> BoxFuture<'a, Verdict> {
        self.asked.lock().expect("asked").push(scope.clone());
        async move {
            match (token.expose(), scope) {
                ("t0k-all", _) => Verdict::Allowed,
                ("t0k-gateway", Scope::One(id)) if id.to_string() == "stunner/udp-gateway" => {
                    Verdict::Allowed
                }
                ("t0k-broken", _) => Verdict::Unavailable("the API server does not answer".into()),
                ("t0k-slow", _) => {
                    tokio::time::sleep(Duration::from_secs(3600)).await;
                    Verdict::Allowed
                }
                _ => Verdict::Denied(format!("the token gives no access to {scope}")),
            }
        }
        .boxed()
    }
}

fn checked(doorman: &Arc<Doorman>) -> ServerOptions {
    let mut options = ServerOptions {
        access: Access::Checked(doorman.clone()),
        ..ServerOptions::default()
    };
    options.limits.authorization = Duration::from_millis(200);
    options
}

#[tokio::test]
async fn everyone_gets_what_their_token_is_good_for() {
    let store = ConfigStore::new();
    for name in ["stunner/udp-gateway", "stunner/other", "media/b-gateway"] {
        store.publish(id(name), config(name, ""));
    }
    let doorman = Arc::new(Doorman::default());
    let (_server, address) = serve_with(&store, checked(&doorman));
    let (all, namespace, own, other) = (
        "/api/v1/configs",
        "/api/v1/configs/stunner",
        "/api/v1/configs/stunner/udp-gateway",
        "/api/v1/configs/media/b-gateway",
    );
    for (token, codes) in [
        ("", [401, 401, 401, 401]),
        ("Basic dXNlcjpwYXNz", [401, 401, 401, 401]),
        ("Bearer t0k-all", [200, 200, 200, 200]),
        ("Bearer t0k-gateway", [403, 403, 200, 403]),
        ("Bearer t0k-stranger", [403, 403, 403, 403]),
        ("Bearer t0k-broken", [503, 503, 503, 503]),
        ("Bearer t0k-slow", [503, 503, 503, 503]),
    ] {
        for (target, code) in [all, namespace, own, other].into_iter().zip(codes) {
            let header = format!("Authorization: {token}");
            let headers = if token.is_empty() {
                vec![]
            } else {
                vec![header.as_str()]
            };
            let answer = get_with(address, target, &headers).await;
            assert_eq!(answer.code(), code, "{token} {target}");
            let challenge = (code == 401).then_some("Bearer");
            assert_eq!(answer.header("www-authenticate"), challenge);
            if code != 200 {
                assert_eq!(answer.json()["code"], code);
                assert_eq!(answer.header("content-type"), Some("application/json"));
                assert!(!answer.body.contains("t0k"), "{}", answer.body);
            }
            // The same holds for watches, before anything is upgraded.
            let watch = format!("{target}?watch=true");
            let stream = TcpStream::connect(address).await.expect("a connection");
            let watcher = Watcher::upgrade(stream, &watch, &headers).await;
            let expected = if code == 200 { 101 } else { code };
            assert_eq!(watcher.answer.code(), expected, "{token} {watch}");
        }
    }
    assert_eq!(get(address, "/api/v1/license").await.code(), 200);
    let asked = doorman.asked.lock().expect("asked");
    assert_eq!(
        asked[..8],
        [
            Scope::All,
            Scope::All,
            Scope::Namespace("stunner".into()),
            Scope::Namespace("stunner".into()),
            Scope::One(id("stunner/udp-gateway")),
            Scope::One(id("stunner/udp-gateway")),
            Scope::One(id("media/b-gateway")),
            Scope::One(id("media/b-gateway")),
        ]
    );
}

#[tokio::test]
async fn an_unknown_config_is_not_told_apart_from_a_forbidden_one() {
    let doorman = Arc::new(Doorman::default());
    let (_server, address) = serve_with(&ConfigStore::new(), checked(&doorman));
    let headers = ["Authorization: Bearer t0k-stranger"];
    let answer = get_with(address, "/api/v1/configs/no/such", &headers).await;
    assert_eq!(answer.code(), 403);
}

/// A CA, and what it signs.
struct Issuer(CertifiedIssuer<'static, KeyPair>);

impl Issuer {
    fn new() -> Issuer {
        let mut ca = CertificateParams::new(Vec::new()).expect("params");
        ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("key");
        Issuer(CertifiedIssuer::self_signed(ca, key).expect("ca"))
    }

    /// Chain and key for a name.
    fn leaf(&self, name: &str) -> (String, String) {
        let key = KeyPair::generate().expect("key");
        let leaf = CertificateParams::new(vec![name.to_owned()])
            .expect("params")
            .signed_by(&key, &self.0)
            .expect("certificate");
        (leaf.pem(), key.serialize_pem())
    }

    fn certificate(&self, name: &str) -> LiveCertificate {
        let (chain, key) = self.leaf(name);
        LiveCertificate::from_pem(chain.as_bytes(), key.as_bytes()).expect("usable")
    }
}

const ID: &str = "stunner/udp-gateway";

/// A usable config that differs from others by its port.
fn turn_config(port: u16) -> ConfigText {
    ConfigText::from(&serde_json::json!({
        "version": "v1",
        "admin": { "name": ID },
        "auth": { "type": "static", "credentials": { "username": "u", "password": "p" } },
        "listeners": [{ "name": "udp", "protocol": "TURN-UDP", "address": "$STUNNER_ADDR", "port": port }],
    }))
}

/// A dataplane's mounted files, and options that name them.
struct Mounted(tempfile::TempDir);

impl Mounted {
    fn new(ca: &Issuer, token: &str) -> Mounted {
        let mounted = Mounted(tempfile::tempdir().expect("a folder"));
        mounted.write("ca.crt", &ca.0.pem());
        mounted.write("token", token);
        mounted
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).expect("written");
    }

    fn options(&self) -> Options {
        let mut options = Options {
            env: Arc::new(|name| (name == "STUNNER_ADDR").then(|| "10.1.2.3".to_owned())),
            token_file: Some(self.path("token")),
            ca_file: Some(self.path("ca.crt")),
            ..Options::default()
        };
        options.timing.backoff_first = Duration::from_millis(20);
        options.timing.backoff_max = Duration::from_millis(50);
        options
    }
}

async fn next_port(updates: &mut Receiver<Update>) -> u16 {
    let update = tokio::time::timeout(PATIENCE, updates.recv())
        .await
        .expect("an update in time")
        .expect("an open watch");
    assert_eq!(update.provenance, Provenance::Live);
    update.config.listeners[0].port
}

#[tokio::test]
async fn our_client_follows_our_service_over_tls_through_rotations_and_restarts() {
    let ca = Issuer::new();
    let store = ConfigStore::new();
    store.publish(id(ID), turn_config(1));
    let doorman = Arc::new(Doorman::default());
    let certificate = ca.certificate("localhost");
    let options = || ServerOptions {
        certificate: Some(certificate.clone()),
        ..checked(&doorman)
    };
    let (server, address) = serve_with(&store, options());
    let mounted = Mounted::new(&ca, "t0k-gateway\n");
    let origin = Origin::parse(&format!("https://localhost:{}", address.port())).expect("origin");

    let once = load_once(&origin, ID, None, &mounted.options()).await;
    assert_eq!(once.expect("a config").config.listeners[0].port, 1);
    let mut updates = watch(&origin, ID, None, &mounted.options()).expect("a watch");
    assert_eq!(next_port(&mut updates).await, 1);
    store.publish(id(ID), turn_config(2));
    assert_eq!(next_port(&mut updates).await, 2);
    // The client keeps what it has when its config is deleted.
    store.remove(&id(ID));
    store.publish(id(ID), turn_config(3));
    assert_eq!(next_port(&mut updates).await, 3);

    // Another CA signs from now on, and the service comes back elsewhere in time: the files are read anew.
    let other = Issuer::new();
    let (chain, key) = other.leaf("localhost");
    certificate
        .replace(chain.as_bytes(), key.as_bytes())
        .expect("usable");
    mounted.write("ca.crt", &other.0.pem());
    mounted.write("token", "t0k-all");
    server.stop().await;
    store.publish(id(ID), turn_config(4));
    let bound = stunner_cds::server::Server::bind(&address.into()).expect("the same port");
    let _server = bound.serve(store.clone(), options()).expect("a server");
    assert_eq!(next_port(&mut updates).await, 4);
}

#[tokio::test]
async fn a_certificate_for_another_name_or_of_another_ca_is_refused() {
    let (ca, stranger) = (Issuer::new(), Issuer::new());
    let store = ConfigStore::new();
    store.publish(id(ID), turn_config(1));
    for (certificate, trusted) in [
        (ca.certificate("localhost"), true),
        (
            ca.certificate("stunner-config-discovery.stunner-system.svc"),
            false,
        ),
        (stranger.certificate("localhost"), false),
    ] {
        let options = ServerOptions {
            certificate: Some(certificate),
            ..ServerOptions::default()
        };
        let (_server, address) = serve_with(&store, options);
        let origin =
            Origin::parse(&format!("https://localhost:{}", address.port())).expect("origin");
        let mounted = Mounted::new(&ca, "t0k");
        let loaded = load_once(&origin, ID, None, &mounted.options()).await;
        match loaded {
            Ok(_) => assert!(trusted),
            Err(error) => assert!(
                !trusted && matches!(error, LoadError::Tls { .. }),
                "{error}"
            ),
        }
    }
}

#[tokio::test]
async fn a_refused_client_says_why_and_keeps_trying() {
    let ca = Issuer::new();
    let store = ConfigStore::new();
    store.publish(id(ID), turn_config(1));
    let options = ServerOptions {
        certificate: Some(ca.certificate("localhost")),
        ..checked(&Arc::new(Doorman::default()))
    };
    let (_server, address) = serve_with(&store, options);
    let mounted = Mounted::new(&ca, "t0k-stranger");
    let origin = Origin::parse(&format!("wss://localhost:{}", address.port())).expect("origin");
    let error = load_once(&origin, ID, None, &mounted.options())
        .await
        .expect_err("no access");
    assert!(
        matches!(error, LoadError::Status { status: 403, .. }),
        "{error}"
    );
    assert!(error.to_string().contains("gives no access"), "{error}");
    let mut updates = watch(&origin, ID, None, &mounted.options()).expect("a watch");
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(updates.try_recv().is_err());
    mounted.write("token", "t0k-gateway");
    assert_eq!(next_port(&mut updates).await, 1);
}

#[tokio::test]
async fn our_client_speaks_to_the_plain_port_as_well() {
    let store = ConfigStore::new();
    let (_server, address) = serve(&store);
    let origin = Origin::parse(&address.to_string()).expect("origin");
    let mounted = Mounted::new(&Issuer::new(), "t0k");
    let error = load_once(&origin, ID, None, &mounted.options())
        .await
        .expect_err("nothing yet");
    assert!(
        matches!(error, LoadError::Status { status: 404, .. }),
        "{error}"
    );
    // A watch of what is not there waits for it.
    let mut updates = watch(&origin, ID, Some("node-a"), &mounted.options()).expect("a watch");
    eventually("subscribed", || store.census().subscribers == 1).await;
    store.publish(id(ID), turn_config(7));
    assert_eq!(next_port(&mut updates).await, 7);
}
