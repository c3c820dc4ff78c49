//! A Gateway and what it depends on, for tests of what is made from it.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Node;
use serde_json::{Value, json};
use stunner_api::NamespacedName;
use stunner_api::gateway::Gateway;
use stunner_api::v1::{DataplaneSpec, GatewayConfigSpec};

use crate::context::GatewayContext;
use crate::key::Object;
use crate::last_good::EffectiveConfig;
use crate::listener::listener_plans;
use crate::options::ServiceOptions;
use crate::settings::Settings;
use crate::snapshot::Snapshot;

pub(crate) struct World {
    pub(crate) snapshot: Snapshot,
    pub(crate) settings: Settings,
    pub(crate) gateway: Gateway,
    pub(crate) config: EffectiveConfig,
    pub(crate) dataplane: Option<DataplaneSpec>,
    pub(crate) name: NamespacedName,
}

impl World {
    /// The Gateway stunner/gw with these listeners, as `name protocol port`.
    pub(crate) fn with_listeners(listeners: &[&str]) -> Self {
        let listeners: Vec<Value> = listeners
            .iter()
            .map(|text| {
                let words: Vec<&str> = text.split_whitespace().collect();
                let port: i32 = words[2].parse().expect("a port");
                json!({"name": words[0], "protocol": words[1], "port": port})
            })
            .collect();
        let name = NamespacedName::new("stunner", "gw");
        World {
            snapshot: Snapshot::default(),
            settings: Settings::default(),
            gateway: from(json!({
                "metadata": {"name": "gw", "namespace": "stunner", "uid": "gw-uid"},
                "spec": {"gatewayClassName": "stunner", "listeners": listeners},
            })),
            config: EffectiveConfig {
                namespace: "stunner".to_owned(),
                name: "config".to_owned(),
                spec: GatewayConfigSpec::default(),
            },
            dataplane: Some(DataplaneSpec::default()),
            name,
        }
    }

    pub(crate) fn annotate(mut self, key: &str, value: &str) -> Self {
        self.gateway
            .metadata
            .annotations
            .get_or_insert_default()
            .insert(key.to_owned(), value.to_owned());
        self
    }

    pub(crate) fn annotate_config(mut self, key: &str, value: &str) -> Self {
        self.config
            .spec
            .load_balancer_service_annotations
            .insert(key.to_owned(), value.to_owned());
        self
    }

    pub(crate) fn ask_for_address(mut self, type_: Option<&str>, value: &str) -> Self {
        let address = json!({"type": type_, "value": value});
        self.gateway.spec.addresses.push(from(address));
        self
    }

    pub(crate) fn with_dataplane(mut self, spec: Value) -> Self {
        self.dataplane = Some(from(spec));
        self
    }

    /// The live Service of the Gateway: marked as ours, then with these fields on top.
    pub(crate) fn with_service(mut self, fields: Value) -> Self {
        let mut service = json!({
            "metadata": {
                "name": "gw",
                "namespace": "stunner",
                "annotations": {"stunner.l7mp.io/related-gateway-name": "stunner/gw"},
                "ownerReferences": [{
                    "apiVersion": "gateway.networking.k8s.io/v1",
                    "kind": "Gateway",
                    "name": "gw",
                    "uid": "gw-uid",
                }],
            },
        });
        overlay(&mut service, fields);
        self.snapshot
            .apply(Object::Service(Arc::new(from(service))));
        self
    }

    /// A node with addresses as `Type=address`.
    pub(crate) fn with_node(mut self, name: &str, addresses: &[&str]) -> Self {
        let addresses: Vec<Value> = addresses
            .iter()
            .map(|text| {
                let (type_, address) = text.split_once('=').expect("Type=address");
                json!({"type": type_, "address": address})
            })
            .collect();
        let node: Node = from(json!({
            "metadata": {"name": name},
            "status": {"addresses": addresses},
        }));
        self.snapshot.apply(Object::Node(Arc::new(node)));
        self
    }

    pub(crate) fn options(&self) -> ServiceOptions {
        ServiceOptions::read(&self.gateway, &self.config)
    }

    pub(crate) fn translated<T>(&self, part: impl FnOnce(&GatewayContext<'_>) -> T) -> T {
        let options = self.options();
        let listeners = listener_plans(
            &self.snapshot,
            &self.settings,
            &self.gateway,
            &options,
            &BTreeMap::new(),
            None,
        );
        part(&GatewayContext {
            snapshot: &self.snapshot,
            settings: &self.settings,
            name: &self.name,
            gateway: &self.gateway,
            config: &self.config,
            dataplane: self.dataplane.as_ref(),
            options: &options,
            listeners: &listeners,
        })
    }
}

pub(crate) fn from<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("a readable object")
}

fn overlay(base: &mut Value, top: Value) {
    match (base, top) {
        (Value::Object(base), Value::Object(top)) => {
            for (key, value) in top {
                overlay(base.entry(key).or_insert(Value::Null), value);
            }
        }
        (base, top) => *base = top,
    }
}
