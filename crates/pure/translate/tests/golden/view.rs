//! A plan as text that people can review: nothing that changes by itself, nothing twice.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};
use stunner_translate::{Plan, RouteKind, Workload};

const PARTS: [&str; 7] = [
    "classes", "gateways", "routes", "configs", "services", "pods", "lastGood",
];

/// `shown` names parts of the plan; all are shown when it is empty.
pub fn text(plan: &Plan, shown: &BTreeSet<String>) -> String {
    for part in shown {
        assert!(PARTS.contains(&part.as_str()), "no part is called {part}");
    }
    let mut view = Map::new();
    for part in PARTS {
        if shown.is_empty() || shown.contains(part) {
            view.insert(part.to_owned(), part_of(plan, part));
        }
    }
    serde_saphyr::to_string(&Value::Object(view)).expect("a plan can be written")
}

fn part_of(plan: &Plan, part: &str) -> Value {
    match part {
        "classes" => classes(plan),
        "gateways" => gateways(plan),
        "routes" => routes(plan),
        "configs" => plan.configs().map(|(_, config)| config.to_json()).collect(),
        "services" => workloads(plan, |workload| matches!(workload, Workload::Service(_))),
        "pods" => json!({
            "objects": workloads(plan, |workload| !matches!(workload, Workload::Service(_))),
            "retired": retired(plan),
        }),
        _ => last_good(plan),
    }
}

fn classes(plan: &Plan) -> Value {
    let classes = plan.classes.iter();
    let classes = classes.map(|(name, class)| {
        let mut status = value(&class.status);
        condense(&mut status);
        (name.clone(), status)
    });
    Value::Object(classes.collect())
}

fn gateways(plan: &Plan) -> Value {
    let gateways = plan.gateways.iter();
    let gateways = gateways.map(|(name, gateway)| {
        let mut status = value(&gateway.status);
        condense(&mut status);
        for listener in items(&mut status, "listeners") {
            condense(listener);
            let kinds = listener["supportedKinds"].as_array().into_iter().flatten();
            let kinds: Vec<String> = kinds
                .map(|kind| {
                    let group = kind["group"].as_str().unwrap_or_default();
                    format!("{group}/{}", kind["kind"].as_str().unwrap_or_default())
                })
                .collect();
            listener["supportedKinds"] = Value::from(kinds.join(" "));
        }
        (name.to_string(), status)
    });
    Value::Object(gateways.collect())
}

fn routes(plan: &Plan) -> Value {
    let routes = plan.routes.iter();
    let routes = routes.map(|((kind, name), route)| {
        let kind = match kind {
            RouteKind::Udp => "UDPRoute",
            RouteKind::OfficialUdp => "official UDPRoute",
            RouteKind::OfficialTcp => "official TCPRoute",
        };
        let mut status = value(&route.status);
        for parent in items(&mut status, "parents") {
            condense(parent);
        }
        (format!("{kind} {name}"), status)
    });
    Value::Object(routes.collect())
}

fn workloads(plan: &Plan, shown: impl Fn(&Workload) -> bool) -> Value {
    let of_gateways = plan.gateways.values().flat_map(|plan| &plan.workloads);
    let of_classes = plan.classes.values().flat_map(|plan| &plan.workloads);
    of_gateways
        .chain(of_classes)
        .filter(|workload| shown(workload))
        .map(|workload| match workload {
            Workload::Service(object) => value(object),
            Workload::ConfigMap(object) => value(object),
            Workload::Deployment(object) => value(object),
            Workload::DaemonSet(object) => value(object),
        })
        .collect()
}

fn retired(plan: &Plan) -> Value {
    let retired = plan.gateways.iter().map(|(name, gateway)| {
        let kinds = gateway.retired.iter().map(|kind| format!("{kind:?}"));
        (name.to_string(), kinds.collect())
    });
    Value::Object(retired.collect())
}

fn last_good(plan: &Plan) -> Value {
    let last_good = plan.gateways.iter();
    let last_good = last_good.map(|(name, gateway)| (name.to_string(), value(&gateway.last_good)));
    Value::Object(last_good.collect())
}

fn items<'a>(holder: &'a mut Value, list: &str) -> impl Iterator<Item = &'a mut Value> {
    let list = holder.get_mut(list).and_then(Value::as_array_mut);
    list.into_iter().flatten()
}

fn value(object: &impl serde::Serialize) -> Value {
    serde_json::to_value(object).expect("objects can be written")
}

/// Puts each condition into one line, and the generation, which they share, beside them.
fn condense(holder: &mut Value) {
    let Some(conditions) = holder.get("conditions").and_then(Value::as_array) else {
        return;
    };
    let text =
        |condition: &Value, key: &str| condition[key].as_str().unwrap_or_default().to_owned();
    let generations: BTreeSet<Option<i64>> = conditions
        .iter()
        .map(|condition| condition["observedGeneration"].as_i64())
        .collect();
    let lines: Map<String, Value> = conditions
        .iter()
        .map(|condition| {
            let line = format!(
                "{} {}: {}",
                text(condition, "status"),
                text(condition, "reason"),
                text(condition, "message")
            );
            (text(condition, "type"), Value::from(line))
        })
        .collect();
    assert_eq!(lines.len(), conditions.len(), "a condition of each type");
    assert_eq!(generations.len(), 1, "conditions of one generation");
    holder["conditions"] = Value::Object(lines);
    holder["observedGeneration"] = json!(generations.first());
}
