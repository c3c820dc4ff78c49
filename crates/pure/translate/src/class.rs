//! GatewayClasses: whether their parameters can be used.

use stunner_api::NamespacedName;
use stunner_api::gateway::{GatewayClass, GatewayClassStatus, SupportedFeature};
use stunner_api::names::{self, condition as kind, reason};
use stunner_api::v1::{GatewayConfig, GatewayConfigSpec};

use crate::condition::{condition, sentences};
use crate::legacy;
use crate::ownership::class_is_ours;
use crate::plan::ClassPlan;
use crate::settings::{Mode, ReferenceGrants, Settings};
use crate::snapshot::Snapshot;

/// Why a class has no GatewayConfig.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ParametersError {
    #[error("`spec.parametersRef` is missing; name a GatewayConfig there")]
    NoReference,
    #[error(
        "`spec.parametersRef` must have group `stunner.l7mp.io` and kind `GatewayConfig`; change it"
    )]
    WrongKind,
    #[error("`spec.parametersRef` needs a name and a namespace; set both")]
    Incomplete,
    #[error("the GatewayConfig {0} does not exist; create it, or change `spec.parametersRef`")]
    Missing(NamespacedName),
}

/// What is to be for a class; `None` if it does not exist or is not ours.
pub(crate) fn class_plan(
    snapshot: &Snapshot,
    settings: &Settings,
    name: &str,
) -> Option<ClassPlan> {
    let class = snapshot.classes.get(name)?;
    if !class_is_ours(settings, class) {
        return None;
    }
    let accepted = match problem(snapshot, settings, class) {
        None => condition(
            &class.metadata,
            kind::ACCEPTED,
            true,
            reason::ACCEPTED,
            sentences(
                [format!(
                    "The GatewayClass is handled by {}.",
                    settings.controller_name
                )]
                .into_iter()
                .chain(missing_default_dataplane(snapshot, settings, class)),
            ),
        ),
        Some(problem) => condition(
            &class.metadata,
            kind::ACCEPTED,
            false,
            reason::INVALID_PARAMETERS,
            problem,
        ),
    };
    Some(ClassPlan {
        status: GatewayClassStatus {
            conditions: vec![accepted],
            supported_features: supported_features(settings),
        },
        workloads: match settings.mode {
            Mode::Managed => Vec::new(),
            Mode::Legacy => legacy::config_map(snapshot, settings, class)
                .into_iter()
                .collect(),
        },
    })
}

/// What is wrong with the class as a whole, as a sentence. Broken authentication is not: that is its Gateways' affair.
pub(crate) fn problem(
    snapshot: &Snapshot,
    settings: &Settings,
    class: &GatewayClass,
) -> Option<String> {
    let config = match parameters(snapshot, class) {
        Ok(config) => config,
        Err(error) => return Some(parameters_problem(class, &error)),
    };
    let config_name = NamespacedName::of(&config.metadata);
    match settings.mode {
        Mode::Managed => {
            let dataplane = dataplane_name(&config.spec);
            let is_missing = dataplane != names::DEFAULT_DATAPLANE
                && !snapshot.dataplanes.contains_key(dataplane);
            is_missing.then(|| missing_dataplane(dataplane, &config_name))
        }
        Mode::Legacy => legacy::clash(snapshot, settings, class),
    }
}

pub(crate) fn parameters<'a>(
    snapshot: &'a Snapshot,
    class: &GatewayClass,
) -> Result<&'a GatewayConfig, ParametersError> {
    let reference = class.spec.parameters_ref.as_ref();
    let reference = reference.ok_or(ParametersError::NoReference)?;
    // Files may leave out group and kind.
    let group = reference.group.as_deref().unwrap_or(names::GROUP);
    let kind = reference.kind.as_deref();
    let kind = kind.unwrap_or(names::GATEWAY_CONFIG_KIND);
    if group != names::GROUP || kind != names::GATEWAY_CONFIG_KIND {
        return Err(ParametersError::WrongKind);
    }
    let namespace = reference.namespace.as_deref().unwrap_or_default();
    if namespace.is_empty() || reference.name.is_empty() {
        return Err(ParametersError::Incomplete);
    }
    let name = NamespacedName::new(namespace, &reference.name);
    match snapshot.gateway_configs.get(&name) {
        Some(config) => Ok(config),
        None => Err(ParametersError::Missing(name)),
    }
}

/// The sentence for the status of a class and of its Gateways.
pub(crate) fn parameters_problem(class: &GatewayClass, error: &ParametersError) -> String {
    let name = class.metadata.name.as_deref().unwrap_or_default();
    format!("GatewayClass {name} cannot be used: {error}.")
}

/// The sentence for the status of a class and of its Gateways.
pub(crate) fn missing_dataplane(dataplane: &str, config: &NamespacedName) -> String {
    format!(
        "The Dataplane {dataplane}, which GatewayConfig {config} names, does not exist; create it, or change `spec.dataplane`."
    )
}

/// The Dataplane that a GatewayConfig means.
pub(crate) fn dataplane_name(config: &GatewayConfigSpec) -> &str {
    let name = config.dataplane.as_deref().filter(|name| !name.is_empty());
    name.unwrap_or(names::DEFAULT_DATAPLANE)
}

fn missing_default_dataplane(
    snapshot: &Snapshot,
    settings: &Settings,
    class: &GatewayClass,
) -> Option<String> {
    let config = parameters(snapshot, class).ok()?;
    let name = dataplane_name(&config.spec);
    let is_missing = settings.mode == Mode::Managed && !snapshot.dataplanes.contains_key(name);
    is_missing.then(|| {
        format!(
            "There is no Dataplane {name}: new Gateways get built-in defaults until it is created."
        )
    })
}

/// Gateway API feature names (GEP-2162) that hold here, in alphabetical order as the API demands.
fn supported_features(settings: &Settings) -> Vec<SupportedFeature> {
    let api = settings.gateway_api;
    if !api.supported_features {
        return Vec::new();
    }
    let enforced = settings.reference_grants == ReferenceGrants::Enforce;
    [
        ("Gateway", true),
        ("GatewayInfrastructure", true),
        ("ReferenceGrant", enforced),
        ("TCPRoute", api.tcp_routes),
        ("UDPRoute", api.official_udp_routes),
    ]
    .into_iter()
    .filter(|(_, holds)| *holds)
    .map(|(name, _)| SupportedFeature {
        name: name.to_owned(),
    })
    .collect()
}

#[cfg(test)]
mod tests;
