//! Legacy mode: one ConfigMap per class, for dataplanes that the user runs.
//!
//! The ConfigMap has no owner: deleting the GatewayConfig must not take the configuration from those who serve by it.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use stunner_api::NamespacedName;
use stunner_api::gateway::GatewayClass;
use stunner_api::names::{self, annotation, label};
use stunner_api::v1::GatewayConfigSpec;
use stunner_config::{Auth, Config};

use crate::admin::{admin, make_way_for_listeners};
use crate::auth;
use crate::class::parameters;
use crate::gateway::{Served, config, serve};
use crate::last_good::EffectiveConfig;
use crate::ownership::class_is_ours;
use crate::plan::Workload;
use crate::settings::Settings;
use crate::snapshot::Snapshot;

/// The ConfigMap of a class. `None` leaves alone the one that may be there: it holds the last good configuration.
pub(crate) fn config_map(
    snapshot: &Snapshot,
    settings: &Settings,
    class: &GatewayClass,
) -> Option<Workload> {
    if clash(snapshot, settings, class).is_some() {
        return None;
    }
    let class_name = class.metadata.name.as_deref().unwrap_or_default();
    let served = served_gateways(snapshot, settings, class, class_name);
    let (effective, auth) = settings_of_class(snapshot, settings, class, &served)?;
    let (mut admin, _) = admin(
        names::LEGACY_DAEMON_NAME.to_owned(),
        &effective.spec,
        None,
        settings.mode,
    );
    // Each Gateway tells about itself.
    let _ = make_way_for_listeners(&mut admin, served.iter().flat_map(|s| &s.listeners));
    let config = Config {
        admin,
        auth,
        listeners: served.iter().flat_map(config::listeners).collect(),
        clusters: config::clusters(&served),
    };
    let data = BTreeMap::from([(
        names::LEGACY_CONFIG_KEY.to_owned(),
        config.to_json().to_string(),
    )]);
    Some(Workload::ConfigMap(Box::new(ConfigMap {
        metadata: ObjectMeta {
            name: Some(config_map_name(&effective.spec).to_owned()),
            namespace: Some(effective.namespace),
            labels: Some(BTreeMap::from([(
                label::OWNED_BY.to_owned(),
                label::OWNED_BY_VALUE.to_owned(),
            )])),
            annotations: Some(BTreeMap::from([(
                annotation::RELATED_GATEWAY.to_owned(),
                format!("/{class_name}"),
            )])),
            ..ObjectMeta::default()
        },
        data: Some(data),
        ..ConfigMap::default()
    })))
}

/// The class that writes the ConfigMap instead of this one, as a sentence: of several the first by name.
pub(crate) fn clash(
    snapshot: &Snapshot,
    settings: &Settings,
    class: &GatewayClass,
) -> Option<String> {
    let target = target(snapshot, class)?;
    let earlier = snapshot
        .classes
        .iter()
        .take_while(|(name, _)| Some(name.as_str()) != class.metadata.name.as_deref())
        .find(|(_, other)| {
            class_is_ours(settings, other)
                && self::target(snapshot, other).as_ref() == Some(&target)
        });
    earlier.map(|(winner, _)| {
        format!(
            "The ConfigMap {target} is written by GatewayClass {winner}; set another `stunnerConfig` in the GatewayConfig of this class."
        )
    })
}

fn target(snapshot: &Snapshot, class: &GatewayClass) -> Option<NamespacedName> {
    let config = parameters(snapshot, class).ok()?;
    let namespace = NamespacedName::of(&config.metadata).namespace;
    Some(NamespacedName::new(
        namespace,
        config_map_name(&config.spec),
    ))
}

fn config_map_name(config: &GatewayConfigSpec) -> &str {
    let name = config.stunner_config.as_deref();
    name.filter(|name| !name.is_empty())
        .unwrap_or(names::LEGACY_CONFIG_MAP)
}

/// The Gateways of the class that can be served, by name.
fn served_gateways<'a>(
    snapshot: &'a Snapshot,
    settings: &'a Settings,
    class: &GatewayClass,
    class_name: &str,
) -> Vec<Served<'a>> {
    let mut gateways: Vec<&NamespacedName> = snapshot.gateways_of_class(class_name).collect();
    gateways.sort();
    gateways
        .into_iter()
        .filter_map(|name| {
            let (name, gateway) = snapshot.gateways.get_key_value(name)?;
            serve(snapshot, settings, name, gateway, Some(class)).ok()
        })
        .collect()
}

/// The live GatewayConfig; where it is missing or broken, what the first Gateway falls back to.
fn settings_of_class(
    snapshot: &Snapshot,
    settings: &Settings,
    class: &GatewayClass,
    served: &[Served<'_>],
) -> Option<(EffectiveConfig, Auth)> {
    let live = parameters(snapshot, class).ok().and_then(|config| {
        let name = NamespacedName::of(&config.metadata);
        let spec = auth::resolve(snapshot, settings, &name, &config.spec)
            .ok()?
            .spec;
        let auth = auth::auth(&spec)?;
        let config = EffectiveConfig {
            namespace: name.namespace,
            name: name.name,
            spec,
        };
        Some((config, auth))
    });
    live.or_else(|| {
        let first = served.first()?;
        Some((first.inputs.config.clone(), first.inputs.auth.clone()))
    })
}

#[cfg(test)]
mod tests;
