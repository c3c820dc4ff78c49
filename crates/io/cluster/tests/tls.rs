//! Config discovery over TLS, with a ServiceAccount's token.

mod support;

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use stunner_cds::server::{
    Access, Authorizer, BearerToken, ConfigStore, Server, ServerOptions, Verdict,
};
use stunner_cluster::{Cds, CdsFlags, Place, Scope};
use stunner_http::LiveCertificate;

use support::{loopback, publish};

struct Doorman;

impl Authorizer for Doorman {
    fn authorize<'a>(&'a self, token: &'a BearerToken, _: &'a Scope) -> BoxFuture<'a, Verdict> {
        let verdict = match token.expose() {
            "the-token" => Verdict::Allowed,
            _ => Verdict::Denied("who are you?".to_owned()),
        };
        async move { verdict }.boxed()
    }
}

#[tokio::test]
async fn the_token_and_the_certificate_authority_of_the_flags_are_used() {
    let mut params = CertificateParams::new(Vec::new()).expect("parameters");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().expect("a key");
    let issuer = CertifiedIssuer::self_signed(params, key).expect("an issuer");
    let leaf_key = KeyPair::generate().expect("a key");
    let leaf = CertificateParams::new(vec!["localhost".to_owned()])
        .and_then(|params| params.signed_by(&leaf_key, &issuer))
        .expect("a certificate");
    let folder = tempfile::tempdir().expect("a folder");
    let (ca_file, token_file) = (folder.path().join("ca.crt"), folder.path().join("token"));
    std::fs::write(&ca_file, issuer.pem()).expect("written");
    std::fs::write(&token_file, "the-token\n").expect("written");

    let store = ConfigStore::new();
    publish(&store, "stunner/a", 1);
    let bound = Server::bind(&loopback()).expect("a port");
    let port = bound.local_addr().expect("an address").port();
    let certificate =
        LiveCertificate::from_pem(leaf.pem().as_bytes(), leaf_key.serialize_pem().as_bytes());
    let options = ServerOptions {
        access: Access::Checked(Arc::new(Doorman)),
        certificate: Some(certificate.expect("a certificate")),
        ..ServerOptions::default()
    };
    let _service = bound.serve(store, options).expect("a service");

    let url = format!("https://localhost:{port}");
    let mut flags = CdsFlags {
        token_file: Some(token_file.clone()),
        ca_file: Some(ca_file),
        ..CdsFlags::default()
    };
    let cds = Cds::direct(&url, &flags).expect("a service");
    assert_eq!(cds.all().await.expect("a list").len(), 1);
    let mut watch = cds.watch(Scope::All, None);
    watch.next().await.expect("a list");

    std::fs::write(&token_file, "another").expect("written");
    let refused = cds.all().await.expect_err("refused");
    assert!(refused.to_string().contains("who are you?"), "{refused}");
    flags.ca_file = None;
    let unknown = Cds::direct(&url, &flags).expect("a service");
    let refused = unknown.all().await.expect_err("an unknown issuer");
    assert!(refused.hint().expect("a hint").contains("SSL_CERT_FILE"));

    // A URL with TLS is never asked without.
    let place = Place::direct(&url, 1).expect("a place");
    assert!(place.open().await.is_err());
}
