//! A world written as manifests, for tests.

use stunner_api::NamespacedName;

use crate::key::{ObjectKey, ObjectKind};
use crate::plan::{GatewayPlan, Plan};
use crate::settings::Settings;
use crate::snapshot::Snapshot;
use crate::snapshot::manifest::objects;
use crate::translate::translate;

/// A class, its GatewayConfig with inline credentials, the default Dataplane and a Gateway with a UDP listener.
pub(crate) const QUICKSTART: &str = r"
kind: GatewayClass
metadata: {name: stunner, generation: 1}
spec:
  controllerName: stunner.l7mp.io/gateway-operator
  parametersRef: {group: stunner.l7mp.io, kind: GatewayConfig, name: config, namespace: system}
---
kind: GatewayConfig
metadata: {name: config, namespace: system}
spec: {authType: static, userName: user, password: pass}
---
kind: Dataplane
metadata: {name: default}
spec: {image: example.test/stunnerd:1}
---
kind: Gateway
metadata: {name: gw, namespace: apps, uid: gw-uid, generation: 3}
spec:
  gatewayClassName: stunner
  listeners: [{name: udp, protocol: UDP, port: 3478}]
";

pub(crate) struct World {
    pub(crate) snapshot: Snapshot,
    pub(crate) settings: Settings,
}

impl World {
    pub(crate) fn new(manifests: &str) -> Self {
        let mut world = World {
            snapshot: Snapshot::default(),
            settings: Settings::default(),
        };
        world.apply(manifests);
        world
    }

    /// Adds or replaces objects.
    pub(crate) fn apply(&mut self, manifests: &str) {
        for object in objects(manifests) {
            self.snapshot.apply(object);
        }
    }

    pub(crate) fn remove(&mut self, kind: ObjectKind, namespace: &str, name: &str) {
        self.snapshot.remove(&ObjectKey {
            kind,
            name: NamespacedName::new(namespace, name),
        });
    }

    pub(crate) fn plan(&self) -> Plan {
        translate(&self.snapshot, &self.settings)
    }

    /// The plan of the Gateway apps/gw.
    pub(crate) fn gateway(&self) -> GatewayPlan {
        let name = NamespacedName::new("apps", "gw");
        self.plan()
            .gateways
            .remove(&name)
            .expect("a plan for apps/gw")
    }

    /// Translates, and remembers what was good as the runtime does.
    pub(crate) fn settle(&mut self) -> GatewayPlan {
        let plan = self.gateway();
        let name = NamespacedName::new("apps", "gw");
        self.snapshot.set_last_good(&name, plan.last_good.clone());
        plan
    }
}

/// `status/reason` of a condition.
pub(crate) fn verdict(
    conditions: &[k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition],
    kind: &str,
) -> String {
    let found = conditions.iter().find(|condition| condition.type_ == kind);
    found.map_or_else(String::new, |condition| {
        format!("{}/{}", condition.status, condition.reason)
    })
}

/// What a condition says.
pub(crate) fn message(
    conditions: &[k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition],
    kind: &str,
) -> String {
    let found = conditions.iter().find(|condition| condition.type_ == kind);
    found.map_or_else(String::new, |condition| condition.message.clone())
}
