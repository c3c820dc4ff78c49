//! Discovery over TLS with a test CA.

mod support;

use std::path::Path;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use stunner_cds::{LoadError, Options, Origin, load_once, watch};
use support::*;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

struct TlsServer {
    listener: TcpListener,
    acceptor: TlsAcceptor,
    port: u16,
    /// Holds `ca.pem` and `token`.
    dir: tempfile::TempDir,
}

impl TlsServer {
    /// Shows one self-signed certificate, marked as a CA, which is in the root file too.
    async fn self_signed(names: &[&str]) -> TlsServer {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut own = CertificateParams::new(names).expect("params");
        own.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("key");
        let own = own.self_signed(&key).expect("certificate");
        TlsServer::showing(own.der().clone(), &key, &own.pem()).await
    }

    async fn start() -> TlsServer {
        let mut ca = CertificateParams::new(Vec::new()).expect("params");
        ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let ca = CertifiedIssuer::self_signed(ca, KeyPair::generate().expect("key")).expect("ca");
        let key = KeyPair::generate().expect("key");
        let leaf = CertificateParams::new(vec!["localhost".into(), "127.0.0.1".into()])
            .expect("params")
            .signed_by(&key, &ca)
            .expect("certificate");
        TlsServer::showing(leaf.der().clone(), &key, &ca.pem()).await
    }

    async fn showing(leaf: CertificateDer<'static>, key: &KeyPair, roots: &str) -> TlsServer {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(
                vec![leaf],
                PrivateKeyDer::try_from(key.serialize_der()).expect("key"),
            )
            .expect("config");
        let dir = tempfile::tempdir().expect("tempdir");
        std::fs::write(dir.path().join("ca.pem"), roots).expect("write");
        std::fs::write(dir.path().join("token"), "s3cret-token\n").expect("write");
        let (listener, _) = listen().await;
        let port = listener.local_addr().expect("address").port();
        TlsServer {
            listener,
            acceptor: TlsAcceptor::from(Arc::new(config)),
            port,
            dir,
        }
    }

    async fn accept(&self) -> std::io::Result<TlsStream<TcpStream>> {
        self.acceptor.accept(accept(&self.listener).await).await
    }

    fn origin(&self, scheme: &str, host: &str) -> Origin {
        Origin::parse(&format!("{scheme}://{host}:{}", self.port)).expect("origin")
    }

    fn options(&self) -> Options {
        let file = |name: &str| Some(Path::new(self.dir.path()).join(name));
        Options {
            ca_file: file("ca.pem"),
            token_file: file("token"),
            ..options()
        }
    }
}

#[tokio::test]
async fn a_config_is_loaded_over_tls_with_the_token() {
    let server = TlsServer::start().await;
    for host in ["localhost", "127.0.0.1"] {
        let (origin, options) = (server.origin("https", host), server.options());
        let serve = async {
            let mut stream = server.accept().await.expect("handshake");
            let head = read_head(&mut stream).await;
            answer(&mut stream, "200 OK", &config(1)).await;
            head
        };
        let (head, update) = tokio::join!(serve, load_once(&origin, ID, None, &options));
        assert_eq!(port_of(&update.expect("a config")), 1);
        let head = head.to_lowercase();
        assert!(
            head.contains("\r\nauthorization: bearer s3cret-token\r\n"),
            "{head}"
        );
    }
}

#[tokio::test]
async fn a_watch_runs_over_tls_with_the_token_and_is_not_downgraded() {
    let server = TlsServer::start().await;
    for scheme in ["https", "wss"] {
        let origin = server.origin(scheme, "localhost");
        let mut updates = watch(&origin, ID, None, &server.options()).expect("watch");
        let (mut socket, request) = upgrade(server.accept().await.expect("handshake")).await;
        assert_eq!(request.headers()["authorization"], "Bearer s3cret-token");
        let expected = format!("https://localhost:{}", server.port);
        assert_eq!(request.headers()["origin"], expected.as_str());
        push(&mut socket, &config(2)).await;
        assert_eq!(port_of(&next(&mut updates).await), 2);
    }
}

#[tokio::test]
async fn a_server_that_the_roots_do_not_vouch_for_is_refused() {
    let (server, other) = (TlsServer::start().await, TlsServer::start().await);
    let (origin, options) = (server.origin("https", "localhost"), other.options());
    let (handshake, update) = tokio::join!(server.accept(), load_once(&origin, ID, None, &options));
    assert!(handshake.is_err());
    let error = update.expect_err("not trusted");
    assert!(matches!(error, LoadError::Tls { .. }), "{error}");
    assert!(error.hint().expect("hint").contains("SSL_CERT_FILE"));
}

#[tokio::test]
async fn a_token_is_never_sent_in_the_clear() {
    let server = TlsServer::start().await;
    let (listener, origin) = listen().await;
    let options = server.options();
    let serve = async {
        let mut stream = accept(&listener).await;
        let head = read_head(&mut stream).await;
        answer(&mut stream, "200 OK", &config(1)).await;
        head
    };
    let (head, update) = tokio::join!(serve, load_once(&origin, ID, None, &options));
    update.expect("a config");
    assert!(!head.to_lowercase().contains("authorization"), "{head}");
}

#[tokio::test]
async fn unusable_roots_and_tokens_are_named() {
    let server = TlsServer::start().await;
    let origin = server.origin("https", "localhost");
    let mut options = server.options();
    options.token_file = Some(server.dir.path().join("no-token"));
    let (_, update) = tokio::join!(server.accept(), load_once(&origin, ID, None, &options));
    let error = update.expect_err("no token").to_string();
    assert!(error.starts_with("cannot read the token file `"), "{error}");

    options.ca_file = Some(server.dir.path().join("token"));
    options.token_file = None;
    let (_, update) = tokio::join!(server.accept(), load_once(&origin, ID, None, &options));
    // A file without any certificate adds none, and the test CA is then unknown.
    update.expect_err("no roots");
}

/// The environment can only be set for another process, so the client runs in one: this test itself, started again.
#[tokio::test]
async fn ssl_cert_file_names_the_roots() {
    let server = TlsServer::start().await;
    let serve = async {
        let mut stream = server.accept().await.expect("handshake");
        read_head(&mut stream).await;
        answer(&mut stream, "200 OK", &config(1)).await;
    };
    let origin = server.origin("https", "localhost").to_string();
    let roots = server.dir.path().join("ca.pem");
    let client = tokio::task::spawn_blocking(move || {
        std::process::Command::new(std::env::current_exe().expect("executable"))
            .args([
                "--ignored",
                "--exact",
                "client_with_the_roots_of_its_environment",
            ])
            .env("SSL_CERT_FILE", roots)
            .env("ORIGIN_UNDER_TEST", origin)
            .output()
            .expect("client")
    });
    let (_, client) = tokio::join!(serve, client);
    let client = client.expect("joined");
    assert!(client.status.success(), "{client:?}");
}

#[tokio::test]
#[ignore = "the client of another test"]
async fn client_with_the_roots_of_its_environment() {
    let origin = std::env::var("ORIGIN_UNDER_TEST").expect("origin");
    let origin = Origin::parse(&origin).expect("origin");
    load_once(&origin, ID, None, &options())
        .await
        .expect("a config");
}

#[tokio::test]
async fn a_self_signed_certificate_is_believed_when_it_is_a_root_and_for_its_names_only() {
    for (names, believed) in [(["localhost"], true), (["elsewhere.example"], false)] {
        let server = TlsServer::self_signed(&names).await;
        let (origin, options) = (server.origin("https", "localhost"), server.options());
        let serve = async {
            let mut stream = server.accept().await?;
            read_head(&mut stream).await;
            answer(&mut stream, "200 OK", &config(1)).await;
            std::io::Result::Ok(())
        };
        let (_, update) = tokio::join!(serve, load_once(&origin, ID, None, &options));
        assert_eq!(update.is_ok(), believed, "{names:?}: {update:?}");
    }
}
