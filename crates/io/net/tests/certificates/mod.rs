//! Certificates made by OpenSSL for the tests: every kind of key in every form of PEM.
#![allow(dead_code, reason = "each test binary uses a part")]

use std::sync::OnceLock;

use openssl::asn1::Asn1Time;
use openssl::bn::{BigNum, MsbOption};
use openssl::ec::{EcGroup, EcKey};
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::{Id, PKey, Private};
use openssl::rsa::Rsa;
use openssl::x509::extension::{BasicConstraints, SubjectAlternativeName};
use openssl::x509::{X509, X509Builder, X509NameBuilder};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Rsa2048,
    Rsa4096,
    P256,
    P384,
    P521,
    Ed25519,
}

#[derive(Debug, Clone, Copy)]
pub enum Form {
    Pkcs8,
    /// PKCS#1 for RSA, SEC1 for elliptic curves.
    Traditional,
}

pub struct Made {
    pub chain: Vec<u8>,
    pub key: Vec<u8>,
    /// The root that a client should trust.
    pub root: Vec<u8>,
}

static LARGE: OnceLock<PKey<Private>> = OnceLock::new();

pub fn key(kind: Kind) -> PKey<Private> {
    let curve = |nid| {
        let group = EcGroup::from_curve_name(nid).unwrap();
        PKey::from_ec_key(EcKey::generate(&group).unwrap()).unwrap()
    };
    match kind {
        Kind::Rsa2048 => PKey::from_rsa(Rsa::generate(2048).unwrap()).unwrap(),
        // One for all: it takes seconds to make, and only its size matters.
        Kind::Rsa4096 => LARGE
            .get_or_init(|| PKey::from_rsa(Rsa::generate(4096).unwrap()).unwrap())
            .clone(),
        Kind::P256 => curve(Nid::X9_62_PRIME256V1),
        Kind::P384 => curve(Nid::SECP384R1),
        Kind::P521 => curve(Nid::SECP521R1),
        Kind::Ed25519 => PKey::generate_ed25519().unwrap(),
    }
}

pub fn key_pem(key: &PKey<Private>, form: Form) -> Vec<u8> {
    match (form, key.id()) {
        (Form::Traditional, Id::RSA) => key.rsa().unwrap().private_key_to_pem().unwrap(),
        (Form::Traditional, Id::EC) => key.ec_key().unwrap().private_key_to_pem().unwrap(),
        _ => key.private_key_to_pem_pkcs8().unwrap(),
    }
}

/// A certificate for `key`, signed by `issuer` or by itself.
pub fn certificate(
    name: &str,
    key: &PKey<Private>,
    issuer: Option<(&X509, &PKey<Private>)>,
    authority: bool,
    days: u32,
) -> X509 {
    let mut subject = X509NameBuilder::new().unwrap();
    subject.append_entry_by_nid(Nid::COMMONNAME, name).unwrap();
    let subject = subject.build();
    let mut builder = X509Builder::new().unwrap();
    builder.set_version(2).unwrap();
    let mut serial = BigNum::new().unwrap();
    serial.rand(120, MsbOption::ONE, false).unwrap();
    builder
        .set_serial_number(&serial.to_asn1_integer().unwrap())
        .unwrap();
    builder.set_subject_name(&subject).unwrap();
    builder
        .set_issuer_name(issuer.map_or(&subject, |(issuer, _)| issuer.subject_name()))
        .unwrap();
    builder.set_pubkey(key).unwrap();
    builder
        .set_not_before(&Asn1Time::days_from_now(0).unwrap())
        .unwrap();
    builder
        .set_not_after(&Asn1Time::days_from_now(days).unwrap())
        .unwrap();
    let mut constraints = BasicConstraints::new();
    if authority {
        constraints.ca();
    }
    builder
        .append_extension(constraints.critical().build().unwrap())
        .unwrap();
    let context = builder.x509v3_context(issuer.map(|(issuer, _)| &**issuer), None);
    let names = SubjectAlternativeName::new()
        .dns("localhost")
        .ip("127.0.0.1")
        .build(&context)
        .unwrap();
    builder.append_extension(names).unwrap();
    let signer = issuer.map_or(key, |(_, key)| key);
    let digest = match signer.id() {
        Id::ED25519 => MessageDigest::null(),
        _ => MessageDigest::sha256(),
    };
    builder.sign(signer, digest).unwrap();
    builder.build()
}

/// A leaf of `kind` with `length - 1` authorities of the same kind above it; the chain leaves the
/// root out unless it is the leaf itself.
pub fn make(kind: Kind, form: Form, length: usize) -> Made {
    let root_key = key(kind);
    let root = certificate("root", &root_key, None, true, 30);
    if length == 1 {
        return Made {
            chain: root.to_pem().unwrap(),
            key: key_pem(&root_key, form),
            root: root.to_pem().unwrap(),
        };
    }
    let mut above = (root.clone(), root_key);
    let mut chain = vec![root.to_pem().unwrap()];
    for number in 1..length {
        let leaf = number == length - 1;
        let key = key(kind);
        let name = if leaf {
            "localhost".to_owned()
        } else {
            format!("authority {number}")
        };
        let certificate = certificate(&name, &key, Some((&above.0, &above.1)), !leaf, 30);
        chain.insert(0, certificate.to_pem().unwrap());
        above = (certificate, key);
    }
    Made {
        chain: chain.concat(),
        key: key_pem(&above.1, form),
        root: root.to_pem().unwrap(),
    }
}
