//! As the manifests install it: fed by the operator over TLS, with the token of its ServiceAccount.

use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use cluster_tests::{Cluster, GatewayApi, Objects, eventually, kinds, need, parse, stays};
use interop_tests::binary::root;
use serde_json::Value;

use crate::authd::Authd;
use crate::site::{Site, url};
use crate::tokens::{account, token};

const NAMESPACE: &str = "stunner-system";
/// Where the manifests say that config discovery is.
const DISCOVERY: &str = "stunner-config-discovery.stunner-system.svc:13479";

/// The pod of the Deployment `stunner-auth`.
struct Installed {
    pod: Value,
    mounted: PathBuf,
}

impl Installed {
    fn new(cluster: &Cluster, test: &str) -> Installed {
        let manifests = root().join("deploy/manifests/stunner.yaml");
        let manifests = std::fs::read_to_string(manifests).expect("the manifests");
        let deployment = parse(&manifests).into_iter().find(|object| {
            object["kind"] == "Deployment" && object["metadata"]["name"] == "stunner-auth"
        });
        let mounted = cluster.folder().join(test);
        std::fs::create_dir_all(&mounted).expect("a folder");
        Installed {
            pod: deployment.expect("the Deployment")["spec"]["template"]["spec"].clone(),
            mounted,
        }
    }

    fn container(&self) -> &Value {
        &self.pod["containers"][0]
    }

    /// Does what the kubelet does for the volume.
    async fn mount(&self, objects: &Objects) {
        let name = text(&self.pod["serviceAccountName"]);
        account(objects, NAMESPACE, name).await;
        let volume = &self.pod["volumes"][0];
        assert_eq!(volume["name"], self.container()["volumeMounts"][0]["name"]);
        for source in volume["projected"]["sources"].as_array().expect("sources") {
            let (projected, secret) = (&source["serviceAccountToken"], &source["secret"]);
            if projected.is_object() {
                let audience = Some(text(&projected["audience"]));
                let token = token(objects, NAMESPACE, name, audience).await;
                self.write(text(&projected["path"]), token.as_bytes());
            }
            for item in secret["items"].as_array().into_iter().flatten() {
                let key = text(&item["key"]);
                let value = secret_value(objects, text(&secret["name"]), key).await;
                self.write(text(&item["path"]), &value);
            }
        }
    }

    fn write(&self, path: &str, content: &[u8]) {
        std::fs::write(self.mounted.join(path), content).expect("written");
    }

    /// Its arguments, with this machine's addresses and paths.
    fn arguments(&self, discovery: u16) -> Vec<String> {
        let container = self.container();
        assert_eq!(container["command"][0], "authd");
        assert!(container["env"].is_null(), "{container}");
        let path = text(&container["volumeMounts"][0]["mountPath"]);
        let mounted = self.mounted.to_str().expect("a path");
        let arguments = container["args"].as_array().expect("arguments");
        let arguments: Vec<String> = arguments
            .iter()
            .map(|argument| text(argument).replace(path, mounted))
            .map(|argument| argument.replace(DISCOVERY, &format!("localhost:{discovery}")))
            // A later flag of the same name would be an error; the port is another one in each test.
            .filter(|argument| argument != "--port=8088")
            .collect();
        let left = |argument: &String| argument.contains(".svc") || argument.contains("/var/run");
        assert!(!arguments.iter().any(left), "{arguments:?}");
        assert_eq!(arguments.len(), 3, "{arguments:?}");
        arguments
    }

    fn probe(&self, which: &str) -> &str {
        text(&self.container()[which]["httpGet"]["path"])
    }
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}

async fn secret_value(objects: &Objects, name: &str, key: &str) -> Vec<u8> {
    eventually("the operator's certificate", async || {
        let secret = objects.find(kinds::SECRET, NAMESPACE, name).await;
        let secret = secret.ok_or("there is no Secret")?;
        let value = secret["data"][key].as_str();
        let value = value.ok_or_else(|| format!("{key} is missing"))?;
        BASE64_STANDARD
            .decode(value)
            .map_err(|error| error.to_string())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn it_follows_all_gateways_and_outlives_the_operator() {
    let test = "it_follows_all_gateways_and_outlives_the_operator";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let mut site = Site::set(cluster, "auth-installed").await;
    let [a, b, c, d] = ["192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4"];
    let urls = [a, b, c, d].map(url);
    let [at_a, at_b, at_c, at_d] = urls.each_ref().map(String::as_str);
    site.gateway("b", b).await;
    site.gateway("a", a).await;
    let installed = Installed::new(cluster, test);
    installed.mount(&site.objects).await;
    let arguments = installed.arguments(site.operator.cds_tls_port());
    let authd = Authd::start(&arguments).await;
    authd.answers(installed.probe("livenessProbe"), 200).await;
    authd.answers(installed.probe("readinessProbe"), 200).await;
    authd.tells(&[at_a, at_b]).await;

    site.gateway("c", c).await;
    authd.tells(&[at_a, at_b, at_c]).await;
    site.delete("a").await;
    authd.tells(&[at_b, at_c]).await;

    // While the operator is away, what is known is handed out on.
    site.operator.stop();
    let away = Duration::from_secs(2);
    stays("the gateways", away, async || match authd.urls()? {
        urls if urls == [at_b, at_c] => Ok(()),
        urls => Err(format!("{urls:?}")),
    })
    .await;
    assert_eq!(authd.get("/readyz").expect("an answer").status, 200);
    site.delete("b").await;
    site.operator.restart().await;
    authd.tells(&[at_c]).await;
    site.gateway("d", d).await;
    authd.tells(&[at_c, at_d]).await;
    let said = authd.log();
    for secret in [crate::site::SECRET, &read(&installed.mounted.join("token"))] {
        assert!(!said.contains(secret), "{said}");
    }
    assert_eq!(authd.stop().code(), Some(0));
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).expect("a file")
}

#[tokio::test(flavor = "multi_thread")]
async fn it_may_come_up_before_the_operator() {
    let test = "it_may_come_up_before_the_operator";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let mut site = Site::set(cluster, "auth-early").await;
    site.gateway("edge", "192.0.2.1").await;
    let installed = Installed::new(cluster, test);
    installed.mount(&site.objects).await;
    site.operator.stop();
    let authd = Authd::start(&installed.arguments(site.operator.cds_tls_port())).await;
    authd.answers("/readyz", 503).await;
    let nothing = authd.get("/?service=turn").expect("an answer");
    assert_eq!(nothing.status, 500, "{}", nothing.body);
    assert!(nothing.json()["hint"].is_string(), "{}", nothing.body);
    site.operator.restart().await;
    authd.answers("/readyz", 200).await;
    authd.tells(&[&url("192.0.2.1")]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_the_operator_refuses_is_told_and_a_new_one_mends_it() {
    let test = "a_token_that_the_operator_refuses_is_told_and_a_new_one_mends_it";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let site = Site::set(cluster, "auth-refused").await;
    site.gateway("edge", "192.0.2.1").await;
    let installed = Installed::new(cluster, test);
    installed.mount(&site.objects).await;
    account(&site.objects, "auth-refused", "stunner-auth").await;
    let audience = Some("stunner.l7mp.io/config-discovery");
    let foreign = token(&site.objects, "auth-refused", "stunner-auth", audience).await;
    installed.write("token", foreign.as_bytes());
    let authd = Authd::start(&installed.arguments(site.operator.cds_tls_port())).await;
    eventually("the refusal in the log", async || {
        let log = authd.log();
        let is_said = log.contains("403") && log.contains("--config-discovery-readers");
        is_said.then_some(()).ok_or(log)
    })
    .await;
    assert_eq!(authd.get("/readyz").expect("an answer").status, 503);
    // The kubelet replaces the file.
    installed.mount(&site.objects).await;
    authd.tells(&[&url("192.0.2.1")]).await;
    assert!(!authd.log().contains(&foreign));
}
