//! Conditions that changed.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde::Serialize;
use stunner_api::NamespacedName;
use stunner_api::names::{condition, reason};
use stunner_translate::{Plan, Unit};

/// Which condition of what.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Subject {
    pub kind: &'static str,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    pub name: String,
    /// The listener of a Gateway, or the parent of a route.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    #[serde(rename = "type")]
    pub condition: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Said {
    status: String,
    reason: String,
    message: String,
}

/// A condition that says something else than before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Flip {
    #[serde(flatten)]
    pub subject: Subject,
    /// `None` when there was no such condition.
    pub was: Option<String>,
    pub status: String,
    pub reason: String,
    pub message: String,
}

pub(super) type Conditions = BTreeMap<Subject, Said>;

/// All conditions of a unit.
pub(super) fn of(plan: &Plan, unit: &Unit) -> Conditions {
    let mut all = Conditions::new();
    let mut add = |kind, namespace: &str, name: &str, part: Option<&str>, list: &[Condition]| {
        for condition in list {
            let subject = Subject {
                kind,
                namespace: namespace.to_owned(),
                name: name.to_owned(),
                part: part.map(str::to_owned),
                condition: condition.type_.clone(),
            };
            let said = Said {
                status: condition.status.clone(),
                reason: condition.reason.clone(),
                message: condition.message.clone(),
            };
            all.insert(subject, said);
        }
    };
    match unit {
        Unit::Class(name) => {
            if let Some(class) = plan.classes.get(name) {
                add("GatewayClass", "", name, None, &class.status.conditions);
            }
        }
        Unit::Gateway(name) => {
            let gateway = plan.gateways.get(name);
            if let Some(status) = gateway.and_then(|gateway| gateway.status.as_ref()) {
                let (namespace, name) = (&name.namespace, &name.name);
                add("Gateway", namespace, name, None, &status.conditions);
                for listener in &status.listeners {
                    let part = Some(listener.name.as_str());
                    add("Gateway", namespace, name, part, &listener.conditions);
                }
            }
        }
        Unit::Route(kind, name) => {
            if let Some(route) = plan.routes.get(&(*kind, name.clone())) {
                for parent in &route.status.parents {
                    let part = parent_name(&name.namespace, &parent.parent_ref);
                    add(
                        kind.as_str(),
                        &name.namespace,
                        &name.name,
                        Some(&part),
                        &parent.conditions,
                    );
                }
            }
        }
    }
    all
}

fn parent_name(namespace: &str, parent: &stunner_api::gateway::ParentRef) -> String {
    let namespace = parent.namespace.as_deref().unwrap_or(namespace);
    let mut name = format!("{namespace}/{}", parent.name);
    if let Some(section) = &parent.section_name {
        name.push('/');
        name.push_str(section);
    }
    name
}

/// What is new or says something else; what went with its object is told with the object. A message that changes while
/// all is well, such as a number in it, is no news.
pub(super) fn flips(before: Conditions, after: Conditions) -> Vec<Flip> {
    let mut flips = Vec::new();
    for (subject, said) in after {
        let was = before.get(&subject);
        let same = was.is_some_and(|was| {
            was.status == said.status && was.reason == said.reason && {
                let is_good = is_good(&subject.condition, &said.status);
                is_good || was.message == said.message
            }
        });
        if !same {
            flips.push(Flip {
                was: was.map(|was| was.status.clone()),
                subject,
                status: said.status,
                reason: said.reason,
                message: said.message,
            });
        }
    }
    flips
}

/// The conditions of classes and routes that are not as they should be; those of Gateways are told with them.
pub fn unmet(plan: &Plan) -> Vec<Flip> {
    let classes = plan.classes.keys().cloned().map(Unit::Class);
    let routes = plan.routes.keys();
    let routes = routes.map(|(kind, name)| Unit::Route(*kind, name.clone()));
    let mut unmet = Vec::new();
    for unit in classes.chain(routes) {
        let mut found = flips(Conditions::new(), of(plan, &unit));
        found.retain(|flip| !is_good(&flip.subject.condition, &flip.status));
        unmet.append(&mut found);
    }
    unmet
}

/// A Gateway that nobody here serves, in the words of the Gateway API: its `Accepted` waits for a controller.
pub fn unattended(gateway: &NamespacedName, class: &str) -> Flip {
    Flip {
        subject: Subject {
            kind: "Gateway",
            namespace: gateway.namespace.clone(),
            name: gateway.name.clone(),
            part: None,
            condition: condition::ACCEPTED.to_owned(),
        },
        was: None,
        status: condition::UNKNOWN.to_owned(),
        reason: reason::PENDING.to_owned(),
        message: format!(
            "Nobody serves it: the GatewayClass `{class}` is not in the manifests, or is another controller's; add it with `controllerName: {}`.",
            stunner_api::names::CONTROLLER_NAME
        ),
    }
}

/// Of a conflict the absence is good.
pub fn is_good(condition: &str, status: &str) -> bool {
    let wanted = match condition {
        condition::CONFLICTED => "False",
        _ => "True",
    };
    status == wanted
}
