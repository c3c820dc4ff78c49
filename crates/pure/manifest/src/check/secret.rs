//! Secrets: what is asked of them by those who refer to them. Of what they hold nothing is shown.

use k8s_openapi::api::core::v1::Secret;
use stunner_api::NamespacedName;
use stunner_api::gateway::SecretRef;
use stunner_api::names;
use stunner_config::Protocol;
use stunner_translate::{
    AuthError, CertificateError, Object, ObjectKind, auth_secret_problem, certificate_problem,
    listener_protocol,
};

use super::config::auth_secret;
use super::findings::Findings;
use super::world::{Owner, World, namespace_or};
use crate::problem::Fault;
use crate::reading::Manifest;

/// `type` of a Secret with a certificate.
const TLS_TYPE: &str = "kubernetes.io/tls";

/// The Secret that a reference names; `None` when it names something of another kind.
pub(super) fn named(reference: &SecretRef, namespace: &str) -> Option<NamespacedName> {
    let group = reference.group.as_deref().unwrap_or_default();
    let kind = reference.kind.as_deref().filter(|kind| !kind.is_empty());
    // `v1` as a group is a slip that is understood.
    let is_secret =
        matches!(group, "" | "v1") && kind.unwrap_or(names::SECRET_KIND) == names::SECRET_KIND;
    is_secret.then(|| {
        let namespace = namespace_or(reference.namespace.as_deref(), namespace);
        NamespacedName::new(namespace, &reference.name)
    })
}

pub(super) fn not_a_secret(findings: &mut Findings<'_>, manifest: &Manifest, field: &str) {
    findings.error(
        manifest,
        Fault::WrongValue,
        &format!("{field}.kind"),
        "this must name a Secret of the core group",
        "leave out `group` and `kind`",
    );
}

pub(super) fn check(
    world: &World<'_>,
    findings: &mut Findings<'_>,
    manifest: &Manifest,
    secret: &Secret,
) {
    // What could not be decoded has been left out, so that more is missing than is.
    if findings.is_told(manifest, "") {
        return;
    }
    let name = &manifest.key.name;
    let gives_credentials =
        world
            .of_kind(ObjectKind::GatewayConfig)
            .any(|config| match &config.object {
                Object::GatewayConfig(found) => {
                    found.spec.stun_mode != Some(true)
                        && auth_secret(&config.key.name, &found.spec).as_ref() == Some(name)
                }
                _ => false,
            });
    if gives_credentials {
        match auth_secret_problem(secret) {
            Some(problem) => credentials(findings, manifest, &problem),
            None => line_ends(findings, manifest, secret),
        }
    }
    let listener = serves(world, name);
    let is_tls = secret.type_.as_deref() == Some(TLS_TYPE);
    let protocol = listener.or_else(|| is_tls.then_some(Protocol::TurnTls));
    if let Some(protocol) = protocol
        && let Some(problem) = certificate_problem(secret, protocol)
    {
        certificate(findings, manifest, problem, listener.is_some());
    }
}

/// The protocol of a listener that names the Secret; the more demanding one when there are several.
fn serves(world: &World<'_>, name: &NamespacedName) -> Option<Protocol> {
    let mut found = None;
    for manifest in world.of_kind(ObjectKind::Gateway) {
        let Object::Gateway(gateway) = &manifest.object else {
            continue;
        };
        if matches!(world.owner(gateway), Owner::SomebodyElse) {
            continue;
        }
        for listener in &gateway.spec.listeners {
            let references = listener.tls.iter().flat_map(|tls| &tls.certificate_refs);
            let namespace = &manifest.key.name.namespace;
            let mut named = references.filter_map(|reference| named(reference, namespace));
            if !named.any(|named| named == *name) {
                continue;
            }
            match listener_protocol(&listener.protocol) {
                Some(Protocol::TurnDtls) => return Some(Protocol::TurnDtls),
                Some(protocol) if protocol.is_secure() => found = Some(protocol),
                _ => {}
            }
        }
    }
    found
}

fn credentials(findings: &mut Findings<'_>, manifest: &Manifest, problem: &AuthError) {
    let (fault, key, message, hint) = match problem {
        AuthError::TypeNone(_) => (
            Fault::WrongValue,
            "type",
            "`type: none` is no authentication for a GatewayConfig".to_owned(),
            "to serve STUN without authentication set `stunMode: true` in the GatewayConfig; else use `static` or `ephemeral`".to_owned(),
        ),
        AuthError::UnknownSecretType(_) => (
            Fault::WrongValue,
            "type",
            "the authentication type is unknown".to_owned(),
            "use `static` or `ephemeral`, or remove it for `static`".to_owned(),
        ),
        AuthError::MissingKey { kind, key, .. } => (
            Fault::MissingField,
            *key,
            format!("`{kind}` authentication needs the key `{key}`"),
            match *kind {
                "static" => "add it, or set `type: ephemeral` and `secret`".to_owned(),
                _ => "add it, or set `type: static`, `username` and `password`".to_owned(),
            },
        ),
        AuthError::NotText { key, .. } => (
            Fault::WrongValue,
            *key,
            format!("the key `{key}` is not text in UTF-8"),
            "put the text itself into `stringData`, or its base64 into `data`".to_owned(),
        ),
        _ => return,
    };
    findings.error(manifest, fault, &field(manifest, key), message, hint);
}

/// `echo` puts a line end behind what goes through `base64`, and it counts: no client would send it.
fn line_ends(findings: &mut Findings<'_>, manifest: &Manifest, secret: &Secret) {
    for key in ["username", "password", "secret", "sharedSecret"] {
        let said = secret.string_data.as_ref().and_then(|data| data.get(key));
        let data = secret.data.as_ref().and_then(|data| data.get(key));
        let value = match (said, data) {
            (Some(said), _) => said.as_bytes(),
            (None, Some(data)) => &data.0,
            (None, None) => continue,
        };
        if value.ends_with(b"\n") {
            findings.warning(
                manifest,
                Fault::Suspicious,
                &field(manifest, key),
                format!("the value of `{key}` ends with a line end, which is a part of it"),
                "leave it out: `printf %s VALUE | base64`, or write the text on one line into `stringData`",
            );
        }
    }
}

/// Without a listener it may be for other programs, which take certificates that listeners cannot serve.
fn certificate(
    findings: &mut Findings<'_>,
    manifest: &Manifest,
    problem: CertificateError,
    has_listener: bool,
) {
    let has = |keys: [&'static str; 3]| {
        let found = keys
            .into_iter()
            .find(|key| has_key(manifest, "data", key) || has_key(manifest, "stringData", key));
        found.unwrap_or(keys[0])
    };
    let cert = has(["tls.crt", "crt", "cert"]);
    let key = has(["tls.key", "key", "key"]);
    let (fault, key, message, hint) = match problem {
        CertificateError::NoCertificate => (
            Fault::MissingField,
            cert,
            "a Secret with a certificate needs the key `tls.crt`",
            "add the certificate chain in PEM, the server's own certificate first",
        ),
        CertificateError::NoKey => (
            Fault::MissingField,
            key,
            "a Secret with a certificate needs the key `tls.key`",
            "add the private key in PEM",
        ),
        CertificateError::BadCertificate => (
            Fault::WrongValue,
            cert,
            "this is not a chain of X.509 certificates in PEM",
            "put the file with `-----BEGIN CERTIFICATE-----` into `stringData`, or its base64 into `data`",
        ),
        CertificateError::Version1 => (
            Fault::WrongValue,
            cert,
            "the certificate is of X.509 version 1, which TLS libraries refuse",
            "issue it as version 3",
        ),
        CertificateError::BadKey => (
            Fault::WrongValue,
            key,
            "the private key cannot be read",
            "use an unencrypted PEM key: RSA from 2048 bits, P-256, P-384 or Ed25519",
        ),
        CertificateError::Mismatch => (
            Fault::WrongValue,
            key,
            "the private key does not belong to the first certificate",
            "put the server's own certificate first, or replace the key",
        ),
        CertificateError::NotForDtls => (
            Fault::WrongValue,
            key,
            "an Ed25519 key cannot serve DTLS",
            "use RSA, P-256 or P-384",
        ),
        CertificateError::NotASecret
        | CertificateError::NotPermitted
        | CertificateError::Missing => return,
    };
    let field = field(manifest, key);
    // An API server asks for the two keys, and does not look at what they hold.
    match has_listener || fault == Fault::MissingField {
        true => findings.error(manifest, fault, &field, message, hint),
        false => findings.warning(manifest, fault, &field, message, hint),
    }
}

/// Where a key is, or would be.
fn field(manifest: &Manifest, key: &str) -> String {
    let section = if has_key(manifest, "stringData", key) || manifest.root.child("data").is_none() {
        "stringData"
    } else {
        "data"
    };
    match key.contains('.') {
        true => format!("{section}[{key}]"),
        false => format!("{section}.{key}"),
    }
}

fn has_key(manifest: &Manifest, section: &str, key: &str) -> bool {
    let section = manifest.root.child(section);
    section.is_some_and(|section| section.child(key).is_some())
}
