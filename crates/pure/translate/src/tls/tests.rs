use rcgen::{CertificateParams, KeyPair, SignatureAlgorithm as KeyKind};
use serde_json::json;

use super::*;
use crate::manifests::World;
use crate::settings::ReferenceGrants;

/// A certificate and its key, PEM.
pub(crate) fn pair_of(kind: &'static KeyKind) -> (String, String) {
    let key = KeyPair::generate_for(kind).unwrap();
    let params = CertificateParams::new(vec!["turn.example.test".to_owned()]).unwrap();
    (params.self_signed(&key).unwrap().pem(), key.serialize_pem())
}

fn pair() -> (String, String) {
    pair_of(&rcgen::PKCS_ECDSA_P256_SHA256)
}

/// A Secret manifest, as JSON, which is YAML.
pub(crate) fn secret(namespace: &str, name: &str, data: &[(&str, &str)]) -> String {
    let data: serde_json::Map<_, _> = data
        .iter()
        .map(|(key, value)| ((*key).to_owned(), json!(value)))
        .collect();
    json!({
        "kind": "Secret",
        "metadata": {"name": name, "namespace": namespace},
        "stringData": data,
    })
    .to_string()
}

fn found(world: &World, protocol: Protocol, references: &[&str]) -> Result<Usable, Unusable> {
    let references: Vec<_> = references
        .iter()
        .map(|text| match text.split_once('/') {
            Some((namespace, name)) => json!({"namespace": namespace, "name": name}),
            None => json!({"name": text}),
        })
        .collect();
    let tls: ListenerTls = serde_json::from_value(json!({"certificateRefs": references})).unwrap();
    certificate(
        &world.snapshot,
        &world.settings,
        "apps",
        protocol,
        Some(&tls),
    )
}

fn check_pair(cert: &str, key: &str, protocol: Protocol) -> Result<(), CertificateError> {
    check(cert.as_bytes(), key.as_bytes(), protocol)
}

#[test]
fn a_certificate_and_its_own_key_are_usable() {
    let (cert, key) = pair();
    assert_eq!(check_pair(&cert, &key, Protocol::TurnTls), Ok(()));
    assert_eq!(check_pair(&cert, &key, Protocol::TurnDtls), Ok(()));
}

#[test]
fn the_key_of_another_certificate_is_refused() {
    let ((cert, _), (_, key)) = (pair(), pair());
    let refused = check_pair(&cert, &key, Protocol::TurnTls);
    assert_eq!(refused, Err(CertificateError::Mismatch));
}

#[test]
fn what_does_not_parse_is_refused() {
    let (cert, key) = pair();
    let dummy = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    let tls = Protocol::TurnTls;
    for bad in ["", "not pem", dummy] {
        assert_eq!(
            check_pair(bad, &key, tls),
            Err(CertificateError::BadCertificate)
        );
    }
    for bad in ["", "not pem", &cert] {
        assert_eq!(check_pair(&cert, bad, tls), Err(CertificateError::BadKey));
    }
}

#[test]
fn an_encrypted_key_is_refused_also_with_a_plain_one_behind_it() {
    let (cert, key) = pair();
    let encrypted = key.replace("PRIVATE KEY", "ENCRYPTED PRIVATE KEY");
    let both = format!("{encrypted}{key}");
    for key in [encrypted, both] {
        let refused = check_pair(&cert, &key, Protocol::TurnTls);
        assert_eq!(refused, Err(CertificateError::BadKey));
    }
}

#[test]
fn ed25519_serves_tls_and_not_dtls() {
    let (cert, key) = pair_of(&rcgen::PKCS_ED25519);
    assert_eq!(check_pair(&cert, &key, Protocol::TurnTls), Ok(()));
    let refused = check_pair(&cert, &key, Protocol::TurnDtls);
    assert_eq!(refused, Err(CertificateError::NotForDtls));
}

#[test]
fn the_old_names_of_the_keys_work() {
    let (cert, key) = pair();
    for cert_key in ["tls.crt", "crt", "cert"] {
        for key_key in ["tls.key", "key"] {
            let world = World::new(&secret("apps", "c", &[(cert_key, &cert), (key_key, &key)]));
            let usable = found(&world, Protocol::TurnTls, &["c"]).unwrap();
            assert_eq!(usable.certificate.cert, cert);
        }
    }
}

#[test]
fn the_first_usable_reference_wins_and_the_others_are_named() {
    let (cert, key) = pair();
    let mut world = World::new(&secret(
        "apps",
        "good",
        &[("tls.crt", &cert), ("tls.key", &key)],
    ));
    world.apply(&secret("apps", "no-key", &[("tls.crt", &cert)]));
    let usable = found(&world, Protocol::TurnTls, &["gone", "no-key", "good"]).unwrap();
    assert_eq!(usable.notices.len(), 2);

    let unusable = found(&world, Protocol::TurnTls, &["gone", "no-key"]).unwrap_err();
    assert!(unusable.why.contains("apps/gone") && unusable.why.contains("apps/no-key"));
    assert!(!unusable.not_permitted);
}

#[test]
fn a_listener_without_references_is_told_what_to_do() {
    let world = World {
        snapshot: Snapshot::default(),
        settings: Settings::default(),
    };
    let unusable = found(&world, Protocol::TurnDtls, &[]).unwrap_err();
    assert!(unusable.why.contains("certificateRefs"));
}

#[test]
fn a_secret_of_another_namespace_needs_a_grant_when_grants_are_enforced() {
    let (cert, key) = pair();
    let mut world = World::new(&secret(
        "vault",
        "c",
        &[("tls.crt", &cert), ("tls.key", &key)],
    ));
    let usable = found(&world, Protocol::TurnTls, &["vault/c"]).unwrap();
    assert_eq!(usable.notices.len(), 1);
    world.settings.reference_grants = ReferenceGrants::Enforce;
    assert!(
        found(&world, Protocol::TurnTls, &["vault/c"])
            .unwrap_err()
            .not_permitted
    );
    world.apply(
        "kind: ReferenceGrant\nmetadata: {name: g, namespace: vault}\nspec:\n  from: [{group: gateway.networking.k8s.io, kind: Gateway, namespace: apps}]\n  to: [{group: '', kind: Secret, name: c}]\n",
    );
    let usable = found(&world, Protocol::TurnTls, &["vault/c"]).unwrap();
    assert_eq!(usable.notices, [] as [&str; 0]);
}
