//! The objects of one test, under names of its own, so that tests share a cluster.

use cluster_tests::kinds::{self, Kind};
use cluster_tests::{Cluster, Objects, Operator, OperatorOptions, eventually};
use serde_json::{Value, json};

pub type Found = Result<(), String>;

/// A namespace, a class with its config and Dataplane, all of the same name, and an operator for that class alone.
pub struct Site {
    pub name: String,
    pub objects: Objects,
}

impl Site {
    pub async fn new(cluster: &Cluster, name: &str) -> Self {
        let site = Self {
            name: name.to_owned(),
            objects: cluster.objects().await,
        };
        site.apply(json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name },
        }))
        .await;
        for object in [site.class(), site.config(), site.dataplane()] {
            site.apply(object).await;
        }
        site
    }

    pub fn options(&self) -> OperatorOptions {
        OperatorOptions::new(&format!("stunner.l7mp.io/{}", self.name))
    }

    pub async fn operator(&self, cluster: &Cluster) -> Operator {
        Operator::start(cluster, self.options()).await
    }

    pub fn class(&self) -> Value {
        let name = &self.name;
        json!({
            "apiVersion": "gateway.networking.k8s.io/v1", "kind": "GatewayClass",
            "metadata": { "name": name },
            "spec": {
                "controllerName": format!("stunner.l7mp.io/{name}"),
                "parametersRef": {
                    "group": "stunner.l7mp.io", "kind": "GatewayConfig", "name": name, "namespace": name,
                },
            },
        })
    }

    pub fn config(&self) -> Value {
        json!({
            "apiVersion": "stunner.l7mp.io/v1", "kind": "GatewayConfig",
            "metadata": { "name": self.name, "namespace": self.name },
            "spec": {
                "realm": "example.test", "authType": "static", "userName": "user-1", "password": "pass-1",
                "dataplane": self.name,
            },
        })
    }

    pub fn dataplane(&self) -> Value {
        json!({
            "apiVersion": "stunner.l7mp.io/v1", "kind": "Dataplane",
            "metadata": { "name": self.name },
            "spec": { "image": "example.test/stunnerd:1", "replicas": 1 },
        })
    }

    /// A Gateway with one UDP listener, `udp` on port 3478.
    pub fn gateway(&self, name: &str) -> Value {
        json!({
            "apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway",
            "metadata": { "name": name, "namespace": self.name },
            "spec": {
                "gatewayClassName": self.name,
                "listeners": [{ "name": "udp", "protocol": "TURN-UDP", "port": 3478 }],
            },
        })
    }

    /// A UDPRoute from that Gateway to a StaticService, which comes with it.
    pub async fn route(&self, name: &str, gateway: &str) {
        self.apply(json!({
            "apiVersion": "stunner.l7mp.io/v1", "kind": "StaticService",
            "metadata": { "name": name, "namespace": self.name },
            "spec": { "prefixes": ["10.1.2.0/24"] },
        }))
        .await;
        self.apply(json!({
            "apiVersion": "stunner.l7mp.io/v1", "kind": "UDPRoute",
            "metadata": { "name": name, "namespace": self.name },
            "spec": {
                "parentRefs": [{ "name": gateway }],
                "rules": [{ "backendRefs": [
                    { "group": "stunner.l7mp.io", "kind": "StaticService", "name": name },
                ]}],
            },
        }))
        .await;
    }

    pub async fn apply(&self, object: Value) {
        self.objects.apply_object(&object).await;
    }

    /// Waits until an object of the site is as `check` wants it.
    pub async fn object(&self, kind: Kind, name: &str, check: impl Fn(&Value) -> Found) -> Value {
        let what = format!("{} {}/{name}", kind.name, self.name);
        eventually(&what, async || {
            let live = self.objects.find(kind, &self.name, name).await;
            let live = live.ok_or("there is none")?;
            check(&live).map(|()| live)
        })
        .await
    }

    pub async fn gone(&self, kind: Kind, name: &str) {
        let what = format!("{} {}/{name} is gone", kind.name, self.name);
        eventually(&what, async || {
            match self.objects.find(kind, &self.name, name).await {
                None => Ok(()),
                Some(live) => Err(live["metadata"].to_string()),
            }
        })
        .await;
    }

    /// Waits for conditions of an object, each `(type, "Status/Reason")` or `(type, "Status")`.
    pub async fn conditions(&self, kind: Kind, name: &str, wanted: &[(&str, &str)]) -> Value {
        self.object(kind, name, |live| conditions(&live["status"], wanted))
            .await
    }

    /// Waits until the Gateway is served: Service, Deployment, config; and gives it a public address.
    pub async fn serve(&self, operator: &Operator, gateway: &str) {
        self.object(kinds::DEPLOYMENT, gateway, |_| Ok(())).await;
        self.object(kinds::SERVICE, gateway, |_| Ok(())).await;
        let ingress = json!([{ "ip": "192.0.2.1" }]);
        self.objects.set_ingress(&self.name, gateway, ingress).await;
        self.conditions(
            kinds::GATEWAY,
            gateway,
            &[("Accepted", "True"), ("Programmed", "True")],
        )
        .await;
        self.discovered(operator, gateway, |config| {
            same(&config["listeners"][0]["public_address"], "192.0.2.1")
        })
        .await;
    }

    /// Waits until config discovery serves a config that is as `check` wants it.
    pub async fn discovered(
        &self,
        operator: &Operator,
        gateway: &str,
        check: impl Fn(&Value) -> Found,
    ) -> Value {
        let cds = operator.cds();
        eventually(&format!("config of {}/{gateway}", self.name), async || {
            let config = cds.config(&self.name, gateway)?;
            check(&config)
                .map(|()| config.clone())
                .map_err(|error| format!("{error} in {config}"))
        })
        .await
    }
}

pub fn same(found: &Value, wanted: impl Into<Value>) -> Found {
    let wanted = wanted.into();
    if *found == wanted {
        return Ok(());
    }
    Err(format!("{found} instead of {wanted}"))
}

pub fn conditions(holder: &Value, wanted: &[(&str, &str)]) -> Found {
    for (kind, wanted) in wanted {
        let all = holder["conditions"].as_array();
        let found = all.into_iter().flatten().find(|one| one["type"] == *kind);
        let text = |key: &str| found.map_or("", |one| one[key].as_str().unwrap_or_default());
        let (status, reason) = (text("status"), text("reason"));
        if *wanted != status && *wanted != format!("{status}/{reason}") {
            let all = &holder["conditions"];
            return Err(format!(
                "{kind} is {status}/{reason} instead of {wanted}; all: {all}"
            ));
        }
    }
    Ok(())
}

/// The message of a condition; empty where there is none.
pub fn message(holder: &Value, kind: &str) -> String {
    let all = holder["conditions"].as_array();
    let found = all.into_iter().flatten().find(|one| one["type"] == kind);
    found.map_or_else(String::new, |one| {
        one["message"].as_str().unwrap_or_default().to_owned()
    })
}

pub fn uid(live: &Value) -> Value {
    live["metadata"]["uid"].clone()
}
