//! The pods of a Gateway, and whether they run what they are told.

use serde_json::{Map, Value};
use stunner_api::gateway::Gateway;
use stunner_api::names::annotation;

use super::{counted, listed, unknown};
use crate::commands::doctor::facts::{Asked, Facts, PodFacts, WorkloadFacts};
use crate::commands::doctor::finding::{Finding, Hop};

pub(super) fn pods(facts: &Facts, gateway: &Gateway) -> Vec<Finding> {
    let pods = match &facts.pods {
        Asked::Known(pods) => pods,
        other => return vec![unknown(Hop::Pods, other, "the pods of the Gateway")],
    };
    let serving: Vec<&PodFacts> = pods.iter().filter(|pod| !pod.terminating).collect();
    if serving.is_empty() {
        return vec![none(facts, gateway, pods.len())];
    }
    let ready = serving.iter().filter(|pod| pod.ready).count();
    let all = serving.len();
    let draining = match all < pods.len() {
        true => format!(", {} being drained", pods.len() - all),
        false => String::new(),
    };
    if ready == all {
        let what = format!("{} ready{draining}", counted(ready, "pod"));
        return vec![Finding::ok(Hop::Pods, what)];
    }
    let what = format!("{ready} of {} ready{draining}", counted(all, "pod"));
    let finding = match ready {
        0 => Finding::dead(Hop::Pods, what),
        _ => Finding::warn(Hop::Pods, what),
    };
    let mut first = serving.iter().filter(|pod| !pod.ready);
    let first = first.next().map(|pod| (&pod.name, &pod.trouble));
    let (name, trouble) = first.unzip();
    let name = name.cloned().unwrap_or_default();
    let why = match trouble.and_then(Option::as_ref) {
        Some(trouble) => format!("{name}: {trouble}"),
        None => format!("{name} does not answer its readiness check, or has not been started"),
    };
    let namespace = &facts.name.namespace;
    vec![finding.why(why).hint(format!(
        "`kubectl describe pod -n {namespace} {name}` and `kubectl logs -n {namespace} {name}` say more"
    ))]
}

fn none(facts: &Facts, gateway: &Gateway, terminating: usize) -> Finding {
    let name = &facts.name;
    let annotations = gateway.metadata.annotations.as_ref();
    let own = annotations.and_then(|all| all.get(annotation::DISABLE_MANAGED_DATAPLANE));
    if own.is_some_and(|value| value.eq_ignore_ascii_case("true")) {
        return Finding::skipped(
            Hop::Pods,
            format!(
                "Gateway {name} brings pods of its own (`{}`)",
                annotation::DISABLE_MANAGED_DATAPLANE
            ),
        );
    }
    let finding = match terminating {
        0 => Finding::dead(Hop::Pods, format!("Gateway {name} has no pods")),
        _ => Finding::dead(
            Hop::Pods,
            format!("all pods of Gateway {name} are being drained"),
        ),
    };
    match &facts.workload {
        Asked::Known(Some(WorkloadFacts { id, wanted: 0, .. })) => finding
            .why(format!("{id} is scaled to 0"))
            .hint("scale it up, or set `spec.replicas` of the Dataplane"),
        Asked::Known(Some(WorkloadFacts { id, trouble, .. })) => finding
            .why(match trouble {
                Some(trouble) => format!("{id}: {trouble}"),
                None => format!("{id} exists, and nobody has made new pods for it"),
            })
            .hint("`kubectl describe` of it and of its ReplicaSet says what stands in the way, such as a quota or an admission policy"),
        Asked::Known(None) => finding
            .why("there is neither a Deployment nor a DaemonSet for it")
            .hint("see whether the operator runs, and what `kubectl describe gateway` says"),
        _ => finding
            .why("sessions go on until their pod ends, and nobody takes new ones")
            .hint("see `kubectl get deployments,daemonsets` in the Gateway's namespace"),
    }
}

/// Compares what pods say they run with what config discovery serves.
pub(super) fn sync(facts: &Facts) -> Vec<Finding> {
    let pods = facts.pods.known().map_or(&[] as &[_], Vec::as_slice);
    let asked: Vec<&PodFacts> = pods
        .iter()
        .filter(|pod| !pod.terminating && pod.ready)
        .collect();
    if asked.is_empty() {
        return vec![Finding::skipped(Hop::Sync, "no pod to ask what it runs")];
    }
    let served = match &facts.served {
        Asked::Known(Some(served)) => shape(&served.status_document()),
        Asked::Known(None) => {
            return vec![
                Finding::dead(Hop::Sync, "config discovery has no configuration for the Gateway")
                    .why("pods that start now get none and stay unready")
                    .hint("the status of the Gateway says why; if it says nothing, see the operator's log"),
            ];
        }
        other => {
            return vec![unknown(
                Hop::Sync,
                other,
                "the configuration from config discovery",
            )];
        }
    };
    if asked.iter().all(|pod| pod.status == Asked::Unasked) {
        let what = "the pods have no status page to ask (`disableHealthCheck` of the Dataplane)";
        return vec![Finding::skipped(Hop::Sync, what)];
    }
    let mut behind = Vec::new();
    let mut silent: Option<Finding> = None;
    for pod in &asked {
        match &pod.status {
            Asked::Known(status) => match shape(status) {
                Some(running) if Some(&running) != served.as_ref() => behind.push(pod.name.clone()),
                _ => {}
            },
            other => {
                silent = Some(unknown(
                    Hop::Sync,
                    other,
                    &format!("the status of pod {}", pod.name),
                ))
            }
        }
    }
    let mut findings = Vec::new();
    if !behind.is_empty() {
        let are = if behind.len() == 1 { "runs" } else { "run" };
        findings.push(
            Finding::warn(Hop::Sync, format!("{} {are} an older configuration", listed(&behind)))
                .why("what config discovery serves has not arrived there")
                .hint("wait a moment; if this stays, the pod cannot reach config discovery or refuses the configuration: see its log"),
        );
    } else if silent.is_none() {
        let what = match asked.len() {
            1 => "the pod runs what config discovery serves".to_owned(),
            count => format!("{count} pods run what config discovery serves"),
        };
        findings.push(Finding::ok(Hop::Sync, what));
    }
    findings.extend(silent);
    findings
}

/// What two status documents must agree in: all but counters, addresses, which are the pod's own, and what is masked.
/// `None` for a document of another form, such as that of the Go dataplane.
fn shape(status: &Value) -> Option<Value> {
    // A process with several Gateways answers with a list.
    let status = match status {
        Value::Array(documents) => documents.first()?,
        document => document,
    };
    let list = |key: &str| {
        let items = match status.get(key) {
            None | Some(Value::Null) => return Some(Vec::new()),
            Some(items) => items.as_array()?,
        };
        items
            .iter()
            .map(|item| item.as_object().map(plain))
            .collect::<Option<Vec<_>>>()
    };
    let auth = status.get("auth")?.as_object()?;
    let mut shape = Map::new();
    shape.insert(
        "realm".to_owned(),
        auth.get("realm").cloned().unwrap_or_default(),
    );
    shape.insert(
        "auth".to_owned(),
        auth.get("type").cloned().unwrap_or_default(),
    );
    shape.insert("listeners".to_owned(), Value::Array(list("listeners")?));
    shape.insert("clusters".to_owned(), Value::Array(list("clusters")?));
    Some(Value::Object(shape))
}

fn plain(item: &Map<String, Value>) -> Value {
    let kept = item
        .iter()
        .filter(|(key, _)| !["stats", "address"].contains(&key.as_str()));
    Value::Object(
        kept.map(|(key, value)| (key.clone(), value.clone()))
            .collect(),
    )
}
