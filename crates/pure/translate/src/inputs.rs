//! What a Gateway runs on: each input live, or the last good one while its source is missing or broken.

use stunner_api::NamespacedName;
use stunner_api::gateway::{Gateway, GatewayClass};
use stunner_api::names;
use stunner_api::v1::DataplaneSpec;
use stunner_config::Auth;

use crate::auth;
use crate::class::{dataplane_name, missing_dataplane, parameters, parameters_problem};
use crate::last_good::{EffectiveConfig, LastGood};
use crate::legacy;
use crate::settings::{Mode, Settings};
use crate::snapshot::Snapshot;

/// Enough to serve a Gateway.
#[derive(Debug)]
pub(crate) struct Inputs {
    pub(crate) config: EffectiveConfig,
    pub(crate) auth: Auth,
    pub(crate) dataplane: Template,
    /// Sentences about sources that are missing or broken, for which the last good is served.
    pub(crate) problems: Vec<String>,
    /// Sentences about what is worth knowing though nothing is wrong.
    pub(crate) notices: Vec<String>,
}

/// What pods are made from.
#[derive(Debug, PartialEq)]
pub(crate) enum Template {
    /// A Dataplane by name, live or last good.
    Named(String, DataplaneSpec),
    /// There is no Dataplane `default` and never was one.
    BuiltIn(DataplaneSpec),
    /// No pods: legacy mode, or the Dataplane is missing and nothing is known to fall back to.
    Nothing,
}

impl Template {
    pub(crate) fn spec(&self) -> Option<&DataplaneSpec> {
        match self {
            Template::Named(_, spec) | Template::BuiltIn(spec) => Some(spec),
            Template::Nothing => None,
        }
    }
}

/// Sentences about what keeps a Gateway from being served at all.
pub(crate) type Unserved = Vec<String>;

/// The inputs of a Gateway. `class` is `None` when it does not exist any more.
pub(crate) fn inputs(
    snapshot: &Snapshot,
    settings: &Settings,
    gateway: &Gateway,
    class: Option<&GatewayClass>,
    last_good: Option<&LastGood>,
) -> Result<Inputs, Unserved> {
    let mut problems = Vec::new();
    let mut notices = Vec::new();
    if settings.mode == Mode::Legacy
        && let Some(clash) = class.and_then(|class| legacy::clash(snapshot, settings, class))
    {
        // Nothing that could be served ends up anywhere.
        return Err(vec![clash]);
    }
    let config = live_config(
        snapshot,
        settings,
        gateway,
        class,
        &mut problems,
        &mut notices,
    );
    let config = config.or_else(|partial| last_good.map(|good| fall_back(partial, good)).ok_or(()));
    // The Dataplane is looked at even without credentials, so that everything is reported at once.
    let config = match config {
        Ok(config) => config,
        Err(()) => {
            if let Some(config) = class.and_then(|class| parameters(snapshot, class).ok()) {
                let name = NamespacedName::of(&config.metadata);
                let wanted = dataplane_name(&config.spec);
                let _ = template(
                    snapshot,
                    settings,
                    wanted,
                    &name,
                    None,
                    &mut problems,
                    &mut notices,
                );
            }
            return Err(problems);
        }
    };
    let Some(auth) = auth::auth(&config.spec) else {
        return Err(problems);
    };
    let config_name = NamespacedName::new(&config.namespace, &config.name);
    let dataplane = template(
        snapshot,
        settings,
        dataplane_name(&config.spec),
        &config_name,
        last_good,
        &mut problems,
        &mut notices,
    );
    let is_new = last_good.is_none();
    if settings.mode == Mode::Managed && dataplane == Template::Nothing && is_new {
        return Err(problems);
    }
    Ok(Inputs {
        config,
        auth,
        dataplane,
        problems,
        notices,
    })
}

/// The live GatewayConfig with its credentials, or what there is of it.
fn live_config(
    snapshot: &Snapshot,
    settings: &Settings,
    gateway: &Gateway,
    class: Option<&GatewayClass>,
    problems: &mut Vec<String>,
    notices: &mut Vec<String>,
) -> Result<EffectiveConfig, Option<EffectiveConfig>> {
    let Some(class) = class else {
        problems.push(format!(
            "The GatewayClass {} does not exist; create it, or change `spec.gatewayClassName`.",
            gateway.spec.gateway_class_name
        ));
        return Err(None);
    };
    let config = match parameters(snapshot, class) {
        Ok(config) => config,
        Err(error) => {
            problems.push(parameters_problem(class, &error));
            return Err(None);
        }
    };
    let name = NamespacedName::of(&config.metadata);
    let effective = |spec| EffectiveConfig {
        namespace: name.namespace.clone(),
        name: name.name.clone(),
        spec,
    };
    match auth::resolve(snapshot, settings, &name, &config.spec) {
        Ok(resolved) => {
            notices.extend(resolved.notice);
            Ok(effective(resolved.spec))
        }
        Err(error) => {
            problems.push(format!("GatewayConfig {name} cannot be used: {error}."));
            Err(Some(effective(config.spec.clone())))
        }
    }
}

fn fall_back(partial: Option<EffectiveConfig>, good: &LastGood) -> EffectiveConfig {
    match partial {
        Some(live) => EffectiveConfig {
            spec: auth::substitute(&live.spec, &good.config.spec),
            ..live
        },
        None => good.config.clone(),
    }
}

fn template(
    snapshot: &Snapshot,
    settings: &Settings,
    wanted: &str,
    config: &NamespacedName,
    last_good: Option<&LastGood>,
    problems: &mut Vec<String>,
    notices: &mut Vec<String>,
) -> Template {
    if settings.mode == Mode::Legacy {
        return Template::Nothing;
    }
    if let Some(dataplane) = snapshot.dataplanes.get(wanted) {
        return Template::Named(wanted.to_owned(), dataplane.spec.clone());
    }
    let good = last_good.and_then(|good| good.dataplane.as_ref());
    if let Some((name, spec)) = good {
        problems.push(missing_dataplane(wanted, config));
        return Template::Named(name.clone(), spec.clone());
    }
    if wanted == names::DEFAULT_DATAPLANE {
        notices.push(format!(
            "There is no Dataplane {wanted}, so the pods are made from built-in defaults; create it to change them."
        ));
        return Template::BuiltIn(DataplaneSpec::default());
    }
    problems.push(missing_dataplane(wanted, config));
    Template::Nothing
}

#[cfg(test)]
mod tests;
