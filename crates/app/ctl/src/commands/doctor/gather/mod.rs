//! Asks the cluster, the pods and the network, in the order of the walk. What cannot be asked is a fact too.

mod api;
mod network;
mod pods;
mod routes;

pub(super) use network::{Network, uri_trial};

use std::time::{SystemTime, UNIX_EPOCH};

use k8s_openapi::api::core::v1::{Event, Node, Secret, Service};
use stunner_api::NamespacedName;
use stunner_api::gateway::{Gateway, GatewayClass};
use stunner_api::v1::GatewayConfig;
use stunner_cluster::{Cds, CdsFlags, Cluster, ClusterError, ConfigId, Kind, Selection};
use stunner_config::Config;
use stunner_translate::auth_secret_problem;

use super::facts::{Asked, Facts, SecretFacts};
use super::judge::place;
use super::judge::provider::Provider;
use api::Reader;

/// What is asked, and how.
#[derive(Debug, Clone)]
pub(super) struct Wish {
    pub(super) controller: String,
    /// Only this listener.
    pub(super) listener: Option<String>,
    /// `None` to send nothing from here.
    pub(super) network: Option<Network>,
    pub(super) cds: CdsFlags,
}

/// The time of day in UNIX seconds.
pub(super) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
    })
}

/// The Gateways of a namespace, or of all, as far as they may be read.
pub(super) async fn gateways(cluster: &Cluster, namespace: Option<&str>) -> Asked<Vec<Gateway>> {
    let reader = Reader::new(cluster.objects());
    let all = Selection::default();
    reader.list(&Kind::of::<Gateway>(), namespace, all).await
}

/// The classes of a cluster, by which Gateways of others are told from ours.
pub(super) async fn classes(cluster: &Cluster) -> Asked<Vec<GatewayClass>> {
    let reader = Reader::new(cluster.objects());
    let all = Selection::default();
    reader.list(&Kind::of::<GatewayClass>(), None, all).await
}

/// Everything about one Gateway. `progress` is told what is being asked.
pub(super) async fn gather(
    cluster: &Cluster,
    name: &NamespacedName,
    wish: &Wish,
    progress: &mut dyn FnMut(&str),
) -> Facts {
    let reader = Reader::new(cluster.objects());
    progress(&format!(
        "{name}: reading the Gateway and what it refers to"
    ));
    let mut facts = Facts {
        now: now(),
        controller: wish.controller.clone(),
        name: name.clone(),
        only: wish.listener.clone(),
        no_network: wish.network.is_none(),
        gateway: reader
            .get(&Kind::of::<Gateway>(), Some(&name.namespace), &name.name)
            .await,
        ..Facts::default()
    };
    let Some(Some(gateway)) = facts.gateway.known().cloned() else {
        if let Asked::Known(all) = gateways(cluster, Some(&name.namespace)).await {
            let names = all.into_iter().filter_map(|gateway| gateway.metadata.name);
            facts.others = names.collect();
        }
        return facts;
    };
    parameters(&reader, &gateway, &mut facts).await;
    routes::routes(&reader, &mut facts).await;
    service(&reader, &mut facts).await;
    progress(&format!("{name}: asking config discovery and the pods"));
    facts.served = served(cluster, name, &wish.cds).await;
    pods::pods(cluster, &reader, &mut facts).await;
    if let Some(network) = &wish.network {
        trials(network, &gateway, &mut facts, progress).await;
    }
    facts
}

/// The class, the GatewayConfig that it names, and the Secret that this one names.
async fn parameters(reader: &Reader, gateway: &Gateway, facts: &mut Facts) {
    let classes = Kind::of::<GatewayClass>();
    facts.class = reader
        .get(&classes, None, &gateway.spec.gateway_class_name)
        .await;
    let class: Option<&GatewayClass> = facts.class.known().and_then(Option::as_ref);
    let Some(reference) = class.and_then(|class| class.spec.parameters_ref.as_ref()) else {
        return;
    };
    let namespace = reference.namespace.clone().unwrap_or_default();
    if namespace.is_empty() || reference.name.is_empty() {
        return;
    }
    let configs = Kind::of::<GatewayConfig>();
    facts.config = reader
        .get(&configs, Some(&namespace), &reference.name)
        .await;
    let config: Option<&GatewayConfig> = facts.config.known().and_then(Option::as_ref);
    let Some(spec) = config.map(|config| &config.spec) else {
        return;
    };
    let reference = spec
        .auth_ref
        .as_ref()
        .filter(|_| spec.stun_mode != Some(true));
    let Some(reference) = reference else {
        return;
    };
    let given = reference
        .namespace
        .clone()
        .filter(|given| !given.is_empty());
    let name = NamespacedName::new(given.unwrap_or(namespace), &reference.name);
    let secret: Asked<Option<Secret>> = reader
        .get(&Kind::of::<Secret>(), Some(&name.namespace), &name.name)
        .await;
    // Only what is wrong with it goes on.
    let problem = |secret: Secret| auth_secret_problem(&secret).map(|problem| problem.to_string());
    let found = secret.map(|secret| secret.map(problem));
    facts.secret = Some(SecretFacts { name, found });
}

/// The Service, what Kubernetes says about it, and where the cluster runs.
async fn service(reader: &Reader, facts: &mut Facts) {
    let NamespacedName { namespace, name } = &facts.name;
    let services = Kind::of::<Service>();
    facts.service = reader.get(&services, Some(namespace), name).await;
    let fields = format!("involvedObject.kind=Service,involvedObject.name={name},type=Warning");
    let events: Asked<Vec<Event>> = reader
        .list(
            &Kind::of::<Event>(),
            Some(namespace),
            Selection::fields(&fields),
        )
        .await;
    if let Asked::Known(mut events) = events {
        events.sort_by_key(|event| event.last_timestamp.as_ref().map(|time| time.0));
        facts.events = events.iter().filter_map(told).collect();
    }
    let nodes: Asked<Vec<Node>> = reader
        .list(&Kind::of::<Node>(), None, Selection::at_most(10))
        .await;
    if let Asked::Known(nodes) = nodes {
        facts.provider = nodes.iter().find_map(|node| {
            let spec = node.spec.as_ref();
            let id = spec.and_then(|spec| spec.provider_id.as_deref());
            Provider::of(id.unwrap_or_default(), node.metadata.name.as_deref()?)
        });
    }
}

fn told(event: &Event) -> Option<String> {
    let reason = event.reason.clone().unwrap_or_default();
    let message = event.message.as_ref()?;
    let message: String = message.split_whitespace().collect::<Vec<_>>().join(" ");
    Some(format!(
        "{reason}: {}",
        message.chars().take(300).collect::<String>()
    ))
}

async fn served(
    cluster: &Cluster,
    name: &NamespacedName,
    flags: &CdsFlags,
) -> Asked<Option<Config>> {
    let found = match &flags.address {
        Some(address) => Cds::direct(address, flags),
        None => Cds::discover(cluster, flags).await,
    };
    let cds = match found {
        Ok(cds) => cds.by("stunnerctl"),
        Err(error) => return failed(&error),
    };
    let id = match ConfigId::parse(&name.to_string()) {
        Ok(id) => id,
        Err(error) => return Asked::Failed(error.to_string()),
    };
    match cds.lookup(&id, None).await {
        Ok(None) => Asked::Known(None),
        Ok(Some(found)) => match found.config {
            Ok(config) => Asked::Known(Some(config)),
            Err(_) => Asked::Failed("this version cannot read the configuration".to_owned()),
        },
        Err(error) => failed(&error),
    }
}

fn failed<T>(error: &ClusterError) -> Asked<T> {
    match error {
        ClusterError::Forbidden {
            verb,
            resource,
            namespace,
            ..
        } => {
            let place = match namespace {
                Some(namespace) => format!("in namespace {namespace}"),
                None => "by a ClusterRole".to_owned(),
            };
            Asked::Forbidden {
                rule: format!("the verb `{verb}` on `{resource}` {place}"),
            }
        }
        error => Asked::Failed(error.to_string()),
    }
}

/// Tries every listener that has an address.
async fn trials(
    network: &Network,
    gateway: &Gateway,
    facts: &mut Facts,
    progress: &mut dyn FnMut(&str),
) {
    let config = facts.served.known().and_then(Option::as_ref);
    let inline = facts.config.known().and_then(Option::as_ref);
    let auth = config
        .map(|config| config.auth.method.clone())
        .or_else(|| network::inline(&inline?.spec));
    let mut trials = Vec::new();
    for listener in super::judge::wanted(facts, gateway) {
        let protocol = stunner_translate::listener_protocol(&listener.protocol);
        let Some((protocol, place)) = protocol.zip(place(facts, gateway, listener)) else {
            continue;
        };
        progress(&format!(
            "{}: trying listener {} at {}",
            facts.name, listener.name, place.host
        ));
        let peer = config
            .and_then(|config| network::peer(config, &format!("{}/{}", facts.name, listener.name)));
        trials.push(
            network
                .trial(
                    &listener.name,
                    protocol,
                    &place.host,
                    place.port,
                    auth.as_ref(),
                    peer,
                )
                .await,
        );
    }
    facts.trials = trials;
}
