//! GatewayConfig.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::crd::pattern;
use crate::gateway::SecretRef;
use crate::lenient::{null_as_default, optional_i32, optional_i64};
use crate::object::fixed_object;

fixed_object!(
    /// Settings of all Gateways of a class, most of all how clients authenticate.
    GatewayConfig, "GatewayConfig", "gatewayconfigs", "stunner.l7mp.io", "v1", NamespaceResourceScope,
    spec: GatewayConfigSpec
);

/// Settings of all Gateways of the classes whose `parametersRef` names this object.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(transform = crate::crd::schema::one_user_name)]
pub struct GatewayConfigSpec {
    /// Name of the Dataplane that is the template of the pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "default"))]
    pub dataplane: Option<String>,
    /// Log levels of the dataplane, by scope: `all:INFO` or `all:DEBUG,turn:INFO`. `all:INFO` when unset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_level: Option<String>,
    /// Authentication realm that clients are told, in the form of a lower-case DNS name.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(
        regex(pattern = pattern::SUBDOMAIN),
        extend("x-default" = "stunner.l7mp.io")
    )]
    pub realm: Option<String>,
    /// Secret with the credentials: `username` and `password` for type `static`, `secret` for type
    /// `ephemeral`; its key `type` says which, `static` if missing. Overrules all credentials
    /// that are given here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auth_ref: Option<SecretRef>,
    /// How clients authenticate: `static` with one user name and password, `ephemeral` with
    /// credentials that expire and are made from a shared secret. `plaintext` is another word
    /// for the first, `longterm` and `timewindowed` for the second. Counts only without `authRef`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(
        regex(pattern = r"^(static|plaintext|ephemeral|longterm|timewindowed)$"),
        extend("x-default" = "static")
    )]
    pub auth_type: Option<String>,
    /// User name for `static` authentication. Counts only without `authRef`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = pattern::CREDENTIAL))]
    pub user_name: Option<String>,
    /// Another spelling of `userName`. Only one of the two may be set.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = pattern::CREDENTIAL))]
    pub username: Option<String>,
    /// Password for `static` authentication. Counts only without `authRef`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = pattern::CREDENTIAL))]
    pub password: Option<String>,
    /// Secret that `ephemeral` credentials are made from. Counts only without `authRef`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared_secret: Option<String>,
    /// For how many seconds `ephemeral` credentials from the authentication service are valid,
    /// where the client does not ask for less or more.
    #[serde(
        deserialize_with = "optional_i32",
        skip_serializing_if = "Option::is_none"
    )]
    pub auth_lifetime: Option<i32>,
    /// Annotations for the Services that are made for Gateways. Those of a Gateway win.
    #[serde(
        deserialize_with = "null_as_default",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub load_balancer_service_annotations: BTreeMap<String, String>,
    /// How many allocations one user may hold at a time. No limit when 0 or unset.
    #[serde(
        deserialize_with = "optional_i64",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(extend("x-default" = 0))]
    pub user_quota: Option<i64>,
    /// Serve STUN only and ask for no authentication: nothing is relayed to anybody.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = false))]
    pub stun_mode: Option<bool>,
    /// Name of the ConfigMap that holds the configuration in legacy mode. `stunnerd-config` when unset.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(max = 64),
        regex(pattern = pattern::KIND)
    )]
    pub stunner_config: Option<String>,
    /// Where the dataplane serves metrics, as a URL: `http://:8080/metrics`. Of the oldest API;
    /// `enableMetricsEndpoint` of the Dataplane is the newer way to say it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metrics_endpoint: Option<String>,
    /// Where the dataplane answers health checks, as a URL: `http://:8086`. Of the oldest API.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub health_check_endpoint: Option<String>,
    /// Lowest port for relayed traffic; 0 is the same as unset. Of the oldest API.
    #[serde(
        deserialize_with = "optional_i32",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(range(min = 0, max = 65535))]
    pub min_port: Option<i32>,
    /// Highest port for relayed traffic; 0 is the same as unset. Of the oldest API.
    #[serde(
        deserialize_with = "optional_i32",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(range(min = 0, max = 65535))]
    pub max_port: Option<i32>,
}

/// Stands for a secret, telling only whether there is one.
struct Masked<'a>(&'a Option<String>);

impl fmt::Debug for Masked<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() {
            "Some(<secret>)"
        } else {
            "None"
        })
    }
}

impl fmt::Debug for GatewayConfigSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without `..`, so that a new field has to be thought about.
        let Self {
            dataplane,
            log_level,
            realm,
            auth_ref,
            auth_type,
            user_name,
            username,
            password,
            shared_secret,
            auth_lifetime,
            load_balancer_service_annotations,
            user_quota,
            stun_mode,
            stunner_config,
            metrics_endpoint,
            health_check_endpoint,
            min_port,
            max_port,
        } = self;
        f.debug_struct("GatewayConfigSpec")
            .field("dataplane", dataplane)
            .field("log_level", log_level)
            .field("realm", realm)
            .field("auth_ref", auth_ref)
            .field("auth_type", auth_type)
            .field("user_name", user_name)
            .field("username", username)
            .field("password", &Masked(password))
            .field("shared_secret", &Masked(shared_secret))
            .field("auth_lifetime", auth_lifetime)
            .field(
                "load_balancer_service_annotations",
                load_balancer_service_annotations,
            )
            .field("user_quota", user_quota)
            .field("stun_mode", stun_mode)
            .field("stunner_config", stunner_config)
            .field("metrics_endpoint", metrics_endpoint)
            .field("health_check_endpoint", health_check_endpoint)
            .field("min_port", min_port)
            .field("max_port", max_port)
            .finish()
    }
}
