//! One cumulative run of cases: a cluster, an operator, and the steps done so far.

use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};

use cluster_tests::kinds::{self, Kind};
use cluster_tests::{Cluster, Mark, Objects, Operator, OperatorOptions, certificate, eventually};
use futures_util::FutureExt as _;
use serde_json::{Value, json};

use crate::expect::Found;
use crate::fixtures::{CONTROLLER, NS};

/// No write for this long means that the operator has come to rest.
pub const CALM: Duration = Duration::from_millis(400);

pub struct World {
    pub cluster: Cluster,
    pub objects: Objects,
    operator: Option<Operator>,
    failures: Vec<String>,
}

/// The operator's options for one of the two modes.
pub fn options(mode: &str) -> OperatorOptions {
    OperatorOptions::new(CONTROLLER).arg(&format!("--dataplane-mode={mode}"))
}

impl World {
    pub async fn new(cluster: Cluster) -> Self {
        let objects = cluster.objects().await;
        Self {
            cluster,
            objects,
            operator: None,
            failures: Vec::new(),
        }
    }

    /// Runs one case. A failure is kept, so that one run shows all of them.
    pub async fn step(&mut self, id: &str, what: &str, case: impl AsyncFnOnce(&mut Self)) {
        let started = Instant::now();
        let outcome = AssertUnwindSafe(case(self)).catch_unwind().await;
        let took = started.elapsed().as_millis();
        match outcome {
            Ok(()) => eprintln!("{id} {what}: ok ({took} ms)"),
            Err(panic) => {
                let text = panic
                    .downcast_ref::<String>()
                    .cloned()
                    .or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
                    .unwrap_or_default();
                eprintln!("{id} {what}: FAILED ({took} ms)");
                self.failures.push(format!("{id} {what}: {text}"));
            }
        }
    }

    /// Panics when a case has failed, or the API server has refused what the operator wrote.
    pub fn finish(mut self) {
        for write in self.cluster.operator_writes_since(Mark::START) {
            // Somebody else may have changed or deleted the object in between; everything else is our mistake.
            let expected = write.code < 400 || [404, 409].contains(&write.code);
            if !expected {
                self.failures.push(format!("refused: {write}"));
            }
        }
        let count = self.failures.len();
        assert!(
            self.failures.is_empty(),
            "{count} cases failed\n{}",
            self.failures.join("\n")
        );
    }

    /// Stops the operator that runs, if any, and starts one with these options.
    pub async fn start_operator(&mut self, options: OperatorOptions) {
        self.stop_operator();
        self.operator = Some(Operator::start(&self.cluster, options).await);
    }

    pub fn stop_operator(&mut self) {
        if let Some(mut operator) = self.operator.take() {
            let status = operator.stop();
            assert!(status.success(), "the operator ended with {status}");
        }
    }

    pub fn operator(&self) -> &Operator {
        self.operator.as_ref().expect("an operator runs")
    }

    /// The operator has come to rest.
    pub async fn calm(&self) {
        self.cluster.operator_is_calm(CALM).await;
    }

    pub async fn apply(&self, object: &Value) {
        self.objects.apply_object(object).await;
    }

    /// Waits until an object of the test's namespace is as `check` wants it.
    pub async fn object(&self, kind: Kind, name: &str, check: impl Fn(&Value) -> Found) -> Value {
        self.object_in(NS, kind, name, check).await
    }

    pub async fn object_in(
        &self,
        namespace: &str,
        kind: Kind,
        name: &str,
        check: impl Fn(&Value) -> Found,
    ) -> Value {
        let what = format!("{} {namespace}/{name}", kind.name);
        eventually(&what, async || {
            let live = self.objects.find(kind, namespace, name).await;
            let live = live.ok_or("there is none")?;
            check(&live).map(|()| live)
        })
        .await
    }

    pub async fn gone(&self, kind: Kind, name: &str) {
        let what = format!("{} {NS}/{name} is gone", kind.name);
        eventually(&what, async || {
            match self.objects.find(kind, NS, name).await {
                None => Ok(()),
                Some(live) => Err(live["metadata"].to_string()),
            }
        })
        .await;
    }

    pub async fn gateway(&self, name: &str, check: impl Fn(&Value) -> Found) -> Value {
        self.object(kinds::GATEWAY, name, check).await
    }

    pub async fn service(&self, name: &str, check: impl Fn(&Value) -> Found) -> Value {
        self.object(kinds::SERVICE, name, check).await
    }

    pub async fn deployment(&self, name: &str, check: impl Fn(&Value) -> Found) -> Value {
        self.object(kinds::DEPLOYMENT, name, check).await
    }

    pub async fn route(&self, name: &str, check: impl Fn(&Value) -> Found) -> Value {
        self.object(kinds::UDP_ROUTE, name, check).await
    }

    pub async fn class(&self, name: &str, accepted: &str) {
        self.object_in("", kinds::GATEWAY_CLASS, name, |live| {
            crate::expect::conditions(&live["status"], &[("Accepted", accepted)])
        })
        .await;
    }

    /// Waits until the config that config discovery serves for a gateway is as `check` wants it.
    pub async fn config(&self, gateway: &str, check: impl Fn(&Value) -> Found) -> Value {
        let cds = self.operator().cds();
        eventually(&format!("config of {NS}/{gateway}"), async || {
            let config = cds.config(NS, gateway)?;
            check(&config)
                .map(|()| config.clone())
                .map_err(|error| format!("{error} in {config}"))
        })
        .await
    }

    /// The same for the ConfigMap of legacy mode.
    pub async fn legacy_config(&self, check: impl Fn(&Value) -> Found) -> Value {
        eventually("ConfigMap testnamespace/stunnerd-config", async || {
            let config = self.legacy_config_now().await?;
            check(&config)
                .map(|()| config.clone())
                .map_err(|error| format!("{error} in {config}"))
        })
        .await
    }

    pub async fn legacy_config_now(&self) -> Result<Value, String> {
        let map = self
            .objects
            .find(kinds::CONFIG_MAP, NS, "stunnerd-config")
            .await;
        let map = map.ok_or("there is none")?;
        let text = map["data"]["stunnerd.conf"].as_str();
        let text = text.ok_or("no key stunnerd.conf")?;
        serde_json::from_str(text).map_err(|error| format!("{error}: {text:?}"))
    }

    /// Writes a new certificate and key into `testsecret-ok`; both in the base64 of the config.
    pub async fn new_certificate(&self, common_name: &str) -> (String, String) {
        let identity = certificate(common_name);
        self.tls_secret(&identity.chain_pem, &identity.key_pem)
            .await;
        (identity.cert_base64(), identity.key_base64())
    }

    pub async fn tls_secret(&self, certificate: &str, key: &str) {
        self.apply(&json!({
            "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls",
            "metadata": { "name": "testsecret-ok", "namespace": NS },
            "stringData": { "tls.crt": certificate, "tls.key": key },
        }))
        .await;
    }

    /// The node port that the API server gave a Service of the operator.
    pub async fn node_port(&self, service: &str, port: usize) -> u64 {
        let live = self.service(service, |live| {
            let number = &live["spec"]["ports"][port]["nodePort"];
            number
                .as_u64()
                .map(|_| ())
                .ok_or_else(|| live["spec"].to_string())
        });
        live.await["spec"]["ports"][port]["nodePort"]
            .as_u64()
            .unwrap_or_default()
    }

    /// The ClusterIP of a Service.
    pub async fn cluster_ip(&self, service: &str) -> String {
        let live = self.service(service, |live| {
            let ip = live["spec"]["clusterIP"].as_str();
            ip.map(|_| ()).ok_or_else(|| live["spec"].to_string())
        });
        let live = live.await;
        live["spec"]["clusterIP"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }
}
