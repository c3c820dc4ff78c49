//! A random life of the cluster: what users, controllers and accidents do to its objects, in order.

use std::collections::BTreeMap;

use cluster_tests::kinds;
use serde_json::{Value, json};

use crate::random::Random;
use crate::world::{self, GATEWAYS, Key, NS, Ports, ROUTES, SERVICES, STATIC_SERVICES, STEADY};

/// One thing that happens to one object.
#[derive(Debug, Clone)]
pub enum Change {
    Apply(Value),
    Delete(Key),
    /// What a load balancer controller writes for a Gateway's Service.
    Ingress(&'static str, Option<String>),
}

/// Changes in order with the name of their sort, and what the load balancers are to say at the end.
#[derive(Debug)]
pub struct Story {
    pub changes: Vec<(&'static str, Change)>,
    pub ingress: BTreeMap<&'static str, String>,
}

/// Objects as they are after the changes so far, and those foundations that are away.
struct Model {
    random: Random,
    ports: Ports,
    objects: Vec<(Key, Value)>,
    away: Vec<(Key, Value)>,
    ingress: BTreeMap<&'static str, String>,
}

impl Story {
    /// `count` changes; at the end every foundation is back.
    pub fn tell(seed: u64, count: usize, ports: Ports, foundations: &[(Key, Value)]) -> Self {
        let mut model = Model {
            random: Random::new(seed),
            ports,
            objects: foundations.to_vec(),
            away: Vec::new(),
            ingress: BTreeMap::new(),
        };
        model.put(Key(kinds::GATEWAY, STEADY), world::steady(ports, false));
        let mut changes = Vec::new();
        while changes.len() < count {
            changes.extend(model.next());
            // The last ones bring back what is away.
            if changes.len() + model.away.len() >= count {
                while let Some((_, value)) = model.away.pop() {
                    changes.push(("foundation restored", Change::Apply(value)));
                }
            }
        }
        Self {
            changes,
            ingress: model.ingress,
        }
    }
}

impl Model {
    fn put(&mut self, key: Key, value: Value) -> Change {
        self.objects.retain(|(held, _)| *held != key);
        self.objects.push((key, value.clone()));
        Change::Apply(value)
    }

    fn take(&mut self, key: Key) -> Option<Value> {
        let place = self.objects.iter().position(|(held, _)| *held == key)?;
        Some(self.objects.remove(place).1)
    }

    fn current(&self, key: Key) -> Option<Value> {
        let found = self.objects.iter().find(|(held, _)| *held == key);
        found.map(|(_, value)| value.clone())
    }

    fn next(&mut self) -> Option<(&'static str, Change)> {
        match self.random.below(100) {
            0..20 => Some(self.gateway()),
            20..36 => Some(self.route()),
            36..43 => Some(self.static_service()),
            43..57 => Some(self.slice()),
            57..66 => self.ingress(),
            66..76 => self.annotation(),
            76..83 => self.label(),
            _ => Some(self.foundation()),
        }
    }

    fn gateway(&mut self) -> (&'static str, Change) {
        let name = self.random.pick(&GATEWAYS);
        let key = Key(kinds::GATEWAY, name);
        if self.random.chance(15) {
            let with_extra = self.random.chance(50);
            let mut gateway = world::steady(self.ports, with_extra);
            let key = Key(kinds::GATEWAY, STEADY);
            let metadata = self.current(key).map(|held| held["metadata"].clone());
            gateway["metadata"] = metadata.unwrap_or_default();
            return ("listener of the steady Gateway", self.put(key, gateway));
        }
        if self.random.chance(30) && self.take(key).is_some() {
            self.ingress.remove(name);
            return ("Gateway deleted", Change::Delete(key));
        }
        let gateway = world::any_gateway(name, &mut self.random);
        ("Gateway", self.put(key, gateway))
    }

    fn route(&mut self) -> (&'static str, Change) {
        if self.random.chance(20) {
            let route = world::steady_route(&mut self.random);
            let key = Key(kinds::UDP_ROUTE, STEADY);
            return ("route of the steady Gateway", self.put(key, route));
        }
        let name = self.random.pick(&ROUTES);
        let key = Key(kinds::UDP_ROUTE, name);
        if self.random.chance(25) && self.take(key).is_some() {
            return ("route deleted", Change::Delete(key));
        }
        let route = world::any_route(name, &mut self.random);
        ("route", self.put(key, route))
    }

    fn static_service(&mut self) -> (&'static str, Change) {
        let name = self.random.pick(&STATIC_SERVICES);
        let key = Key(kinds::STATIC_SERVICE, name);
        if self.random.chance(25) && self.take(key).is_some() {
            return ("StaticService deleted", Change::Delete(key));
        }
        let service = world::any_static_service(name, &mut self.random);
        ("StaticService", self.put(key, service))
    }

    fn slice(&mut self) -> (&'static str, Change) {
        let name = self.random.pick(&SERVICES);
        let key = Key(kinds::ENDPOINT_SLICE, name);
        if self.random.chance(15) && self.take(key).is_some() {
            return ("EndpointSlice deleted", Change::Delete(key));
        }
        let slice = world::any_slice(name, &mut self.random);
        ("EndpointSlice", self.put(key, slice))
    }

    fn ingress(&mut self) -> Option<(&'static str, Change)> {
        let name = self.any_gateway()?;
        let address = format!("198.51.100.{}", self.random.below(250));
        let address = self.random.chance(80).then_some(address);
        match &address {
            Some(address) => self.ingress.insert(name, address.clone()),
            None => self.ingress.remove(name),
        };
        Some(("load balancer status", Change::Ingress(name, address)))
    }

    fn any_gateway(&mut self) -> Option<&'static str> {
        let name = if self.random.chance(25) {
            STEADY
        } else {
            self.random.pick(&GATEWAYS)
        };
        self.current(Key(kinds::GATEWAY, name)).map(|_| name)
    }

    fn annotation(&mut self) -> Option<(&'static str, Change)> {
        let name = self.any_gateway()?;
        let key = Key(kinds::GATEWAY, name);
        let mut gateway = self.current(key)?;
        let (annotation, values): (&str, &[&str]) = self.random.pick(&[
            ("example.org/note", &["one", "two", "three"]),
            (
                "stunner.l7mp.io/service-type",
                &["ClusterIP", "NodePort", "LoadBalancer"],
            ),
            (
                "stunner.l7mp.io/external-traffic-policy",
                &["local", "cluster"],
            ),
            (
                "stunner.l7mp.io/disable-session-affinity",
                &["true", "false"],
            ),
        ]);
        let annotations = &mut gateway["metadata"]["annotations"];
        if annotations[annotation].is_string() && self.random.chance(40) {
            let map = annotations.as_object_mut()?;
            map.remove(annotation);
        } else {
            annotations[annotation] = self.random.pick(values).into();
        }
        Some(("annotation", self.put(key, gateway)))
    }

    fn label(&mut self) -> Option<(&'static str, Change)> {
        let value = self.random.pick(&["media", "data"]);
        // The namespace's decides which routes some listeners allow.
        let (key, mut labelled) = if self.random.chance(50) {
            let key = Key(kinds::NAMESPACE, NS);
            (key, world::object(kinds::NAMESPACE, NS, json!({})))
        } else {
            let key = Key(kinds::GATEWAY, self.any_gateway()?);
            (key, self.current(key)?)
        };
        labelled["metadata"]["labels"]["tier"] = value.into();
        Some(("label", self.put(key, labelled)))
    }

    /// A Secret, GatewayConfig or Dataplane goes or comes back.
    fn foundation(&mut self) -> (&'static str, Change) {
        if !self.away.is_empty() && (self.away.len() > 2 || self.random.chance(50)) {
            let place = self.random.below(self.away.len());
            let (key, value) = self.away.remove(place);
            return ("foundation restored", self.put(key, value));
        }
        let present = self
            .objects
            .iter()
            .map(|(key, _)| *key)
            .filter(|key| [kinds::SECRET, kinds::GATEWAY_CONFIG, kinds::DATAPLANE].contains(&key.0))
            .collect::<Vec<_>>();
        let key = self.random.pick(&present);
        if let Some(value) = self.take(key) {
            self.away.push((key, value));
        }
        ("foundation deleted", Change::Delete(key))
    }
}
