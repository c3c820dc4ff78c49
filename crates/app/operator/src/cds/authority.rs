//! The certificate authority of the TLS port. All replicas share it by a Secret, which the first of them makes.

use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, SystemTime};

use k8s_openapi::ByteString;
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
};
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Client;
use kube::api::{Api, PostParams};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use stunner_api::names::{FIELD_MANAGER, cds};

use crate::cluster::{Refusal, patiently};

const DAY: Duration = Duration::from_secs(24 * 3600);
const AUTHORITY_LIFE: Duration = Duration::from_secs(3650 * 24 * 3600);
/// How often to look whether the Secret is still there.
const LOOK_AFTER: Duration = Duration::from_secs(10);
/// Of the certificate that clients see.
pub(super) const LEAF_LIFE: Duration = Duration::from_secs(90 * 24 * 3600);

/// Why certificates cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum AuthorityError {
    #[error("the Secret lacks `{0}`, or it is no PEM text")]
    Content(&'static str),
    #[error("certificate and key cannot be used")]
    Certificate(#[from] rcgen::Error),
}

/// Why there is no TLS port.
#[derive(Debug, thiserror::Error)]
pub enum Unavailable {
    #[error(
        "the Secret {namespace}/{} cannot be read or made: {refusal}",
        cds::TLS_SECRET
    )]
    Secret { namespace: String, refusal: Refusal },
    #[error(
        "the Secret {namespace}/{} cannot be used: {error}; delete it, and it is made anew",
        cds::TLS_SECRET
    )]
    Broken {
        namespace: String,
        error: AuthorityError,
    },
    #[error("ServiceAccount tokens cannot be checked: {0}")]
    TokenReviews(Refusal),
}

/// A certificate authority and its key.
#[derive(Clone)]
pub struct Authority {
    certificate: String,
    key: String,
}

/// A certificate chain and its key, PEM.
pub(super) struct Leaf {
    pub(super) chain: String,
    pub(super) key: String,
}

impl Authority {
    fn generate() -> Result<Authority, AuthorityError> {
        let mut params = CertificateParams::new(Vec::new())?;
        let now = SystemTime::now();
        params.not_before = (now - DAY).into();
        params.not_after = (now + AUTHORITY_LIFE).into();
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        params
            .distinguished_name
            .push(DnType::CommonName, "stunner-config-discovery-ca");
        let key = KeyPair::generate()?;
        Ok(Authority {
            certificate: params.self_signed(&key)?.pem(),
            key: key.serialize_pem(),
        })
    }

    /// The authority's certificate, PEM: what clients trust.
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// A new certificate for these names.
    pub(super) fn issue(&self, names: &[String]) -> Result<Leaf, AuthorityError> {
        let authority = KeyPair::from_pem(&self.key)?;
        let issuer = Issuer::from_ca_cert_pem(&self.certificate, authority)?;
        let mut params = CertificateParams::new(names.to_vec())?;
        let now = SystemTime::now();
        params.not_before = (now - DAY).into();
        params.not_after = (now + LEAF_LIFE).into();
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        params
            .distinguished_name
            .push(DnType::CommonName, cds::SERVICE);
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &issuer)?;
        Ok(Leaf {
            chain: certificate.pem(),
            key: key.serialize_pem(),
        })
    }

    fn secret(&self, namespace: &str) -> Secret {
        let entry = |key: &str, text: &str| (key.to_owned(), ByteString(text.as_bytes().to_vec()));
        Secret {
            metadata: ObjectMeta {
                name: Some(cds::TLS_SECRET.to_owned()),
                namespace: Some(namespace.to_owned()),
                ..ObjectMeta::default()
            },
            type_: Some("Opaque".to_owned()),
            data: Some(BTreeMap::from([
                entry(cds::CA_CERTIFICATE_KEY, &self.certificate),
                entry(cds::CA_KEY_KEY, &self.key),
            ])),
            ..Secret::default()
        }
    }

    fn from_secret(secret: &Secret) -> Result<Authority, AuthorityError> {
        let text = |key: &'static str| {
            let bytes = secret.data.as_ref().and_then(|data| data.get(key));
            bytes
                .and_then(|bytes| String::from_utf8(bytes.0.clone()).ok())
                .ok_or(AuthorityError::Content(key))
        };
        let authority = Authority {
            certificate: text(cds::CA_CERTIFICATE_KEY)?,
            key: text(cds::CA_KEY_KEY)?,
        };
        // That it can sign is what it is for.
        authority.issue(&[cds::SERVICE.to_owned()])?;
        Ok(authority)
    }
}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authority").finish_non_exhaustive()
    }
}

/// The authority that all replicas share. Waits for an API server that does not answer: to go on without TLS would
/// change every pod template.
pub async fn obtain(client: &Client, namespace: &str) -> Result<Authority, Unavailable> {
    let refused = |refusal| Unavailable::Secret {
        namespace: namespace.to_owned(),
        refusal,
    };
    patiently("find out whether tokens can be checked", || {
        may_review_tokens(client)
    })
    .await
    .map_err(Unavailable::TokenReviews)?;
    let secret = patiently("get the certificate authority", || {
        shared(client, namespace)
    })
    .await
    .map_err(refused)?;
    Authority::from_secret(&secret).map_err(|error| Unavailable::Broken {
        namespace: namespace.to_owned(),
        error,
    })
}

async fn shared(client: &Client, namespace: &str) -> Result<Secret, Refusal> {
    let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace);
    let refused = |error: kube::Error| Refusal::of(&error);
    if let Some(secret) = secrets.get_opt(cds::TLS_SECRET).await.map_err(refused)? {
        return Ok(secret);
    }
    let made = Authority::generate().map_err(|error| Refusal::Other(error.to_string()))?;
    match secrets.create(&by_us(), &made.secret(namespace)).await {
        Ok(secret) => {
            tracing::info!(
                scope = "operator",
                "made a certificate authority for config discovery in Secret {namespace}/{}",
                cds::TLS_SECRET
            );
            Ok(secret)
        }
        Err(error) => match Refusal::of(&error) {
            // Another replica was faster: its authority is the one.
            Refusal::AlreadyExists => secrets.get(cds::TLS_SECRET).await.map_err(refused),
            refusal => Err(refusal),
        },
    }
}

fn by_us() -> PostParams {
    PostParams {
        field_manager: Some(FIELD_MANAGER.to_owned()),
        ..PostParams::default()
    }
}

/// Puts the Secret back when somebody deletes it: the next replica that starts would make another authority, which no
/// dataplane trusts yet.
pub(super) async fn keep(client: Client, namespace: String, authority: Authority) {
    let secrets: Api<Secret> = Api::namespaced(client, &namespace);
    loop {
        tokio::time::sleep(LOOK_AFTER).await;
        if !matches!(secrets.get_metadata_opt(cds::TLS_SECRET).await, Ok(None)) {
            continue;
        }
        let secret = authority.secret(&namespace);
        let made = secrets.create(&by_us(), &secret).await;
        match made.map_err(|error| Refusal::of(&error)) {
            Ok(_) => tracing::warn!(
                scope = "operator",
                "the Secret {namespace}/{} was deleted; it is there again, with the same authority",
                cds::TLS_SECRET
            ),
            Err(Refusal::AlreadyExists) => {}
            Err(refusal) => tracing::warn!(
                scope = "operator",
                "the Secret {namespace}/{} was deleted and cannot be made again: {refusal}",
                cds::TLS_SECRET
            ),
        }
    }
}

async fn may_review_tokens(client: &Client) -> Result<(), Refusal> {
    let review = SelfSubjectAccessReview {
        spec: SelfSubjectAccessReviewSpec {
            resource_attributes: Some(ResourceAttributes {
                group: Some("authentication.k8s.io".to_owned()),
                resource: Some("tokenreviews".to_owned()),
                verb: Some("create".to_owned()),
                ..ResourceAttributes::default()
            }),
            ..SelfSubjectAccessReviewSpec::default()
        },
        ..SelfSubjectAccessReview::default()
    };
    let reviews: Api<SelfSubjectAccessReview> = Api::all(client.clone());
    let answer = reviews.create(&PostParams::default(), &review).await;
    let answer = answer.map_err(|error| Refusal::of(&error))?;
    match answer.status.is_some_and(|status| status.allowed) {
        true => Ok(()),
        false => Err(Refusal::Forbidden(
            "the operator may not create TokenReviews".to_owned(),
        )),
    }
}

#[cfg(test)]
mod tests {
    use x509_parser::prelude::{FromDer, X509Certificate};

    use super::*;

    fn der(pem: &str) -> Vec<u8> {
        let (_, pem) = x509_parser::pem::parse_x509_pem(pem.as_bytes()).expect("PEM");
        pem.contents
    }

    #[test]
    fn a_leaf_is_signed_by_the_authority_and_bears_the_names() {
        let authority = Authority::generate().expect("an authority");
        let names = [
            "stunner-config-discovery.sys.svc".to_owned(),
            "127.0.0.1".to_owned(),
        ];
        let leaf = authority.issue(&names).expect("a leaf");
        let (ca, leaf) = (der(authority.certificate()), der(&leaf.chain));
        let (_, ca) = X509Certificate::from_der(&ca).expect("a certificate");
        let (_, leaf) = X509Certificate::from_der(&leaf).expect("a certificate");
        assert!(ca.is_ca() && !leaf.is_ca());
        assert_eq!(leaf.issuer(), ca.subject());
        let alternatives = leaf
            .subject_alternative_name()
            .expect("readable")
            .expect("there");
        assert_eq!(alternatives.value.general_names.len(), 2);
        let left = leaf.validity().time_to_expiration().expect("still valid");
        assert!(left.whole_days() >= 89 && left.whole_days() <= 90, "{left}");
    }

    #[test]
    fn an_authority_survives_its_secret() {
        let authority = Authority::generate().expect("an authority");
        let secret = authority.secret("sys");
        let read = Authority::from_secret(&secret).expect("usable");
        assert_eq!(read.certificate(), authority.certificate());
    }

    #[test]
    fn a_broken_secret_is_refused_without_telling_its_content() {
        let authority = Authority::generate().expect("an authority");
        let mut secret = authority.secret("sys");
        if let Some(data) = &mut secret.data {
            data.insert(cds::CA_KEY_KEY.to_owned(), ByteString(b"hush".to_vec()));
        }
        let error = Authority::from_secret(&secret).expect_err("no key");
        assert!(!format!("{error:?} {error}").contains("hush"));
        let error = Authority::from_secret(&Secret::default()).expect_err("empty");
        assert_eq!(
            error.to_string(),
            "the Secret lacks `ca.crt`, or it is no PEM text"
        );
    }
}
