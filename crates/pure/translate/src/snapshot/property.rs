//! Incremental translation equals whole translation, whatever happens in whatever order.

use proptest::prelude::*;

use super::manifest::{self, object, objects};
use super::*;
use crate::key::{Object, ObjectKey, RouteKind};
use crate::plan::Plan;
use crate::settings::{Mode, ReferenceGrants, Settings};
use crate::translate::{translate, translate_units};

/// Something to begin with, in which much depends on much; every step takes it apart or adds to it.
const BEGINNING: &str = "
{kind: GatewayClass, metadata: {name: a}, spec: {controllerName: stunner.l7mp.io/gateway-operator,
  parametersRef: {group: stunner.l7mp.io, kind: GatewayConfig, namespace: a, name: a}}}
---
{kind: GatewayClass, metadata: {name: b}, spec: {controllerName: stunner.l7mp.io/gateway-operator,
  parametersRef: {group: stunner.l7mp.io, kind: GatewayConfig, namespace: a, name: b}}}
---
{kind: GatewayConfig, metadata: {namespace: a, name: a, uid: u}, spec: {userName: u, password: p}}
---
{kind: GatewayConfig, metadata: {namespace: a, name: b, uid: u},
  spec: {dataplane: a, stunnerConfig: other, authRef: {namespace: b, name: a}}}
---
{kind: Secret, metadata: {namespace: b, name: a, uid: u}, data: {username: dQ==, password: cA==}}
---
{kind: Dataplane, metadata: {name: default}, spec: {}}
---
{kind: Dataplane, metadata: {name: a}, spec: {}}
---
{kind: Gateway, metadata: {namespace: a, name: a, uid: u}, spec: {gatewayClassName: a, listeners: [
  {name: x, protocol: UDP, port: 1, allowedRoutes: {namespaces: {from: All}}}]}}
---
{kind: Gateway, metadata: {namespace: b, name: b, uid: u}, spec: {gatewayClassName: b, listeners: [
  {name: x, protocol: UDP, port: 1, allowedRoutes: {namespaces: {from: Selector, selector: {matchLabels: {tier: media}}}}}]}}
---
{kind: Service, metadata: {namespace: a, name: a, uid: u, annotations: {stunner.l7mp.io/related-gateway-name: a/a},
  labels: {stunner.l7mp.io/owned-by: stunner},
  ownerReferences: [{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, name: a, uid: u}]},
  spec: {type: LoadBalancer, clusterIP: 10.96.0.1, ports: [{name: x, port: 1, protocol: UDP, nodePort: 30001}]}}
---
{kind: UDPRoute, apiVersion: stunner.l7mp.io/v1, metadata: {namespace: a, name: a, uid: u}, spec: {
  parentRefs: [{name: a}, {namespace: b, name: b}], rules: [{backendRefs: [{name: a}, {namespace: b, name: b}]}]}}
---
{kind: TCPRoute, metadata: {namespace: a, name: b, uid: u}, spec: {
  parentRefs: [{name: a}], rules: [{backendRefs: [{namespace: b, name: b}]}]}}
---
{kind: Service, metadata: {namespace: b, name: b, uid: u}, spec: {type: ClusterIP, clusterIP: 10.96.0.2}}
";

/// A small world, so that objects meet.
const NAMES: [&str; 2] = ["a", "b"];

fn name() -> impl Strategy<Value = &'static str> {
    prop::sample::select(NAMES.to_vec())
}

fn one_of(texts: &[&'static str]) -> impl Strategy<Value = &'static str> + use<> {
    prop::sample::select(texts.to_vec())
}

fn parents() -> impl Strategy<Value = String> {
    let parent = (
        name(),
        name(),
        one_of(&["", ", sectionName: x", ", port: 2", ", kind: Service"]),
    )
        .prop_map(|(namespace, name, more)| {
            format!("{{namespace: {namespace}, name: {name}{more}}}")
        });
    prop::collection::vec(parent, 0..3).prop_map(|parents| parents.join(", "))
}

fn backends() -> impl Strategy<Value = String> {
    let backend = (
        name(),
        name(),
        one_of(&[
            "",
            ", port: 9",
            ", endPort: 9",
            ", group: stunner.l7mp.io, kind: StaticService",
        ]),
    )
        .prop_map(|(namespace, name, more)| {
            format!("{{namespace: {namespace}, name: {name}{more}}}")
        });
    prop::collection::vec(backend, 0..3).prop_map(|backends| backends.join(", "))
}

fn manifest() -> impl Strategy<Value = String> {
    let meta = || {
        (name(), name())
            .prop_map(|(namespace, name)| format!("namespace: {namespace}, name: {name}, uid: u"))
    };
    let secret = || one_of(&["", "namespace: a, ", "namespace: b, "]);
    let class = (name(), one_of(&["stunner.l7mp.io/gateway-operator", "stunner.l7mp.io/gateway-operator", "example.test/x"]), name(), name())
        .prop_map(|(name, controller, namespace, config)| {
            format!(
                "{{kind: GatewayClass, metadata: {{name: {name}}}, spec: {{controllerName: {controller},
                   parametersRef: {{group: stunner.l7mp.io, kind: GatewayConfig, namespace: {namespace}, name: {config}}}}}}}"
            )
        });
    let config = (
        meta(),
        one_of(&["", "dataplane: a, ", "stunnerConfig: other, "]),
        secret(),
        any::<bool>(),
        name(),
    )
        .prop_map(|(meta, more, namespace, inline, auth)| {
            let auth = if inline {
                "userName: u, password: p".to_owned()
            } else {
                format!("authRef: {{{namespace}name: {auth}}}")
            };
            format!("{{kind: GatewayConfig, metadata: {{{meta}}}, spec: {{{more}{auth}}}}}")
        });
    let gateway = (
        meta(),
        one_of(&["", ", labels: {k: v}", ", annotations: {stunner.l7mp.io/service-type: NodePort}"]),
        name(),
        one_of(&["", "allowedRoutes: {namespaces: {from: All}}, ", "allowedRoutes: {namespaces: {from: Selector, selector: {matchLabels: {tier: media}}}}, "]),
        secret(),
        name(),
    )
        .prop_map(|(meta, more, class, allowed, namespace, cert)| {
            format!(
                "{{kind: Gateway, metadata: {{{meta}{more}}}, spec: {{gatewayClassName: {class}, listeners: [
                   {{{allowed}name: x, protocol: UDP, port: 1}}, {{name: z, protocol: TCP, port: 2}},
                   {{name: t, protocol: TLS, port: 3, tls: {{certificateRefs: [{{{namespace}name: {cert}}}]}}}}]}}}}"
            )
        });
    let route = (
        one_of(&[
            "UDPRoute, apiVersion: stunner.l7mp.io/v1",
            "UDPRoute, apiVersion: gateway.networking.k8s.io/v1",
            "TCPRoute",
        ]),
        meta(),
        parents(),
        backends(),
    )
        .prop_map(|(kind, meta, parents, backends)| {
            format!(
                "{{kind: {kind}, metadata: {{{meta}}},
                   spec: {{parentRefs: [{parents}], rules: [{{backendRefs: [{backends}]}}]}}}}"
            )
        });
    let static_service = (meta(), one_of(&["10.0.0.0/8", "bad"])).prop_map(|(meta, prefix)| {
        format!("{{kind: StaticService, metadata: {{{meta}}}, spec: {{prefixes: [{prefix}]}}}}")
    });
    let service = (
        meta(),
        one_of(&[
            "type: ClusterIP, clusterIP: 10.96.0.1",
            "type: ExternalName, externalName: example.test",
            "type: NodePort, clusterIP: 10.96.0.2, ports: [{name: x, port: 1, protocol: UDP, nodePort: 30001}]",
            "type: LoadBalancer, ports: [{name: x, port: 1, protocol: UDP, nodePort: 30002}]",
        ]),
        one_of(&["", ", status: {loadBalancer: {ingress: [{ip: 192.0.2.9}]}}"]),
        any::<bool>(),
    )
        .prop_map(|(meta, spec, status, ours)| {
            let ours = if ours {
                ", labels: {stunner.l7mp.io/owned-by: stunner},
                   annotations: {stunner.l7mp.io/related-gateway-name: a/a},
                   ownerReferences: [{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, name: a, uid: u}]"
            } else {
                ""
            };
            format!("{{kind: Service, metadata: {{{meta}{ours}}}, spec: {{{spec}}}{status}}}")
        });
    let slice = (
        meta(),
        name(),
        one_of(&["10.0.0.1", "10.0.0.2"]),
        any::<bool>(),
    )
        .prop_map(|(meta, service, address, ready)| {
            format!(
                "{{kind: EndpointSlice, addressType: IPv4,
                   metadata: {{{meta}, labels: {{kubernetes.io/service-name: {service}}}}},
                   endpoints: [{{addresses: [{address}], conditions: {{ready: {ready}}}}}]}}"
            )
        });
    let endpoints = (meta(), one_of(&["10.0.0.1", "10.0.0.2"])).prop_map(|(meta, address)| {
        format!("{{kind: Endpoints, metadata: {{{meta}}}, subsets: [{{addresses: [{{ip: {address}}}]}}]}}")
    });
    let secret =
        (meta(), one_of(&["", "username: dQ==, password: cA=="])).prop_map(|(meta, data)| {
            format!("{{kind: Secret, metadata: {{{meta}}}, data: {{{data}}}}}")
        });
    let dataplane = (one_of(&["default", "a"]), 1..3).prop_map(|(name, replicas)| {
        format!("{{kind: Dataplane, metadata: {{name: {name}}}, spec: {{replicas: {replicas}}}}}")
    });
    let grant = (
        meta(),
        name(),
        one_of(&["Service", "Secret"]),
        one_of(&["UDPRoute", "GatewayConfig"]),
    )
        .prop_map(|(meta, from, kind, referrer)| {
            format!(
                "{{kind: ReferenceGrant, metadata: {{{meta}}}, spec: {{
                   from: [{{group: stunner.l7mp.io, kind: {referrer}, namespace: {from}}}],
                   to: [{{group: '', kind: {kind}}}]}}}}"
            )
        });
    let namespace = (name(), one_of(&["", "tier: media"])).prop_map(|(name, labels)| {
        format!("{{kind: Namespace, metadata: {{name: {name}, labels: {{{labels}}}}}}}")
    });
    let node = (name(), one_of(&["ExternalIP", "InternalIP"])).prop_map(|(name, kind)| {
        format!(
            "{{kind: Node, metadata: {{name: {name}}}, status: {{addresses: [{{type: {kind}, address: 192.0.2.1}}]}}}}"
        )
    });
    prop_oneof![
        2 => class, 2 => config, 3 => gateway, 4 => route, 1 => static_service, 2 => service, 2 => slice,
        1 => endpoints, 1 => secret, 1 => dataplane, 1 => grant, 1 => namespace, 1 => node,
    ]
}

#[derive(Debug, Clone)]
enum Step {
    Apply(String),
    /// The object that this manifest would make.
    Remove(String),
    Fail(&'static str, &'static str, bool),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => manifest().prop_map(Step::Apply),
        2 => manifest().prop_map(Step::Remove),
        1 => (name(), name(), any::<bool>()).prop_map(|(namespace, name, fails)| Step::Fail(namespace, name, fails)),
    ];
    prop::collection::vec(step, 1..60)
}

fn settings() -> impl Strategy<Value = Settings> {
    (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>()).prop_map(
        |(legacy, enforce, slices, discovery)| Settings {
            mode: if legacy { Mode::Legacy } else { Mode::Managed },
            reference_grants: if enforce {
                ReferenceGrants::Enforce
            } else {
                ReferenceGrants::Allow
            },
            endpoint_slices: slices,
            endpoint_discovery: discovery,
            ..Settings::default()
        },
    )
}

fn perform(snapshot: &mut Snapshot, step: &Step) -> Dirty {
    match step {
        Step::Apply(manifest) => snapshot.apply(object(manifest)),
        Step::Remove(manifest) => {
            let key: ObjectKey = Object::key(&object(manifest));
            snapshot.remove(&key)
        }
        Step::Fail(namespace, name, fails) => {
            let failure = fails.then(|| WriteFailure {
                message: "refused".to_owned(),
                external_ips_refused: false,
            });
            let gateway = NamespacedName::new(*namespace, *name);
            snapshot.set_write_failure(&gateway, WorkloadKind::Service, failure)
        }
    }
}

/// What a runtime does with the plan for some units.
fn update(plan: &mut Plan, units: &Dirty, mut parts: Plan) {
    for unit in units {
        match unit {
            Unit::Class(name) => match parts.classes.remove(name) {
                Some(part) => drop(plan.classes.insert(name.clone(), part)),
                None => drop(plan.classes.remove(name)),
            },
            Unit::Gateway(name) => match parts.gateways.remove(name) {
                Some(part) => drop(plan.gateways.insert(name.clone(), part)),
                None => drop(plan.gateways.remove(name)),
            },
            Unit::Route(kind, name) => {
                let key: (RouteKind, NamespacedName) = (*kind, name.clone());
                match parts.routes.remove(&key) {
                    Some(part) => drop(plan.routes.insert(key, part)),
                    None => drop(plan.routes.remove(&key)),
                }
            }
        }
    }
}

/// Enough for every run of the tests; `PROPTEST_CASES=5000` for a long look.
fn cases() -> u32 {
    let given = std::env::var("PROPTEST_CASES").ok();
    given.and_then(|cases| cases.parse().ok()).unwrap_or(64)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    #[test]
    fn the_touched_units_are_all_that_differ(settings in settings(), steps in steps()) {
        let mut snapshot = manifest::snapshot(BEGINNING);
        let mut plan = translate(&snapshot, &settings);
        for (gateway, part) in &plan.gateways {
            snapshot.set_last_good(gateway, part.last_good.clone());
        }
        for step in &steps {
            let dirty = perform(&mut snapshot, step);
            let parts = translate_units(&snapshot, &settings, &dirty);
            for unit in &dirty {
                if let Unit::Gateway(name) = unit {
                    let part = parts.gateways.get(name);
                    let last_good = part.and_then(|part| part.last_good.clone());
                    snapshot.set_last_good(name, last_good);
                }
            }
            update(&mut plan, &dirty, parts);
            prop_assert_eq!(&plan, &translate(&snapshot, &settings), "after {:?}", step);
        }
    }

    #[test]
    fn the_order_in_which_the_world_is_learned_does_not_matter(
        settings in settings(),
        manifests in prop::collection::vec(manifest(), 1..40),
    ) {
        let mut latest: BTreeMap<ObjectKey, Object> = BTreeMap::new();
        let mut direct = Snapshot::default();
        let beginning = objects(BEGINNING);
        for object in beginning.into_iter().chain(manifests.iter().map(|text| object(text))) {
            latest.insert(object.key(), object.clone());
            direct.apply(object);
        }
        let mut backwards = Snapshot::default();
        for object in latest.into_values().rev() {
            backwards.apply(object);
        }
        prop_assert_eq!(translate(&direct, &settings), translate(&backwards, &settings));
        prop_assert_eq!(direct.units(), backwards.units());
    }
}
