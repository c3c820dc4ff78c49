//! How clients authenticate: what a GatewayConfig says itself, or the Secret that it names.

use k8s_openapi::api::core::v1::Secret;
use stunner_api::NamespacedName;
use stunner_api::gateway::SecretRef;
use stunner_api::names;
use stunner_api::v1::GatewayConfigSpec;
use stunner_config::{Auth, AuthMethod};

use crate::grants::{Permission, Referent, Referrer, permitted};
use crate::secret;
use crate::settings::Settings;
use crate::snapshot::Snapshot;

const STATIC: &str = "static";
const EPHEMERAL: &str = "ephemeral";

/// Why a GatewayConfig gives no authentication. Values out of Secrets are never named.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AuthError {
    #[error("`authType` `{0}` is unknown; set it to `static` or `ephemeral`")]
    UnknownType(String),
    #[error("`authType: {kind}` needs `{field}`; set it, or name a Secret in `authRef`")]
    MissingField {
        kind: &'static str,
        field: &'static str,
    },
    #[error("`authRef` must name a Secret of the core API group; leave out `group` and `kind`")]
    NotASecret,
    #[error("the Secret {0} does not exist; create it, or change `authRef`")]
    SecretMissing(NamespacedName),
    #[error(
        "the Secret {secret} is in another namespace and no ReferenceGrant there permits GatewayConfigs of namespace {from} to use it; add one"
    )]
    NotPermitted {
        secret: NamespacedName,
        from: String,
    },
    #[error(
        "the Secret {0} has an unknown `type`; set it to `static` or `ephemeral`, or remove it for `static`"
    )]
    UnknownSecretType(NamespacedName),
    #[error(
        "the Secret {0} says `type: none`; to serve STUN without authentication set `stunMode: true` in the GatewayConfig instead"
    )]
    TypeNone(NamespacedName),
    #[error(
        "the Secret {secret} lacks the key `{key}`, which `{kind}` authentication needs; add it"
    )]
    MissingKey {
        secret: NamespacedName,
        kind: &'static str,
        key: &'static str,
    },
    #[error("the key `{key}` of the Secret {secret} is not text in UTF-8; replace it")]
    NotText {
        secret: NamespacedName,
        key: &'static str,
    },
    #[error("`realm` `{0}` is not a DNS name in lower case; change it")]
    Realm(String),
}

/// A GatewayConfig that needs no Secret any more.
#[derive(Debug, PartialEq)]
pub(crate) struct Resolved {
    pub(crate) spec: GatewayConfigSpec,
    /// A sentence about a reference that only goes because ReferenceGrants are not asked for.
    pub(crate) notice: Option<String>,
}

/// Puts the credentials into the spec, wherever they come from.
pub(crate) fn resolve(
    snapshot: &Snapshot,
    settings: &Settings,
    config: &NamespacedName,
    spec: &GatewayConfigSpec,
) -> Result<Resolved, AuthError> {
    if !is_dns_name(realm(spec)) {
        return Err(AuthError::Realm(realm(spec).to_owned()));
    }
    let mut resolved = Resolved {
        spec: without_credentials(spec),
        notice: None,
    };
    if spec.stun_mode == Some(true) {
        return Ok(resolved);
    }
    // A Secret overrules everything that is said inline, and the two never mix.
    match &spec.auth_ref {
        Some(reference) => {
            let name = secret::name(reference, &config.namespace);
            let (found, notice) = referred(snapshot, settings, config, reference, &name)?;
            from_secret(&mut resolved.spec, found, &name)?;
            resolved.notice = notice;
        }
        None => inline(&mut resolved.spec, spec)?,
    }
    Ok(resolved)
}

/// The rendered form of a spec that [`resolve`] gave. `None` for any other that lacks credentials.
pub(crate) fn auth(spec: &GatewayConfigSpec) -> Option<Auth> {
    let method = if spec.stun_mode == Some(true) {
        AuthMethod::None
    } else {
        match spec.auth_type.as_deref()? {
            STATIC => AuthMethod::Static {
                username: spec.user_name.clone()?,
                password: spec.password.clone()?,
            },
            EPHEMERAL => AuthMethod::Ephemeral {
                secret: spec.shared_secret.clone()?,
            },
            _ => return None,
        }
    };
    Some(Auth {
        realm: realm(spec).to_owned(),
        method,
        lifetime: spec
            .auth_lifetime
            .and_then(|seconds| u64::try_from(seconds).ok())
            .filter(|&seconds| seconds > 0),
    })
}

/// Takes the credentials from `good`, and the realm too where that of `spec` is none.
pub(crate) fn substitute(spec: &GatewayConfigSpec, good: &GatewayConfigSpec) -> GatewayConfigSpec {
    let realms = if is_dns_name(realm(spec)) { spec } else { good };
    GatewayConfigSpec {
        realm: realms.realm.clone(),
        stun_mode: good.stun_mode,
        auth_type: good.auth_type.clone(),
        user_name: good.user_name.clone(),
        password: good.password.clone(),
        shared_secret: good.shared_secret.clone(),
        ..without_credentials(spec)
    }
}

fn without_credentials(spec: &GatewayConfigSpec) -> GatewayConfigSpec {
    GatewayConfigSpec {
        auth_ref: None,
        auth_type: None,
        user_name: None,
        username: None,
        password: None,
        shared_secret: None,
        ..spec.clone()
    }
}

fn realm(spec: &GatewayConfigSpec) -> &str {
    let given = spec.realm.as_deref().filter(|realm| !realm.is_empty());
    given.unwrap_or(names::DEFAULT_REALM)
}

/// A DNS subdomain as Kubernetes has it (RFC 1123).
pub(crate) fn is_dns_name(name: &str) -> bool {
    let is_label = |label: &str| {
        let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        !label.is_empty()
            && label.bytes().all(inner)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    name.len() <= 253 && name.split('.').all(is_label)
}

/// The normal form of an authentication type and its aliases.
fn normal_type(text: &str) -> Option<&'static str> {
    match text.trim().to_ascii_lowercase().as_str() {
        "static" | "plaintext" => Some(STATIC),
        "ephemeral" | "timewindowed" | "longterm" => Some(EPHEMERAL),
        _ => None,
    }
}

fn inline(resolved: &mut GatewayConfigSpec, spec: &GatewayConfigSpec) -> Result<(), AuthError> {
    let given = spec.auth_type.as_deref().filter(|kind| !kind.is_empty());
    let given = given.unwrap_or(names::DEFAULT_AUTH_TYPE);
    let kind = normal_type(given).ok_or_else(|| AuthError::UnknownType(given.to_owned()))?;
    let needed = |value: &Option<String>, field: &'static str| {
        let value = value.clone().filter(|value| !value.is_empty());
        value.ok_or(AuthError::MissingField { kind, field })
    };
    resolved.auth_type = Some(kind.to_owned());
    if kind == STATIC {
        let user_name = spec.user_name.as_ref().filter(|name| !name.is_empty());
        let user_name = user_name.or(spec.username.as_ref()).cloned();
        resolved.user_name = Some(needed(&user_name, "userName")?);
        resolved.password = Some(needed(&spec.password, "password")?);
    } else {
        resolved.shared_secret = Some(needed(&spec.shared_secret, "sharedSecret")?);
    }
    Ok(())
}

/// The Secret that `authRef` names, and what is to be said about its being in another namespace.
fn referred<'a>(
    snapshot: &'a Snapshot,
    settings: &Settings,
    config: &NamespacedName,
    reference: &SecretRef,
    name: &NamespacedName,
) -> Result<(&'a Secret, Option<String>), AuthError> {
    if !secret::is_secret(reference) {
        return Err(AuthError::NotASecret);
    }
    let from = Referrer {
        group: names::GROUP,
        kind: names::GATEWAY_CONFIG_KIND,
        namespace: &config.namespace,
    };
    let notice = match permitted(snapshot, settings, from, Referent::secret(name)) {
        Permission::Yes => None,
        Permission::OnlyBecauseAllowed => Some(format!(
            "GatewayConfig {config} uses the Secret {name} without a ReferenceGrant, which `--reference-grants=enforce` would refuse."
        )),
        Permission::No => {
            return Err(AuthError::NotPermitted {
                secret: name.clone(),
                from: config.namespace.clone(),
            });
        }
    };
    match snapshot.secrets.get(name) {
        Some(secret) => Ok((secret.as_ref(), notice)),
        None => Err(AuthError::SecretMissing(name.clone())),
    }
}

/// What keeps a GatewayConfig from giving credentials, the Secret that it may name aside.
pub fn auth_problem(spec: &GatewayConfigSpec) -> Option<AuthError> {
    if !is_dns_name(realm(spec)) {
        return Some(AuthError::Realm(realm(spec).to_owned()));
    }
    match &spec.auth_ref {
        _ if spec.stun_mode == Some(true) => None,
        Some(reference) => (!secret::is_secret(reference)).then_some(AuthError::NotASecret),
        None => inline(&mut GatewayConfigSpec::default(), spec).err(),
    }
}

/// What keeps a Secret that a GatewayConfig's `authRef` names from giving credentials.
pub fn auth_secret_problem(secret: &Secret) -> Option<AuthError> {
    let name = NamespacedName::of(&secret.metadata);
    from_secret(&mut GatewayConfigSpec::default(), secret, &name).err()
}

fn from_secret(
    resolved: &mut GatewayConfigSpec,
    secret: &Secret,
    name: &NamespacedName,
) -> Result<(), AuthError> {
    // Without `type` it is static, whatever `authType` of the GatewayConfig says.
    let kind = match text(secret, name, "type")? {
        None => STATIC,
        Some(kind) if kind.trim().eq_ignore_ascii_case("none") => {
            return Err(AuthError::TypeNone(name.clone()));
        }
        Some(kind) => {
            normal_type(&kind).ok_or_else(|| AuthError::UnknownSecretType(name.clone()))?
        }
    };
    let needed = |key: &'static str| {
        text(secret, name, key)?.ok_or_else(|| AuthError::MissingKey {
            secret: name.clone(),
            kind,
            key,
        })
    };
    resolved.auth_type = Some(kind.to_owned());
    if kind == STATIC {
        resolved.user_name = Some(needed("username")?);
        resolved.password = Some(needed("password")?);
    } else {
        resolved.shared_secret = Some(match text(secret, name, "secret")? {
            Some(shared) => shared,
            None => needed("sharedSecret").map_err(|error| match error {
                AuthError::MissingKey { secret, kind, .. } => AuthError::MissingKey {
                    secret,
                    kind,
                    key: "secret",
                },
                other => other,
            })?,
        });
    }
    Ok(())
}

/// A key's value; an empty one is none.
fn text(
    secret: &Secret,
    name: &NamespacedName,
    key: &'static str,
) -> Result<Option<String>, AuthError> {
    let not_text = |_| AuthError::NotText {
        secret: name.clone(),
        key,
    };
    let value = secret::value(secret, key)
        .map(String::from_utf8)
        .transpose()
        .map_err(not_text)?;
    Ok(value.filter(|value| !value.is_empty()))
}

#[cfg(test)]
mod tests;
