//! Serving over TLS with a certificate that changes.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use rcgen::{CertificateParams, KeyPair};
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::{CertificateDer, ServerName};
use stunner_http::{CertificateError, HttpServer, Limits, LiveCertificate, Running, Serving};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// A certificate that vouches for itself.
struct Certificate {
    pem: String,
    key: String,
    der: CertificateDer<'static>,
}

fn certificate() -> Certificate {
    let key = KeyPair::generate().expect("a key");
    let certificate = CertificateParams::new(vec!["localhost".to_owned()])
        .expect("params")
        .self_signed(&key)
        .expect("a certificate");
    Certificate {
        pem: certificate.pem(),
        key: key.serialize_pem(),
        der: certificate.der().clone(),
    }
}

fn start(certificate: &LiveCertificate) -> (Running, SocketAddr) {
    let bound =
        HttpServer::bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).expect("a free port");
    let address = bound.local_addr().expect("an address");
    let serving = Serving {
        certificate: Some(certificate.clone()),
        limits: Limits {
            head_timeout: Duration::from_millis(500),
            ..Limits::default()
        },
        ..Serving::default()
    };
    let router = Router::new().route("/live", get(async || "alive"));
    (
        bound.serve_with(router, serving).expect("a server"),
        address,
    )
}

async fn connect(
    address: SocketAddr,
    trusted: &Certificate,
) -> std::io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.der.clone()).expect("a root");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let tcp = TcpStream::connect(address).await?;
    let name = ServerName::try_from("localhost").expect("a name");
    TlsConnector::from(Arc::new(config))
        .connect(name, tcp)
        .await
}

async fn exchange(stream: &mut TlsStream<TcpStream>) -> String {
    stream
        .write_all(b"GET /live HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .await
        .expect("the request goes out");
    let mut answer = vec![0; 4096];
    let length = stream.read(&mut answer).await.expect("an answer");
    String::from_utf8_lossy(&answer[..length]).into_owned()
}

#[tokio::test]
async fn a_replaced_certificate_is_shown_to_new_connections_and_open_ones_go_on() {
    let (old, new) = (certificate(), certificate());
    let live = LiveCertificate::from_pem(old.pem.as_bytes(), old.key.as_bytes()).expect("usable");
    let (_server, address) = start(&live);
    let mut open = connect(address, &old).await.expect("a connection");
    assert!(exchange(&mut open).await.starts_with("HTTP/1.1 200 OK"));

    live.replace(new.pem.as_bytes(), new.key.as_bytes())
        .expect("usable");
    connect(address, &old)
        .await
        .expect_err("another certificate");
    let mut fresh = connect(address, &new).await.expect("a connection");
    assert!(exchange(&mut fresh).await.starts_with("HTTP/1.1 200 OK"));
    assert!(exchange(&mut open).await.starts_with("HTTP/1.1 200 OK"));
}

#[tokio::test]
async fn an_unusable_certificate_is_refused_and_the_old_one_stays() {
    let (one, other) = (certificate(), certificate());
    let live = LiveCertificate::from_pem(one.pem.as_bytes(), one.key.as_bytes()).expect("usable");
    let error = |chain: &str, key: &str| {
        live.replace(chain.as_bytes(), key.as_bytes())
            .expect_err("no")
    };
    assert!(matches!(error("", &one.key), CertificateError::Chain));
    assert!(matches!(error(&one.pem, "nonsense"), CertificateError::Key));
    assert!(matches!(
        error(&one.pem, &other.key),
        CertificateError::Pair(_)
    ));
    let (_server, address) = start(&live);
    connect(address, &one).await.expect("a connection");
}

#[tokio::test]
async fn a_client_without_tls_or_without_a_word_is_closed() {
    let one = certificate();
    let live = LiveCertificate::from_pem(one.pem.as_bytes(), one.key.as_bytes()).expect("usable");
    let (_server, address) = start(&live);
    let closed = async {
        let mut bytes = Vec::new();
        let mut plain = TcpStream::connect(address).await.expect("a connection");
        plain
            .write_all(b"GET /live HTTP/1.1\r\nHost: localhost\r\n\r\n")
            .await
            .expect("the request goes out");
        let _ = plain.read_to_end(&mut bytes).await;
        let mut silent = TcpStream::connect(address).await.expect("a connection");
        let _ = silent.read_to_end(&mut bytes).await;
        assert!(!String::from_utf8_lossy(&bytes).contains("alive"));
    };
    tokio::time::timeout(Duration::from_secs(5), closed)
        .await
        .expect("both are closed");
}
