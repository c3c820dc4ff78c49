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
    if settings.mode == Mode::Legacy
        && let Some(clash) = class.and_then(|class| legacy::clash(snapshot, settings, class))
    {
        // Whatever could be served would be written nowhere.
        return Err(vec![clash]);
    }
    let mut search = Search {
        snapshot,
        settings,
        last_good,
        problems: Vec::new(),
        notices: Vec::new(),
    };
    let found = search.config(gateway, class);
    // The Dataplane is looked for even without credentials, so that everything is reported at once.
    let dataplane = match &found {
        Found::Complete(config) | Found::WithoutCredentials(config) => search.template(config),
        Found::Nothing => last_good.map_or(Template::Nothing, |good| search.template(&good.config)),
    };
    let Search {
        problems, notices, ..
    } = search;
    let Some((config, auth)) = found.completed(last_good) else {
        return Err(problems);
    };
    let needs_pods = settings.mode == Mode::Managed;
    if needs_pods && dataplane == Template::Nothing && last_good.is_none() {
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

/// What there is of the live GatewayConfig.
enum Found {
    Complete(EffectiveConfig),
    WithoutCredentials(EffectiveConfig),
    Nothing,
}

impl Found {
    /// With what is missing filled in from the last good.
    fn completed(self, last_good: Option<&LastGood>) -> Option<(EffectiveConfig, Auth)> {
        let config = match self {
            Found::Complete(live) => live,
            Found::WithoutCredentials(live) => EffectiveConfig {
                spec: auth::substitute(&live.spec, &last_good?.config.spec),
                ..live
            },
            Found::Nothing => last_good?.config.clone(),
        };
        let auth = auth::auth(&config.spec)?;
        Some((config, auth))
    }
}

/// Looks for the inputs and notes what it meets.
struct Search<'a> {
    snapshot: &'a Snapshot,
    settings: &'a Settings,
    last_good: Option<&'a LastGood>,
    problems: Vec<String>,
    notices: Vec<String>,
}

impl Search<'_> {
    fn config(&mut self, gateway: &Gateway, class: Option<&GatewayClass>) -> Found {
        let Some(class) = class else {
            self.problems.push(format!(
                "The GatewayClass {} does not exist; create it, or change `spec.gatewayClassName`.",
                gateway.spec.gateway_class_name
            ));
            return Found::Nothing;
        };
        let config = match parameters(self.snapshot, class) {
            Ok(config) => config,
            Err(error) => {
                self.problems.push(parameters_problem(class, &error));
                return Found::Nothing;
            }
        };
        let name = NamespacedName::of(&config.metadata);
        let effective = |spec| EffectiveConfig {
            namespace: name.namespace.clone(),
            name: name.name.clone(),
            spec,
        };
        match auth::resolve(self.snapshot, self.settings, &name, &config.spec) {
            Ok(resolved) => {
                self.notices.extend(resolved.notice);
                Found::Complete(effective(resolved.spec))
            }
            Err(error) => {
                self.problems
                    .push(format!("GatewayConfig {name} cannot be used: {error}."));
                Found::WithoutCredentials(effective(config.spec.clone()))
            }
        }
    }

    fn template(&mut self, config: &EffectiveConfig) -> Template {
        if self.settings.mode == Mode::Legacy {
            return Template::Nothing;
        }
        let wanted = dataplane_name(&config.spec);
        if let Some(dataplane) = self.snapshot.dataplanes.get(wanted) {
            return Template::Named(wanted.to_owned(), dataplane.spec.clone());
        }
        let missing = || {
            missing_dataplane(
                wanted,
                &NamespacedName::new(&config.namespace, &config.name),
            )
        };
        let good = self.last_good.and_then(|good| good.dataplane.as_ref());
        if let Some((name, spec)) = good {
            self.problems.push(missing());
            return Template::Named(name.clone(), spec.clone());
        }
        if wanted == names::DEFAULT_DATAPLANE {
            self.notices.push(format!(
                "There is no Dataplane {wanted}, so the pods are made from built-in defaults; create it to change them."
            ));
            return Template::BuiltIn(DataplaneSpec::default());
        }
        self.problems.push(missing());
        Template::Nothing
    }
}

#[cfg(test)]
mod tests;
