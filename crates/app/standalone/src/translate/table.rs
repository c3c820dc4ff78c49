//! The result as `kubectl get` would print it.

use stunner_translate::overview::{ConditionOverview, Overview};

const GAP: &str = "   ";
const NONE: &str = "<none>";

/// Classes, Gateways, listeners and routes with their conditions, and below them why a condition is not as wished.
pub fn table(overview: &Overview) -> String {
    let mut text = String::new();
    let mut reasons = Vec::new();

    let mut rows = Vec::new();
    for class in &overview.classes {
        let subject = format!("GatewayClass {}", class.name);
        explain(&mut reasons, &subject, &class.conditions);
        let parameters = class.parameters.as_ref().map_or_else(
            || NONE.to_owned(),
            |to| format!("{}/{}", to.namespace, to.name),
        );
        let accepted = state(&class.conditions, "Accepted");
        rows.push(vec![class.name.clone(), parameters, accepted]);
    }
    section(&mut text, &["CLASS", "PARAMETERS", "ACCEPTED"], rows);

    let mut rows = Vec::new();
    for gateway in &overview.gateways {
        explain(
            &mut reasons,
            &format!("Gateway {}", gateway.id),
            &gateway.conditions,
        );
        rows.push(vec![
            gateway.namespace.clone(),
            gateway.name.clone(),
            gateway.class.clone(),
            listed(gateway.addresses.iter().cloned()),
            state(&gateway.conditions, "Accepted"),
            state(&gateway.conditions, "Programmed"),
        ]);
    }
    let head = [
        "NAMESPACE",
        "GATEWAY",
        "CLASS",
        "ADDRESS",
        "ACCEPTED",
        "PROGRAMMED",
    ];
    section(&mut text, &head, rows);

    let mut rows = Vec::new();
    for gateway in &overview.gateways {
        for listener in &gateway.listeners {
            let subject = format!("listener {}", listener.id);
            explain(&mut reasons, &subject, &listener.conditions);
            rows.push(vec![
                gateway.namespace.clone(),
                gateway.name.clone(),
                listener.name.clone(),
                listener.protocol.clone(),
                listener.port.to_string(),
                listener.attached_routes.to_string(),
                state(&listener.conditions, "Accepted"),
                state(&listener.conditions, "Programmed"),
                state(&listener.conditions, "ResolvedRefs"),
            ]);
        }
    }
    let head = [
        "NAMESPACE",
        "GATEWAY",
        "LISTENER",
        "PROTOCOL",
        "PORT",
        "ROUTES",
        "ACCEPTED",
        "PROGRAMMED",
        "RESOLVEDREFS",
    ];
    section(&mut text, &head, rows);

    let mut rows = Vec::new();
    for route in &overview.routes {
        for parent in &route.parents {
            let subject = format!(
                "{} {}/{} at {}",
                route.kind, route.namespace, route.name, parent.gateway
            );
            explain(&mut reasons, &subject, &parent.conditions);
            let backends = route.backends.iter();
            rows.push(vec![
                route.namespace.clone(),
                route.name.clone(),
                format!("{}.{}", route.kind, route.group),
                match &parent.listener {
                    Some(listener) => format!("{}/{listener}", parent.gateway),
                    None => parent.gateway.clone(),
                },
                listed(backends.map(|to| format!("{}/{}", to.namespace, to.name))),
                state(&parent.conditions, "Accepted"),
                state(&parent.conditions, "ResolvedRefs"),
            ]);
        }
    }
    let head = [
        "NAMESPACE",
        "ROUTE",
        "KIND",
        "PARENT",
        "BACKENDS",
        "ACCEPTED",
        "RESOLVEDREFS",
    ];
    section(&mut text, &head, rows);

    if text.is_empty() {
        text.push_str("no GatewayClass, Gateway or route of ours\n");
    }
    if !reasons.is_empty() {
        text.push('\n');
        reasons.iter().for_each(|reason| text.push_str(reason));
    }
    text
}

fn listed(items: impl Iterator<Item = String>) -> String {
    let items: Vec<String> = items.collect();
    match items.is_empty() {
        true => NONE.to_owned(),
        false => items.join(","),
    }
}

fn state(conditions: &[ConditionOverview], kind: &str) -> String {
    let found = conditions.iter().find(|condition| condition.type_ == kind);
    found.map_or_else(|| NONE.to_owned(), |condition| condition.status.clone())
}

/// A line for each condition that is not as wished. Of conflicts none is wished for.
fn explain(lines: &mut Vec<String>, subject: &str, conditions: &[ConditionOverview]) {
    for condition in conditions {
        let wished = if condition.type_ == "Conflicted" {
            "False"
        } else {
            "True"
        };
        if condition.status != wished {
            lines.push(format!(
                "{subject}: {}={} ({}): {}\n",
                condition.type_, condition.status, condition.reason, condition.message
            ));
        }
    }
}

fn section(text: &mut String, head: &[&str], rows: Vec<Vec<String>>) {
    if rows.is_empty() {
        return;
    }
    if !text.is_empty() {
        text.push('\n');
    }
    let head: Vec<String> = head.iter().map(|&title| title.to_owned()).collect();
    let lines: Vec<&Vec<String>> = std::iter::once(&head).chain(&rows).collect();
    let width = |column: usize| {
        let cells = lines.iter().filter_map(|line| line.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    for line in &lines {
        let cells = line.iter().zip(&widths);
        let cells: Vec<String> = cells
            .map(|(cell, &width)| format!("{cell:width$}"))
            .collect();
        text.push_str(cells.join(GAP).trim_end());
        text.push('\n');
    }
}
