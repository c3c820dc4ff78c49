//! Tokens of ServiceAccounts.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use cluster_tests::{Objects, kinds};
use rcgen::{KeyPair, SigningKey as _};
use serde_json::{Value, json};

pub async fn account(objects: &Objects, namespace: &str, name: &str) {
    objects
        .apply_object(&json!({
            "apiVersion": "v1", "kind": "ServiceAccount",
            "metadata": { "name": name, "namespace": namespace },
        }))
        .await;
}

/// A token as the kubelet asks for when it mounts one; without an audience, for the API server.
pub async fn token(
    objects: &Objects,
    namespace: &str,
    account: &str,
    audience: Option<&str>,
) -> String {
    let audiences: Vec<&str> = audience.into_iter().collect();
    let body = json!({
        "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
        "spec": { "audiences": audiences, "expirationSeconds": 3600 },
    });
    let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token");
    let request = http::Request::post(path)
        .header("Content-Type", "application/json")
        .body(body.to_string().into_bytes())
        .expect("a request");
    let answer: Value = objects.client().request(request).await.expect("a token");
    let token = answer["status"]["token"].as_str().expect("a token");
    token.to_owned()
}

/// A token signed with the API server's key that ends so many seconds from now, or before now: the API server makes none
/// for less than ten minutes.
pub async fn ending_in(
    objects: &Objects,
    folder: &Path,
    [namespace, account]: [&str; 2],
    audience: &str,
    seconds: i64,
) -> String {
    let live = objects.find(kinds::SERVICE_ACCOUNT, namespace, account);
    let live = live.await.expect("the ServiceAccount");
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("a time");
    let now = i64::try_from(now.as_secs()).expect("seconds");
    let claims = json!({
        "iss": "https://kubernetes.default.svc", "aud": [audience],
        "sub": format!("system:serviceaccount:{namespace}:{account}"),
        "iat": now - 3600, "nbf": now - 3600, "exp": now + seconds,
        "kubernetes.io": { "namespace": namespace,
                           "serviceaccount": { "name": account, "uid": live["metadata"]["uid"] } },
    });
    let part = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
    let signed = format!("{}.{}", part(&json!({ "alg": "ES256" })), part(&claims));
    let pem = std::fs::read_to_string(folder.join("service-account.key")).expect("the key");
    let key = KeyPair::from_pem(&pem).expect("a key");
    let signature = raw(&key.sign(signed.as_bytes()).expect("a signature"));
    format!("{signed}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature))
}

/// The two numbers of an ECDSA signature, 32 bytes each (RFC 7518 §3.4), from the ASN.1 SEQUENCE of them.
fn raw(der: &[u8]) -> Vec<u8> {
    let mut rest = &der[2..];
    let mut raw = Vec::new();
    for _ in 0..2 {
        let length = usize::from(rest[1]);
        let number = &rest[2..2 + length];
        let start = number.iter().position(|&byte| byte != 0);
        let number = &number[start.unwrap_or(number.len())..];
        raw.extend(std::iter::repeat_n(0, 32 - number.len()));
        raw.extend(number);
        rest = &rest[2 + length..];
    }
    raw
}
