//! Certificates and keys: what is accepted, and what is said about the rest.

mod certificates;

use certificates::{Form, Kind, certificate, key, key_pem, make};
use stunner_net::identity::{Identity, IdentityError};

fn refusal(chain: &[u8], key: &[u8]) -> IdentityError {
    Identity::from_pem(chain, key).unwrap_err()
}

#[test]
fn every_kind_of_key_in_every_form_is_read() {
    for kind in [Kind::Rsa2048, Kind::P256, Kind::P384, Kind::Ed25519] {
        for form in [Form::Pkcs8, Form::Traditional] {
            let made = make(kind, form, 2);
            let identity = Identity::from_pem(&made.chain, &made.key).unwrap();
            let lifetime = identity.not_after() - identity.not_before();
            assert_eq!(lifetime, 30 * 86_400, "{kind:?} {form:?}");
        }
    }
}

#[test]
fn text_and_parameters_around_the_blocks_do_not_matter() {
    let made = make(Kind::P256, Form::Traditional, 1);
    let chain = [
        b"Subject: anything\r\n",
        &made.chain[..],
        b"\ntrailing words\n",
    ]
    .concat();
    let parameters =
        b"-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n";
    let key = [&parameters[..], &made.key].concat();
    Identity::from_pem(&chain, &key).unwrap();
    // One file that holds both is common with HAProxy users.
    let both = [chain, key].concat();
    Identity::from_pem(&both, &both).unwrap();
}

#[test]
fn a_key_of_another_certificate_is_refused() {
    for kinds in [(Kind::P256, Kind::P256), (Kind::Rsa2048, Kind::P256)] {
        let (one, other) = (make(kinds.0, Form::Pkcs8, 1), make(kinds.1, Form::Pkcs8, 1));
        assert_eq!(refusal(&one.chain, &other.key), IdentityError::Mismatch);
    }
}

#[test]
fn a_chain_in_the_wrong_order_is_named_as_such() {
    let (root_key, leaf_key) = (key(Kind::P256), key(Kind::P256));
    let root = certificate("root", &root_key, None, true, 30);
    let leaf = certificate("leaf", &leaf_key, Some((&root, &root_key)), false, 30);
    let chain = [root.to_pem().unwrap(), leaf.to_pem().unwrap()].concat();
    let refused = refusal(&chain, &key_pem(&leaf_key, Form::Pkcs8));
    assert_eq!(refused, IdentityError::ChainOrder { number: 2 });
    assert!(refused.to_string().contains("put that one first"));
}

#[test]
fn bad_input_is_named() {
    let made = make(Kind::P256, Form::Pkcs8, 1);
    assert_eq!(refusal(b"", &made.key), IdentityError::NoCertificate);
    assert_eq!(
        refusal(b"no PEM at all", &made.key),
        IdentityError::NoCertificate
    );
    assert_eq!(refusal(&made.key, &made.key), IdentityError::NoCertificate);
    assert_eq!(refusal(&made.chain, b""), IdentityError::NoKey);
    assert_eq!(refusal(&made.chain, &made.chain), IdentityError::NoKey);
    let cut = &made.chain[..made.chain.len() - 40];
    assert!(matches!(
        refusal(cut, &made.key),
        IdentityError::CertificatePem(_)
    ));
    let cut = &made.key[..made.key.len() - 40];
    assert!(matches!(
        refusal(&made.chain, cut),
        IdentityError::KeyPem(_)
    ));
    let block =
        |name: &str| format!("-----BEGIN {name}-----\nAAAA\n-----END {name}-----\n").into_bytes();
    assert_eq!(
        refusal(&block("CERTIFICATE"), &made.key),
        IdentityError::Certificate { number: 1 }
    );
    let chain = [&made.chain[..], &block("CERTIFICATE")].concat();
    assert_eq!(
        refusal(&chain, &made.key),
        IdentityError::Certificate { number: 2 }
    );
    assert_eq!(
        refusal(&made.chain, &block("PRIVATE KEY")),
        IdentityError::Key
    );
    assert_eq!(
        refusal(&made.chain, &block("ENCRYPTED PRIVATE KEY")),
        IdentityError::EncryptedKey
    );
    let unsupported = make(Kind::P521, Form::Pkcs8, 1);
    assert_eq!(
        refusal(&unsupported.chain, &unsupported.key),
        IdentityError::Key
    );
}

#[test]
fn no_text_shows_the_key() {
    let made = make(Kind::P256, Form::Pkcs8, 1);
    let identity = Identity::from_pem(&made.chain, &made.key).unwrap();
    assert!(format!("{identity:?}").contains("<secret>"));
}
