//! Annotations that steer STUNner.

use std::collections::BTreeMap;

use ipnet::IpNet;
use serde_json::Value;
use stunner_api::names::annotation;
use stunner_document::nearest;
use stunner_translate::Object;

use super::findings::Findings;
use super::world::{Owner, World};
use crate::problem::Fault;
use crate::reading::Manifest;

/// Of our own, written by the operator; found in what `kubectl get -o yaml` prints.
const WRITTEN_BY_US: &[&str] = &[
    annotation::RELATED_GATEWAY,
    annotation::DATAPLANE_REPLICAS,
    annotation::LAST_GOOD_GATEWAY,
    annotation::LAST_GOOD_GATEWAY_UID,
    annotation::LAST_GOOD_CONTROLLER,
];

const FLAGS: &[&str] = &[
    annotation::ENABLE_MIXED_PROTOCOL_LB,
    annotation::DISABLE_HEALTH_CHECK_EXPOSE,
    annotation::DISABLE_SESSION_AFFINITY,
    annotation::DISABLE_MANAGED_DATAPLANE,
    annotation::ENABLE_RELAY_ADDRESS_DISCOVERY,
];

/// What only the Gateway's own annotations say.
const OF_GATEWAYS_ONLY: &[&str] = &[
    annotation::DISABLE_MANAGED_DATAPLANE,
    annotation::ENABLE_RELAY_ADDRESS_DISCOVERY,
];

pub(super) fn check(world: &World<'_>, findings: &mut Findings<'_>, manifest: &Manifest) {
    let metadata = manifest.object.metadata().annotations.iter().flatten();
    let ours: Vec<(&String, &String)> = metadata
        .filter(|(name, _)| name.starts_with(annotation::PREFIX))
        .collect();
    let (listeners, of_config) = match &manifest.object {
        Object::Gateway(gateway) => {
            if matches!(world.owner(gateway), Owner::SomebodyElse) {
                return;
            }
            let names = gateway.spec.listeners.iter();
            let names: Vec<&str> = names.map(|listener| listener.name.as_str()).collect();
            (Some(names), None)
        }
        Object::GatewayConfig(config) => {
            (None, Some(&config.spec.load_balancer_service_annotations))
        }
        _ => (None, None),
    };
    let is_gateway = matches!(manifest.object, Object::Gateway(_));
    // The operator copies a Gateway's annotations to what it makes for it.
    let is_copy = ours
        .iter()
        .any(|(name, _)| *name == annotation::RELATED_GATEWAY);
    if is_copy && !is_gateway {
        return;
    }
    for (name, value) in ours {
        let mut at = At {
            findings,
            manifest,
            field: format!("metadata.annotations[{name}]"),
            name,
            value: value.trim(),
        };
        if !at.is_known() {
            continue;
        }
        if is_gateway {
            at.value(listeners.as_deref());
        } else {
            at.misplaced();
        }
    }
    for (name, value) in of_config.into_iter().flatten() {
        if !name.starts_with(annotation::PREFIX) {
            continue;
        }
        let mut at = At {
            findings,
            manifest,
            field: format!("spec.loadBalancerServiceAnnotations[{name}]"),
            name,
            value: value.trim(),
        };
        if at.is_known() {
            if OF_GATEWAYS_ONLY.contains(&name.as_str()) {
                at.misplaced();
            } else {
                at.value(None);
            }
        }
    }
}

/// One annotation.
struct At<'a, 'f> {
    findings: &'a mut Findings<'f>,
    manifest: &'a Manifest,
    field: String,
    name: &'a str,
    value: &'a str,
}

impl At<'_, '_> {
    fn is_known(&mut self) -> bool {
        if WRITTEN_BY_US.contains(&self.name) {
            return false;
        }
        let known: Vec<&str> = annotation::TABLE.iter().map(|entry| entry.name).collect();
        if known.contains(&self.name) {
            return true;
        }
        // Compared without the prefix, which is the longer half and always the same.
        let short = |name: &'static str| name.strip_prefix(annotation::PREFIX).unwrap_or(name);
        let known: Vec<&str> = annotation::TABLE
            .iter()
            .map(|entry| short(entry.name))
            .collect();
        let given = self
            .name
            .strip_prefix(annotation::PREFIX)
            .unwrap_or(self.name);
        let hint = match nearest(given, &known) {
            Some(near) => format!("did you mean `{}{near}`?", annotation::PREFIX),
            None => format!(
                "remove it; STUNner knows {}",
                known
                    .iter()
                    .map(|name| format!("`{name}`"))
                    .collect::<Vec<_>>()
                    .join(", ")
            ),
        };
        self.findings.warning(
            self.manifest,
            Fault::Annotation,
            &self.field,
            format!("STUNner knows no annotation `{}`", self.name),
            hint,
        );
        false
    }

    fn misplaced(&mut self) {
        let place = annotation::TABLE
            .iter()
            .find(|entry| entry.name == self.name)
            .map_or("Gateway", |entry| entry.place);
        let hint = match (place, &self.manifest.object) {
            ("Gateway", _) => "move it to the Gateway".to_owned(),
            (_, Object::GatewayConfig(_)) => {
                "move it to `spec.loadBalancerServiceAnnotations`, or to the Gateway".to_owned()
            }
            _ => "move it to the Gateway, or to `spec.loadBalancerServiceAnnotations` of the GatewayConfig".to_owned(),
        };
        self.findings.warning(
            self.manifest,
            Fault::Annotation,
            &self.field,
            format!("the annotation `{}` has no effect here", self.name),
            hint,
        );
    }

    fn error(&mut self, message: String, hint: String) {
        self.findings
            .error(self.manifest, Fault::Annotation, &self.field, message, hint);
    }

    fn value(&mut self, listeners: Option<&[&str]>) {
        match self.name {
            name if FLAGS.contains(&name) => self.one_of(&["true", "false"], false),
            annotation::SERVICE_TYPE => {
                self.one_of(&["LoadBalancer", "NodePort", "ClusterIP"], true);
            }
            annotation::EXTERNAL_TRAFFIC_POLICY => self.one_of(&["local", "cluster"], false),
            annotation::IP_FAMILY_POLICY => {
                self.one_of(
                    &["SingleStack", "PreferDualStack", "RequireDualStack"],
                    true,
                );
            }
            annotation::NODE_PORT | annotation::TARGET_PORT => self.ports(listeners),
            annotation::LOAD_BALANCER_SOURCE_RANGES => self.prefixes(),
            _ => {}
        }
    }

    fn one_of(&mut self, allowed: &[&str], case_matters: bool) {
        let value = self.value;
        let fits = |word: &&str| match case_matters {
            true => *word == value,
            false => word.eq_ignore_ascii_case(value),
        };
        if allowed.iter().any(fits) {
            return;
        }
        let hint = match nearest(value, allowed) {
            Some(near) => format!("did you mean `{near}`?"),
            None => {
                let words: Vec<String> = allowed.iter().map(|word| format!("`{word}`")).collect();
                format!("use {}", either(&words))
            }
        };
        self.error(
            format!("`{value}` is not a value of the annotation `{}`", self.name),
            hint,
        );
    }

    /// A JSON map from listener to port; the braces may be missing.
    fn ports(&mut self, listeners: Option<&[&str]>) {
        let example = format!(
            "write a map from listeners to ports, in quotes: '{{\"{}\": 30478}}'",
            listeners
                .and_then(|names| names.first())
                .unwrap_or(&"udp-listener")
        );
        let braced = match self.value.starts_with('{') {
            true => self.value.to_owned(),
            false => format!("{{{}}}", self.value),
        };
        let map: BTreeMap<String, Value> = match serde_json::from_str::<Value>(&braced) {
            Ok(Value::Object(map)) => map.into_iter().collect(),
            _ => {
                self.error(
                    format!(
                        "the value of the annotation `{}` is not a JSON map",
                        self.name
                    ),
                    example,
                );
                return;
            }
        };
        for (listener, port) in map {
            let Some(number) = port.as_i64() else {
                let what = match port {
                    Value::String(_) => "text",
                    _ => "no whole number",
                };
                self.error(
                    format!("the port of listener `{listener}` is {what}"),
                    example.clone(),
                );
                continue;
            };
            if !(0..=65535).contains(&number) {
                self.error(
                    format!("{number} is not a port"),
                    "use a number from 1 to 65535".to_owned(),
                );
            }
            self.listener(&listener, listeners);
        }
    }

    fn listener(&mut self, name: &str, listeners: Option<&[&str]>) {
        // The annotations of a GatewayConfig are for many Gateways.
        let Some(listeners) = listeners.filter(|names| !names.contains(&name)) else {
            return;
        };
        if self.findings.is_told(self.manifest, "spec.listeners") {
            return;
        }
        let hint = match nearest(name, listeners) {
            Some(near) => format!("did you mean `{near}`?"),
            None => {
                let names: Vec<String> = listeners.iter().map(|name| format!("`{name}`")).collect();
                format!("the Gateway has {}", names.join(", "))
            }
        };
        self.findings.warning(
            self.manifest,
            Fault::Annotation,
            &self.field,
            format!("the Gateway has no listener `{name}`"),
            hint,
        );
    }

    fn prefixes(&mut self) {
        let parts = self.value.split(',').map(str::trim);
        for part in parts.filter(|part| !part.is_empty()) {
            if part.parse::<IpNet>().is_err() {
                self.findings.error(
                    self.manifest,
                    Fault::Prefix,
                    &self.field,
                    format!("`{part}` is not a prefix"),
                    "write prefixes such as `192.0.2.0/24`, separated by commas",
                );
            }
        }
    }
}

/// `a, b or c`
fn either(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [many @ .., last] => format!("{} or {last}", many.join(", ")),
    }
}
