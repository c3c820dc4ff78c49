//! Config discovery over TLS: a dataplane gets its own Gateway's config with its ServiceAccount's token, and no other.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use cluster_tests::{Cluster, GatewayApi, Operator, eventually, kinds, need};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde_json::json;

use crate::site::{Site, same, uid};

/// Status and body of one request with a token.
fn get(port: u16, ca: &str, path: &str, token: Option<&str>) -> Result<(u16, String), String> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(ca.as_bytes()) {
        let certificate = certificate.map_err(|error| format!("{error:?}"))?;
        roots.add(certificate).map_err(|error| error.to_string())?;
    }
    let config = ClientConfig::builder()
        .with_root_certificates(roots)
        .with_no_client_auth();
    // The name that dataplanes connect to, although it does not resolve here.
    let name = ServerName::try_from("stunner-config-discovery.stunner-system.svc").expect("a name");
    let tls = ClientConnection::new(Arc::new(config), name).map_err(|error| error.to_string())?;
    let tcp = TcpStream::connect(("127.0.0.1", port)).map_err(|error| error.to_string())?;
    let mut stream = StreamOwned::new(tls, tcp);
    let authorization = token.map_or_else(String::new, |token| {
        format!("Authorization: Bearer {token}\r\n")
    });
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: stunner-config-discovery\r\n{authorization}Connection: close\r\n\r\n"
    );
    stream
        .write_all(request.as_bytes())
        .map_err(|error| error.to_string())?;
    let mut answer = Vec::new();
    // A server that closes without close_notify is not what this test is about.
    let _ = stream.read_to_end(&mut answer);
    let text = String::from_utf8_lossy(&answer).into_owned();
    let status = text
        .split_whitespace()
        .nth(1)
        .and_then(|code| code.parse().ok());
    let body = text.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    status
        .map(|status| (status, body.to_owned()))
        .ok_or_else(|| format!("no HTTP: {text:?}"))
}

/// A token of a ServiceAccount for one audience, as the kubelet projects it.
async fn token(site: &Site, account: &str, audience: &str) -> String {
    let path = format!(
        "/api/v1/namespaces/{}/serviceaccounts/{account}/token",
        site.name
    );
    let body = json!({
        "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
        "spec": { "audiences": [audience], "expirationSeconds": 600 },
    });
    let request = http::Request::post(path)
        .header("content-type", "application/json")
        .body(body.to_string().into_bytes())
        .expect("request");
    let answer = site
        .objects
        .client()
        .request::<serde_json::Value>(request)
        .await;
    let answer = answer.expect("a token");
    answer["status"]["token"]
        .as_str()
        .expect("a token")
        .to_owned()
}

async fn authority(site: &Site, gateway: &str) -> String {
    let map = site
        .object(
            kinds::CONFIG_MAP,
            &format!("{gateway}-config-discovery"),
            |live| {
                live["data"]["ca.crt"]
                    .as_str()
                    .map(|_| ())
                    .ok_or_else(|| live.to_string())
            },
        )
        .await;
    map["data"]["ca.crt"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

#[tokio::test]
async fn a_dataplane_gets_its_own_config_and_no_other() {
    let test = "a_dataplane_gets_its_own_config_and_no_other";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let site = Site::new(cluster, "tls-discovery").await;
    let other = Site::new(cluster, "tls-other").await;
    // Our own image: only such dataplanes speak TLS and get the certificate.
    let mut config = site.config();
    config["spec"]
        .as_object_mut()
        .expect("spec")
        .remove("dataplane");
    site.apply(config).await;
    for name in ["gw", "second"] {
        site.apply(site.gateway(name)).await;
    }
    for site in [&site, &other] {
        site.apply(json!({
            "apiVersion": "v1", "kind": "ServiceAccount",
            "metadata": { "name": "dataplane", "namespace": site.name },
        }))
        .await;
    }
    let operator = site.operator(cluster).await;
    let ca = authority(&site, "gw").await;
    let audience = "stunner.l7mp.io/config-discovery/tls-discovery/gw";
    let own = token(&site, "dataplane", audience).await;
    let foreign = token(&other, "dataplane", audience).await;
    let for_api = token(&site, "dataplane", "https://kubernetes.default.svc").await;
    check(&operator, &ca, [&own, &foreign, &for_api]).await;
}

async fn check(operator: &Operator, ca: &str, [own, foreign, for_api]: [&str; 3]) {
    let port = operator.cds_tls_port();
    let path = "/api/v1/configs/tls-discovery/gw";
    eventually("its own config", async || {
        let (status, body) = get(port, ca, path, Some(own))?;
        same(&json!(status), 200).map_err(|error| format!("{error}: {body}"))
    })
    .await;
    let refused = [
        (
            "the config of another gateway",
            "/api/v1/configs/tls-discovery/second",
            Some(own),
        ),
        (
            "all configs of a namespace",
            "/api/v1/configs/tls-discovery",
            Some(own),
        ),
        ("all configs", "/api/v1/configs", Some(own)),
        ("an account of another namespace", path, Some(foreign)),
        ("a token for the API server", path, Some(for_api)),
        ("no token", path, None),
        ("no real token", path, Some("nonsense")),
    ];
    for (what, path, token) in refused {
        let (status, body) = get(port, ca, path, token).expect("an answer");
        assert!([401, 403].contains(&status), "{what}: {status} {body}");
    }
}

/// A replica that starts without it would make another authority, which no running dataplane trusts.
#[tokio::test]
async fn the_authority_outlives_its_secret() {
    let test = "the_authority_outlives_its_secret";
    let cluster = need!(test, Cluster::start(GatewayApi::V1_6Standard).await);
    let site = Site::new(&cluster, "authority").await;
    let _operator = site.operator(&cluster).await;
    let name = "stunner-config-discovery-tls";
    let find = || site.objects.find(kinds::SECRET, "stunner-system", name);
    let before = find().await.expect("the Secret");
    site.objects
        .delete(kinds::SECRET, "stunner-system", name)
        .await;
    let after = eventually("the Secret is back", async || {
        find().await.ok_or("there is none".to_owned())
    })
    .await;
    assert_ne!(uid(&before), uid(&after));
    assert_eq!(before["data"], after["data"]);
}
