//! The GatewayClass, and the GatewayConfig that it names.

use stunner_api::gateway::{Gateway, GatewayClass};
use stunner_api::names::{self, condition as kind};
use stunner_api::v1::GatewayConfigSpec;
use stunner_translate::auth_problem;

use super::{find, is_false, is_true, unknown};
use crate::commands::doctor::facts::{Asked, Facts};
use crate::commands::doctor::finding::{Finding, Hop};

pub(super) fn class(facts: &Facts, gateway: &Gateway) -> Finding {
    let name = gateway.spec.gateway_class_name.as_str();
    let class = match &facts.class {
        Asked::Known(Some(class)) => class,
        Asked::Known(None) => {
            return Finding::dead(Hop::Class, format!("GatewayClass {name} does not exist"))
                .why(format!("Gateway {} names it in `spec.gatewayClassName`, and without a class no operator feels responsible", facts.name))
                .hint(format!(
                    "create GatewayClass {name} with `controllerName: {}`, or name an existing one in the Gateway (`kubectl get gatewayclass`)",
                    facts.controller
                ));
        }
        other => return unknown(Hop::Class, other, &format!("GatewayClass {name}")),
    };
    let status = class.status.as_ref();
    let conditions = status.map_or(&[] as &[_], |status| &status.conditions);
    let accepted = find(conditions, kind::ACCEPTED);
    let controller = class.spec.controller_name.as_str();
    if !is_ours(facts, class, is_true(accepted)) {
        return Finding::dead(
            Hop::Class,
            format!("GatewayClass {name} belongs to another controller, `{controller}`"),
        )
        .why(format!("the operator answers to `{}`", facts.controller))
        .hint(format!(
            "controllerName cannot be changed: delete GatewayClass {name} and create it with `controllerName: {}`, or give the operator's name with `--controller-name` if it runs under another",
            facts.controller
        ));
    }
    if is_true(accepted) {
        return Finding::ok(
            Hop::Class,
            format!("GatewayClass {name} is accepted by `{controller}`"),
        );
    }
    match accepted.filter(|_| is_false(accepted)) {
        // What is wrong with the parameters is said where they are: the walk ends one hop later.
        Some(said) if parameters_missing(facts) => Finding::warn(
            Hop::Class,
            format!("GatewayClass {name} is not accepted: {}", said.reason),
        ),
        Some(said) => Finding::dead(
            Hop::Class,
            format!("GatewayClass {name} is not accepted: {}", said.reason),
        )
        .why(said.message.clone())
        .hint(format!(
            "correct what the message names; `kubectl describe gatewayclass {name}` shows it too"
        )),
        None => Finding::dead(
            Hop::Class,
            format!("no operator has accepted GatewayClass {name}"),
        )
        .why(format!(
            "no operator that answers to `{controller}` has looked at it"
        ))
        .hint(format!(
            "see whether the operator runs (`kubectl get pods -A -l {}={}`) and what it logs",
            names::label::CONFIG_DISCOVERY,
            names::label::CONFIG_DISCOVERY_POD_VALUE
        )),
    }
}

/// An operator may run under a name of its own. One that bears our domain and has accepted the class is ours.
fn is_ours(facts: &Facts, class: &GatewayClass, is_accepted: bool) -> bool {
    let controller = class.spec.controller_name.as_str();
    let domain = names::CONTROLLER_NAME.split('/').next();
    controller == facts.controller || (is_accepted && controller.split('/').next() == domain)
}

fn parameters_missing(facts: &Facts) -> bool {
    let class = facts.class.known().and_then(Option::as_ref);
    class.is_some_and(|class| reference_problem(class).is_some())
        || matches!(facts.config, Asked::Known(None))
}

/// What is wrong with the reference itself.
fn reference_problem(class: &GatewayClass) -> Option<&'static str> {
    let Some(reference) = &class.spec.parameters_ref else {
        return Some("`spec.parametersRef` is missing");
    };
    let is = |given: &Option<String>, wanted: &str| given.as_deref().is_none_or(|it| it == wanted);
    if !is(&reference.group, names::GROUP) || !is(&reference.kind, names::GATEWAY_CONFIG_KIND) {
        return Some(
            "`spec.parametersRef` names another kind than a GatewayConfig of `stunner.l7mp.io`",
        );
    }
    let has_namespace = reference
        .namespace
        .as_deref()
        .is_some_and(|it| !it.is_empty());
    (!has_namespace || reference.name.is_empty())
        .then_some("`spec.parametersRef` lacks a name or a namespace")
}

pub(super) fn config(facts: &Facts) -> Finding {
    let Some(Some(class)) = facts.class.known() else {
        return Finding::skipped(Hop::Config, "no class that would name a GatewayConfig");
    };
    let class_name = class.metadata.name.as_deref().unwrap_or_default();
    if let Some(problem) = reference_problem(class) {
        return Finding::dead(Hop::Config, format!("GatewayClass {class_name} names no GatewayConfig"))
            .why(problem)
            .hint("set `parametersRef` to group `stunner.l7mp.io`, kind `GatewayConfig`, with the name and the namespace of one");
    }
    let reference = class.spec.parameters_ref.clone().unwrap_or_default();
    let name = format!(
        "{}/{}",
        reference.namespace.unwrap_or_default(),
        reference.name
    );
    let config = match &facts.config {
        Asked::Known(Some(config)) => config,
        Asked::Known(None) => {
            return Finding::dead(Hop::Config, format!("GatewayConfig {name} does not exist"))
                .why(format!("GatewayClass {class_name} names it in `spec.parametersRef`; it holds the credentials"))
                .hint(format!("create GatewayConfig {name}, or correct the class"));
        }
        other => return unknown(Hop::Config, other, &format!("GatewayConfig {name}")),
    };
    if let Some(problem) = auth_problem(&config.spec) {
        return Finding::dead(
            Hop::Config,
            format!("GatewayConfig {name} gives no credentials"),
        )
        .why(problem.to_string())
        .hint(format!(
            "correct it with `kubectl edit gatewayconfig -n {} {}`",
            config.metadata.namespace.as_deref().unwrap_or_default(),
            config.metadata.name.as_deref().unwrap_or_default()
        ));
    }
    secret(facts, &name, &config.spec)
}

fn secret(facts: &Facts, config: &str, spec: &GatewayConfigSpec) -> Finding {
    let Some(secret) = &facts.secret else {
        return Finding::ok(
            Hop::Config,
            format!("GatewayConfig {config}: {}", method(spec)),
        );
    };
    let name = &secret.name;
    match &secret.found {
        Asked::Known(Some(None)) => Finding::ok(
            Hop::Config,
            format!("GatewayConfig {config} with the credentials of Secret {name}"),
        ),
        Asked::Known(Some(Some(problem))) => {
            Finding::dead(Hop::Config, format!("Secret {name} of GatewayConfig {config} gives no credentials"))
                .why(problem.clone())
                .hint(format!("correct Secret {name}: keys `username` and `password`, or `type: ephemeral` and `secret`"))
        }
        Asked::Known(None) => {
            Finding::dead(Hop::Config, format!("Secret {name} of GatewayConfig {config} does not exist"))
                .why("it is named in `authRef`, which overrules the credentials inside the GatewayConfig")
                .hint(format!("create Secret {name} with the keys `username` and `password`, or correct `authRef`"))
        }
        // Reading Secrets is a right that few have and nobody needs for this: the operator's word will do.
        Asked::Forbidden { .. } | Asked::Failed(_) | Asked::Unasked => Finding::ok(
            Hop::Config,
            format!("GatewayConfig {config}; its Secret {name} cannot be read from here"),
        ),
    }
}

fn method(spec: &GatewayConfigSpec) -> &'static str {
    if spec.stun_mode == Some(true) {
        return "STUN only, no authentication";
    }
    match spec.auth_type.as_deref().map(str::trim) {
        Some(kind) if !["", "static", "plaintext"].contains(&kind) => "ephemeral credentials",
        _ => "static credentials",
    }
}
