//! Routes, what they name, and what is behind that.

use stunner_api::gateway::Gateway;

use super::{counted, listed, unknown, wanted};
use crate::commands::doctor::facts::{Asked, BackendState, Facts, RouteFacts, Routes};
use crate::commands::doctor::finding::{Finding, Hop};

pub(super) fn routes(facts: &Facts, gateway: &Gateway) -> Vec<Finding> {
    let routes = match &facts.routes {
        Asked::Known(routes) => routes,
        other => return vec![unknown(Hop::Route, other, "routes")],
    };
    if routes.ours.is_empty() {
        return vec![none(facts, routes)];
    }
    let mut findings: Vec<Finding> = Vec::new();
    let attached: Vec<String> = routes
        .ours
        .iter()
        .filter(|route| is_attached(route))
        .map(|route| route.id.clone())
        .collect();
    for route in routes.ours.iter().filter(|route| !is_attached(route)) {
        let what = match &route.accepted {
            Some(_) => format!("{} is not attached", route.id),
            None => format!("no operator has looked at {}", route.id),
        };
        // As long as another route is attached clients reach somebody.
        let finding = match attached.is_empty() {
            true => Finding::dead(Hop::Route, what),
            false => Finding::warn(Hop::Route, what),
        };
        let why = route.accepted.as_ref().map(|(_, message)| message.clone());
        let hint = match &route.accepted {
            Some(_) => "correct `parentRefs` of the route, or `allowedRoutes` of the listener",
            None => {
                "see whether the operator runs and what its log says: `kubectl get pods -A -l \
                 control-plane=stunner-gateway-operator-controller-manager`; a route that was made just now takes a second"
            }
        };
        findings.push(finding.why(why.unwrap_or_default()).hint(hint));
    }
    if !attached.is_empty() {
        findings.insert(
            0,
            Finding::ok(Hop::Route, format!("{} attached", listed(&attached))),
        );
        findings.extend(bare_listeners(facts, gateway));
    }
    findings
}

fn is_attached(route: &RouteFacts) -> bool {
    matches!(route.accepted, Some((true, _)))
}

fn none(facts: &Facts, routes: &Routes) -> Finding {
    let name = &facts.name;
    let why = match routes.elsewhere.as_slice() {
        [] => "clients can allocate, but are admitted to no peer".to_owned(),
        [(route, gateway), ..] => format!("{route} names Gateway {gateway} instead"),
    };
    let finding = match routes.unseen.as_slice() {
        [] => Finding::dead(Hop::Route, format!("no route names Gateway {name}")),
        // It may be where nobody let us look.
        unseen => Finding::skipped(
            Hop::Route,
            format!(
                "no route that can be read names Gateway {name}; not allowed: {}",
                listed(unseen)
            ),
        ),
    };
    finding.why(why).hint(format!(
        "create a UDPRoute (`stunner.l7mp.io/v1`) with `parentRefs: [{{name: {}, namespace: {}}}]` and the Services that clients are to reach as `backendRefs`",
        name.name, name.namespace
    ))
}

/// Listeners that no route is attached to while others have one.
fn bare_listeners(facts: &Facts, gateway: &Gateway) -> Option<Finding> {
    let status = gateway.status.as_ref()?;
    let bare: Vec<String> = wanted(facts, gateway)
        .filter(|listener| {
            let status = status.listeners.iter().find(|it| it.name == listener.name);
            status.is_some_and(|status| status.attached_routes == 0)
        })
        .map(|listener| format!("`{}`", listener.name))
        .collect();
    let finding = Finding::warn(
        Hop::Route,
        format!("no route is attached to {}", listed(&bare)),
    )
    .why("clients of such a listener can allocate, but are admitted to no peer")
    .hint(
        "remove `sectionName` and `port` from the route's parentRef, or add one for the listener",
    );
    (!bare.is_empty()).then_some(finding)
}

pub(super) fn backends(facts: &Facts) -> Vec<Finding> {
    let Some(routes) = facts
        .routes
        .known()
        .filter(|routes| !routes.ours.is_empty())
    else {
        return vec![Finding::skipped(
            Hop::Backend,
            "no route that would name one",
        )];
    };
    let mut findings = Vec::new();
    let mut found: Vec<String> = Vec::new();
    for backend in &facts.backends {
        match &backend.found {
            Asked::Known(Some(_)) => {
                push_new(&mut found, &backend.id);
            }
            Asked::Known(None) => findings.push(
                Finding::dead(Hop::Backend, format!("{} does not exist", backend.id))
                    .why(format!("{} names it in `backendRefs`", backend.route))
                    .hint(format!(
                        "create {}, or correct the route; mind the namespace",
                        backend.id
                    )),
            ),
            other => findings.push(unknown(Hop::Backend, other, &backend.id)),
        }
    }
    let is_told = !findings.is_empty();
    for route in &routes.ours {
        match &route.resolved {
            Some((false, message)) if !is_told => findings.push(
                Finding::dead(
                    Hop::Backend,
                    format!("{} has backends that cannot be used", route.id),
                )
                .why(message.clone())
                .hint("correct the backendRefs of the route as the message says"),
            ),
            _ if !route.has_backends => findings.push(
                Finding::dead(Hop::Backend, format!("{} has no backends", route.id))
                    .why("a route without backends admits clients to nobody")
                    .hint("name Services in `rules[].backendRefs`"),
            ),
            _ => {}
        }
    }
    if !found.is_empty() {
        findings.insert(0, Finding::ok(Hop::Backend, listed(&found)));
    }
    findings
}

pub(super) fn endpoints(facts: &Facts) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut seen: Vec<String> = Vec::new();
    for backend in &facts.backends {
        let Asked::Known(Some(state)) = &backend.found else {
            continue;
        };
        if !push_new(&mut seen, &backend.id) {
            continue;
        }
        let id = &backend.id;
        findings.push(match state {
            BackendState::Service { ready: 0, not_ready: 0 } => {
                Finding::dead(Hop::Endpoints, format!("{id} has no endpoints"))
                    .why("no pod matches its selector, or none runs")
                    .hint("compare the Service's selector with the labels of the pods (`kubectl get pods --show-labels`), and see whether they run")
            }
            BackendState::Service { ready: 0, not_ready } => {
                let are = if *not_ready == 1 { "is" } else { "are" };
                Finding::warn(Hop::Endpoints, format!("{id}: {} {are} not ready", counted(*not_ready, "endpoint")))
                    .why("they are admitted all the same, but may not answer")
                    .hint("see why the pods of the Service are not ready")
            }
            BackendState::Service { ready, not_ready } => {
                let rest = match not_ready {
                    0 => String::new(),
                    count => format!(", {count} not ready"),
                };
                Finding::ok(Hop::Endpoints, format!("{id}: {}{rest}", counted(*ready, "endpoint")))
            }
            BackendState::ExternalName(name) => Finding::ok(Hop::Endpoints, format!("{id} stands for {name}")),
            BackendState::Static { prefixes: 0 } => {
                Finding::dead(Hop::Endpoints, format!("{id} has no prefixes"))
                    .why("a StaticService without prefixes admits clients to nobody")
                    .hint("add addresses or prefixes such as 10.0.0.0/8 to `spec.prefixes`")
            }
            BackendState::Static { prefixes } => {
                let noun = if *prefixes == 1 { "prefix" } else { "prefixes" };
                Finding::ok(Hop::Endpoints, format!("{id}: {prefixes} {noun}"))
            }
        });
    }
    if findings.is_empty() {
        findings.push(Finding::skipped(
            Hop::Endpoints,
            "no backend that would have any",
        ));
    }
    findings
}

fn push_new(list: &mut Vec<String>, item: &str) -> bool {
    let is_new = !list.iter().any(|known| known == item);
    if is_new {
        list.push(item.to_owned());
    }
    is_new
}
