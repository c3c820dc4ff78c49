//! The Kubernetes objects that give clusters and addresses their names, as far as they may be read.

use std::collections::{BTreeSet, HashMap};

use futures_util::future::join_all;
use serde_json::Value;
use stunner_api::NamespacedName;
use stunner_api::names::{self, ROUTE_VERSIONS};
use stunner_cluster::{Cluster, Kind, Selection};
use stunner_translate::overview::{Overview, overview};
use stunner_translate::{Object, ObjectKind, RouteKind, Settings, Snapshot, translate};

/// What is in the cluster.
#[derive(Debug, Default)]
pub(super) struct Objects {
    pub(super) snapshot: Snapshot,
    pub(super) overview: Overview,
    /// Kinds that could not be read, and why.
    pub(super) unread: Vec<(String, String)>,
}

/// A kind and where its objects are; of several versions the first that is served counts.
struct Wanted {
    kind: ObjectKind,
    group: &'static str,
    versions: &'static [&'static str],
    plural: &'static str,
    namespaced: bool,
}

const fn wanted(
    kind: ObjectKind,
    group: &'static str,
    versions: &'static [&'static str],
    plural: &'static str,
    namespaced: bool,
) -> Wanted {
    Wanted {
        kind,
        group,
        versions,
        plural,
        namespaced,
    }
}

const WANTED: &[Wanted] = &[
    wanted(
        ObjectKind::GatewayClass,
        names::GATEWAY_GROUP,
        &["v1"],
        "gatewayclasses",
        false,
    ),
    wanted(
        ObjectKind::Gateway,
        names::GATEWAY_GROUP,
        &["v1"],
        "gateways",
        true,
    ),
    wanted(
        ObjectKind::GatewayConfig,
        names::GROUP,
        &["v1"],
        "gatewayconfigs",
        true,
    ),
    wanted(
        ObjectKind::Route(RouteKind::Udp),
        names::GROUP,
        &["v1"],
        names::UDP_ROUTE_PLURAL,
        true,
    ),
    wanted(
        ObjectKind::Route(RouteKind::OfficialUdp),
        names::GATEWAY_GROUP,
        ROUTE_VERSIONS,
        names::UDP_ROUTE_PLURAL,
        true,
    ),
    wanted(
        ObjectKind::Route(RouteKind::OfficialTcp),
        names::GATEWAY_GROUP,
        ROUTE_VERSIONS,
        names::TCP_ROUTE_PLURAL,
        true,
    ),
    wanted(
        ObjectKind::StaticService,
        names::GROUP,
        &["v1"],
        "staticservices",
        true,
    ),
    wanted(ObjectKind::Service, "", &["v1"], "services", true),
    wanted(
        ObjectKind::EndpointSlice,
        "discovery.k8s.io",
        &["v1"],
        "endpointslices",
        true,
    ),
    wanted(ObjectKind::Namespace, "", &["v1"], "namespaces", false),
];

/// Reads what may be read: everywhere, else in the namespaces of these gateways (`namespace/name`).
pub(super) async fn read(cluster: &Cluster, gateways: &BTreeSet<&str>) -> Objects {
    let namespaces = gateways
        .iter()
        .filter_map(|gateway| gateway.split_once('/'));
    let namespaces: BTreeSet<&str> = namespaces.map(|(namespace, _)| namespace).collect();
    let read = WANTED
        .iter()
        .map(|wanted| of_kind(cluster, wanted, &namespaces));
    let mut objects = Objects::default();
    let mut controllers = Controllers::default();
    for (wanted, read) in WANTED.iter().zip(join_all(read).await) {
        match read {
            Ok(found) => {
                for object in found {
                    controllers.learn(&object);
                    objects.snapshot.apply(object);
                }
            }
            Err(why) => objects.unread.push((wanted.plural.to_owned(), why)),
        }
    }
    let mut settings = Settings::default();
    // They are served, so that whoever serves them is the operator, by whatever name.
    if let Some(controller) = gateways.iter().find_map(|gateway| controllers.of(gateway)) {
        settings.controller_name = controller;
    }
    let plan = translate(&objects.snapshot, &settings);
    objects.overview = overview(&objects.snapshot, &plan, &settings);
    objects
}

/// Who is responsible for a Gateway: the controller of its class.
#[derive(Debug, Default)]
struct Controllers {
    classes_by_gateway: HashMap<String, String>,
    controllers_by_class: HashMap<String, String>,
}

impl Controllers {
    fn learn(&mut self, object: &Object) {
        match object {
            Object::GatewayClass(class) => {
                let name = class.metadata.name.clone().unwrap_or_default();
                let controller = class.spec.controller_name.clone();
                self.controllers_by_class.insert(name, controller);
            }
            Object::Gateway(gateway) => {
                let name = NamespacedName::of(&gateway.metadata).to_string();
                let class = gateway.spec.gateway_class_name.clone();
                self.classes_by_gateway.insert(name, class);
            }
            _ => {}
        }
    }

    fn of(&self, gateway: &str) -> Option<String> {
        let class = self.classes_by_gateway.get(gateway)?;
        self.controllers_by_class.get(class).cloned()
    }
}

async fn of_kind(
    cluster: &Cluster,
    wanted: &Wanted,
    namespaces: &BTreeSet<&str>,
) -> Result<Vec<Object>, String> {
    let objects = cluster.objects();
    let all = Selection::default();
    let mut why = String::new();
    for version in wanted.versions {
        let name = wanted.kind.to_string();
        let kind = Kind::new(wanted.group, version, &name, wanted.plural);
        match objects.list(&kind, None, all).await {
            Ok(found) => return Ok(read_as(wanted.kind, found)),
            // Not served; another version may be, and where none is there is nothing to miss.
            Err(error) if error.is_not_found() => continue,
            Err(error) if error.is_forbidden() && wanted.namespaced => {
                let mut found = Vec::new();
                for namespace in namespaces {
                    let list = objects.list(&kind, Some(namespace), all).await;
                    found.extend(list.map_err(|error| error.to_string())?);
                }
                return Ok(read_as(wanted.kind, found));
            }
            Err(error) => why = error.to_string(),
        }
    }
    match why.is_empty() {
        true => Ok(Vec::new()),
        false => Err(why),
    }
}

/// Objects that cannot be understood are left out; the operator says on their status what is wrong.
fn read_as(kind: ObjectKind, found: Vec<Value>) -> Vec<Object> {
    let read = found.into_iter();
    read.filter_map(|value| Object::read(kind, value).ok())
        .collect()
}
