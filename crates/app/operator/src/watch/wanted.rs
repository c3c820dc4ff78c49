//! Which watches there are to be.

use std::collections::BTreeMap;
use std::fmt;

use k8s_openapi::api::apps::v1::{DaemonSet, Deployment};
use k8s_openapi::api::core::v1::{ConfigMap, Endpoints, Namespace, Node, Secret, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::core::ApiResource;
use stunner_api::NamespacedName;
use stunner_api::gateway::{Gateway, GatewayClass};
use stunner_api::names::label;
use stunner_api::v1::{Dataplane, GatewayConfig, StaticService, UdpRoute};
use stunner_translate::{Mode, ObjectKind, ReferenceGrants, RouteKind};

use crate::cli::Options;
use crate::discovery::Served;

/// Names a watch. The smallest unit that is complete or not.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WatchKey {
    pub kind: ObjectKind,
    /// `None` looks at all namespaces, or at a kind that has none.
    pub namespace: Option<String>,
    /// `None` looks at all objects.
    pub name: Option<String>,
}

impl WatchKey {
    /// The Secret that is watched.
    pub fn secret(&self) -> Option<NamespacedName> {
        match (self.kind, &self.namespace, &self.name) {
            (ObjectKind::Secret, Some(namespace), Some(name)) => {
                Some(NamespacedName::new(namespace, name))
            }
            _ => None,
        }
    }
}

impl fmt::Display for WatchKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.namespace, &self.name) {
            (Some(namespace), Some(name)) => write!(f, "{} {namespace}/{name}", self.kind),
            (Some(namespace), None) => write!(f, "{} in namespace {namespace}", self.kind),
            (None, _) => write!(f, "{}", self.kind),
        }
    }
}

/// What it means when a watch is not permitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Nothing is translated without it.
    Required,
    /// We go on without it; the text says what is lost.
    Optional(&'static str),
}

/// How to watch.
#[derive(Debug, Clone, PartialEq)]
pub struct Wanted {
    pub resource: ApiResource,
    pub need: Need,
    pub labels: Option<String>,
}

/// A kind and where its objects live.
struct Kind {
    kind: ObjectKind,
    wanted: Wanted,
    namespaced: bool,
}

fn cluster_wide<K: kube::Resource<DynamicType = ()>>(kind: ObjectKind, need: Need) -> Kind {
    Kind {
        namespaced: false,
        ..namespaced::<K>(kind, need)
    }
}

fn namespaced<K: kube::Resource<DynamicType = ()>>(kind: ObjectKind, need: Need) -> Kind {
    discovered(kind, need, ApiResource::erase::<K>(&()))
}

/// Only the objects that we made.
fn ours<K: kube::Resource<DynamicType = ()>>(kind: ObjectKind) -> Kind {
    let mut kind = namespaced::<K>(kind, Need::Required);
    kind.wanted.labels = Some(format!("{}={}", label::OWNED_BY, label::OWNED_BY_VALUE));
    kind
}

fn discovered(kind: ObjectKind, need: Need, resource: ApiResource) -> Kind {
    Kind {
        kind,
        wanted: Wanted {
            resource,
            need,
            labels: None,
        },
        namespaced: true,
    }
}

fn kinds(options: &Options, served: &Served) -> Vec<Kind> {
    use Need::{Optional, Required};
    use ObjectKind as Of;
    let mut kinds = vec![
        cluster_wide::<GatewayClass>(Of::GatewayClass, Required),
        namespaced::<Gateway>(Of::Gateway, Required),
        namespaced::<GatewayConfig>(Of::GatewayConfig, Required),
        cluster_wide::<Dataplane>(Of::Dataplane, Required),
        namespaced::<UdpRoute>(Of::Route(RouteKind::Udp), Required),
        namespaced::<StaticService>(Of::StaticService, Required),
        namespaced::<Service>(Of::Service, Required),
        cluster_wide::<Namespace>(
            Of::Namespace,
            Optional("listeners that select routes by labels of their namespace admit none"),
        ),
        cluster_wide::<Node>(
            Of::Node,
            Optional(
                "a Gateway behind a NodePort has no public address, and relays on node addresses none",
            ),
        ),
        ours::<ConfigMap>(Of::ConfigMap),
    ];
    if options.mode == Mode::Managed {
        kinds.push(ours::<Deployment>(Of::Deployment));
        kinds.push(ours::<DaemonSet>(Of::DaemonSet));
    }
    if options.endpoint_discovery {
        kinds.push(match options.endpoint_slices {
            true => namespaced::<EndpointSlice>(Of::EndpointSlice, Required),
            false => namespaced::<Endpoints>(Of::Endpoints, Required),
        });
    }
    if let Some(resource) = &served.reference_grants {
        let need = match options.reference_grants {
            ReferenceGrants::Enforce => Required,
            ReferenceGrants::Allow => {
                Optional("status says of every reference across namespaces that it is not granted")
            }
        };
        kinds.push(discovered(Of::ReferenceGrant, need, resource.clone()));
    }
    if let Some(resource) = &served.udp_routes {
        let need = Optional("UDPRoutes of the Gateway API are ignored");
        kinds.push(discovered(
            Of::Route(RouteKind::OfficialUdp),
            need,
            resource.clone(),
        ));
    }
    if let Some(resource) = &served.tcp_routes {
        let need = Optional("TCPRoutes of the Gateway API are ignored");
        kinds.push(discovered(
            Of::Route(RouteKind::OfficialTcp),
            need,
            resource.clone(),
        ));
    }
    kinds
}

/// All watches but those of Secrets, which depend on what is found.
pub fn wanted(options: &Options, served: &Served) -> BTreeMap<WatchKey, Wanted> {
    let mut watches = BTreeMap::new();
    for Kind {
        kind,
        wanted,
        namespaced,
    } in kinds(options, served)
    {
        let mut add = |namespace: Option<String>| {
            let key = WatchKey {
                kind,
                namespace,
                name: None,
            };
            watches.insert(key, wanted.clone());
        };
        match namespaced && !options.watch_namespaces.is_empty() {
            true => options
                .watch_namespaces
                .iter()
                .for_each(|namespace| add(Some(namespace.clone()))),
            false => add(None),
        }
    }
    watches
}

/// The watch of one Secret by its name. One that may not be read counts as missing.
pub fn secret_watch(secret: &NamespacedName) -> (WatchKey, Wanted) {
    let key = WatchKey {
        kind: ObjectKind::Secret,
        namespace: Some(secret.namespace.clone()),
        name: Some(secret.name.clone()),
    };
    let wanted = Wanted {
        resource: ApiResource::erase::<Secret>(&()),
        need: Need::Optional("it counts as missing"),
        labels: None,
    };
    (key, wanted)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use kube::core::GroupVersionKind;
    use stunner_api::names;

    use super::*;
    use crate::cli::{Command, parse};

    fn options(line: &str) -> Options {
        let args = std::iter::once("operator").chain(line.split_whitespace());
        match parse(args.map(OsString::from), &|_| None) {
            Ok(Command::Run(options)) => *options,
            other => panic!("{line}: {other:?}"),
        }
    }

    fn watched(line: &str, served: &Served) -> Vec<String> {
        let watches = wanted(&options(line), served);
        watches.keys().map(ToString::to_string).collect()
    }

    fn has(watches: &[String], key: &str) -> bool {
        watches.iter().any(|watch| watch == key)
    }

    #[test]
    fn workloads_are_watched_by_our_label_only() {
        let watches = wanted(&options(""), &Served::default());
        for (key, wanted) in &watches {
            let workload = matches!(
                key.kind,
                ObjectKind::Deployment | ObjectKind::DaemonSet | ObjectKind::ConfigMap
            );
            assert_eq!(wanted.labels.is_some(), workload, "{key}");
        }
    }

    #[test]
    fn secrets_are_never_watched_as_a_kind() {
        let watches = wanted(&options(""), &Served::default());
        assert!(watches.keys().all(|key| key.kind != ObjectKind::Secret));
        let (key, _) = secret_watch(&NamespacedName::new("ns", "auth"));
        assert_eq!(key.to_string(), "Secret ns/auth");
        assert_eq!(key.secret(), Some(NamespacedName::new("ns", "auth")));
    }

    #[test]
    fn endpoints_come_from_one_place_or_from_none() {
        let none = Served::default();
        for (line, slices, endpoints) in [
            ("", true, false),
            ("--disable-endpointslice-controller", false, true),
            ("--endpoint-discovery=false", false, false),
        ] {
            let watches = watched(line, &none);
            assert_eq!(has(&watches, "EndpointSlice"), slices, "{line}");
            assert_eq!(has(&watches, "Endpoints"), endpoints, "{line}");
        }
    }

    #[test]
    fn legacy_mode_has_no_workloads_to_watch() {
        let watches = watched("--dataplane-mode=legacy", &Served::default());
        assert!(!has(&watches, "Deployment") && !has(&watches, "DaemonSet"));
        assert!(has(&watches, "ConfigMap") && has(&watches, "Service"));
    }

    #[test]
    fn with_namespaces_given_only_cluster_wide_kinds_are_looked_at_everywhere() {
        let watches = watched("--watch-namespaces=a,b", &Served::default());
        let everywhere: Vec<_> = watches
            .iter()
            .filter(|watch| !watch.contains("in namespace"))
            .collect();
        assert_eq!(
            everywhere,
            ["GatewayClass", "Dataplane", "Namespace", "Node"]
        );
        assert!(has(&watches, "Gateway in namespace a") && has(&watches, "Gateway in namespace b"));
    }

    #[test]
    fn what_is_served_is_watched_and_grants_are_needed_where_they_are_enforced() {
        let kind = |kind: &str| {
            let kind = GroupVersionKind::gvk(names::GATEWAY_GROUP, "v1", kind);
            Some(ApiResource::from_gvk(&kind))
        };
        let served = Served {
            gateways: true,
            tcp_routes: kind(names::TCP_ROUTE_KIND),
            reference_grants: kind(names::REFERENCE_GRANT_KIND),
            ..Served::default()
        };
        assert!(has(&watched("", &served), "TCPRoute"));
        assert!(!has(&watched("", &Served::default()), "TCPRoute"));
        for (line, required) in [("", false), ("--reference-grants=enforce", true)] {
            let watches = wanted(&options(line), &served);
            let grants = watches
                .iter()
                .find(|(key, _)| key.kind == ObjectKind::ReferenceGrant);
            let need = grants.map(|(_, wanted)| wanted.need);
            assert_eq!(need == Some(Need::Required), required, "{line}");
        }
    }
}
