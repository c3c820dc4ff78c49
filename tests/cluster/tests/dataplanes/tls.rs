//! Config discovery over TLS: a ServiceAccount token opens the config of its own Gateway and no other.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use cluster_tests::{Objects, eventually, kinds, need};
use interop_tests::config::Transport;
use interop_tests::echo::UdpEcho;
use interop_tests::stunnerd;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use serde_json::{Value, json};

use crate::stage::{CHANNEL, GATEWAY, NS, Stage};

const OWN_AUDIENCE: &str = "stunner.l7mp.io/config-discovery/media/edge";
const READER_AUDIENCE: &str = "stunner.l7mp.io/config-discovery";
const OWN: &str = "/api/v1/configs/media/edge";
const OTHER: &str = "/api/v1/configs/media/other";
const ALL: &str = "/api/v1/configs";

/// A token of a ServiceAccount, as the kubelet asks for when it mounts one.
async fn token(objects: &Objects, namespace: &str, account: &str, audience: &str) -> String {
    objects
        .apply_object(&json!({
            "apiVersion": "v1", "kind": "ServiceAccount",
            "metadata": { "name": account, "namespace": namespace },
        }))
        .await;
    let request = json!({
        "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
        "spec": { "audiences": [audience], "expirationSeconds": 3600 },
    });
    let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token");
    let request = http::Request::post(path)
        .header("Content-Type", "application/json")
        .body(request.to_string().into_bytes())
        .expect("a request");
    let answer: Value = objects.client().request(request).await.expect("a token");
    answer["status"]["token"]
        .as_str()
        .expect("a token")
        .to_owned()
}

/// The certificate authority that the operator hands to the Gateway's pods.
async fn authority(objects: &Objects) -> String {
    let name = format!("{GATEWAY}-config-discovery");
    eventually("the ConfigMap with the authority", async || {
        let map = objects.find(kinds::CONFIG_MAP, NS, &name).await;
        let map = map.ok_or("there is none")?;
        let text = map["data"]["ca.crt"].as_str();
        text.map(str::to_owned).ok_or_else(|| map.to_string())
    })
    .await
}

/// A client that trusts only that authority.
struct Reader {
    port: u16,
    config: Arc<rustls::ClientConfig>,
}

impl Reader {
    fn new(port: u16, authority: &str) -> Self {
        let mut roots = rustls::RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(authority.as_bytes()) {
            roots.add(certificate.expect("PEM")).expect("a root");
        }
        let config = rustls::ClientConfig::builder()
            .with_root_certificates(roots)
            .with_no_client_auth();
        Self {
            port,
            config: Arc::new(config),
        }
    }

    /// Status and body; the server is called by the name of its Service.
    fn get(&self, path: &str, token: Option<&str>) -> (u16, String) {
        let name = "stunner-config-discovery.stunner-system.svc";
        let server = ServerName::try_from(name).expect("a name");
        let session = rustls::ClientConnection::new(self.config.clone(), server).expect("TLS");
        let socket = TcpStream::connect(("127.0.0.1", self.port)).expect("connect");
        let patience = Some(Duration::from_secs(30));
        socket.set_read_timeout(patience).expect("a timeout");
        let mut stream = rustls::StreamOwned::new(session, socket);
        let authorization = token.map_or_else(String::new, |token| {
            format!("Authorization: Bearer {token}\r\n")
        });
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n{authorization}\r\n"
        );
        stream.write_all(request.as_bytes()).expect("send");
        let mut answer = Vec::new();
        // The server may end without a closing alert; the length of the body tells.
        let _ = stream.read_to_end(&mut answer);
        let text = String::from_utf8_lossy(&answer).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split_whitespace().nth(1);
        let status = status.and_then(|status| status.parse().ok());
        (
            status.unwrap_or_else(|| panic!("not HTTP: {text}")),
            body.to_owned(),
        )
    }
}

#[tokio::test]
async fn a_token_opens_the_config_of_its_own_gateway_and_our_dataplane_serves_it() {
    let test = "a_token_opens_the_config_of_its_own_gateway_and_our_dataplane_serves_it";
    let stage = need!(test, Stage::set().await);
    let objects = &stage.objects;
    let authority = authority(objects).await;
    let reader = Reader::new(stage.operator.cds_tls_port(), &authority);
    let own = token(objects, NS, "default", OWN_AUDIENCE).await;

    let (status, body) = reader.get(OWN, Some(&own));
    assert_eq!(status, 200, "{body}");
    assert!(body.contains("media/edge/udp"), "{body}");
    for path in [OTHER, ALL, "/api/v1/configs/media"] {
        let (status, body) = reader.get(path, Some(&own));
        assert_eq!(status, 403, "{path}: {body}");
        assert!(!body.contains("pass"), "{path}: {body}");
    }
    for path in [OWN, OTHER, ALL] {
        assert_eq!(reader.get(path, None).0, 401, "{path} without a token");
    }

    // Tokens that the API server made for something else, or did not make.
    let foreign = token(objects, "default", "default", OWN_AUDIENCE).await;
    let general = token(objects, NS, "default", "https://kubernetes.default.svc").await;
    let forged = format!("{own}x");
    for (what, token) in [
        ("foreign", &foreign),
        ("general", &general),
        ("forged", &forged),
    ] {
        let (status, body) = reader.get(OWN, Some(token));
        assert!(matches!(status, 401 | 403), "{what}: {status} {body}");
    }

    // The authentication service reads everything, by the token for that.
    let auth = token(objects, "stunner-system", "stunner-auth", READER_AUDIENCE).await;
    let (status, body) = reader.get(ALL, Some(&auth));
    assert_eq!(status, 200, "{body}");
    assert!(body.contains("media/other/udp"), "{body}");
    let posing = token(objects, NS, "stunner-auth", READER_AUDIENCE).await;
    assert_eq!(reader.get(ALL, Some(&posing)).0, 403);

    let mounted = stage.cluster.folder();
    let (token_file, ca_file) = (
        mounted.join("mounted-token"),
        mounted.join("mounted-ca.crt"),
    );
    std::fs::write(&token_file, &own).expect("written");
    std::fs::write(&ca_file, &authority).expect("written");
    let origin = format!("https://localhost:{}", stage.operator.cds_tls_port());
    let env = [
        ("STUNNER_CDS_TOKEN_FILE", token_file.as_path()),
        ("STUNNER_CDS_CA_FILE", ca_file.as_path()),
    ];
    let _dataplane = stage.dataplane(stunnerd::binary(), &origin, &env);
    let first = UdpEcho::start("127.0.0.1:0");
    let second = UdpEcho::start("127.0.0.2:0");
    for transport in [Transport::Udp, Transport::Tcp] {
        stage.session(transport, &first).await;
    }
    stage.route_to("second").await;
    let mut session = stage.session(Transport::Udp, &second).await;
    assert!(session.echoes(CHANNEL, b"over TLS"));
}
