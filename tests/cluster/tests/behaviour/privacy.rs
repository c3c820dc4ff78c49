//! What is secret stays where it belongs, and no Secret is read but those that are referred to.

use std::time::Duration;

use cluster_tests::{Cluster, GatewayApi, Mark, Operator, User, kinds, need};
use serde_json::{Value, json};

use crate::site::{Site, same};

fn secret(site: &Site, name: &str, data: Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": name, "namespace": site.name },
        "stringData": data,
    })
}

#[tokio::test]
async fn secrets_are_in_no_log_event_metric_or_status_and_only_those_referred_to_are_read() {
    let test = "secrets_are_in_no_log_event_metric_or_status_and_only_those_referred_to_are_read";
    let cluster = need!(test, Cluster::start(GatewayApi::V1_6Standard).await);
    let site = Site::new(&cluster, "privacy").await;
    let identity = cluster_tests::certificate("turn.example.test");
    site.apply(secret(
        &site,
        "auth",
        json!({ "type": "static", "username": "user-9", "password": "hush-auth" }),
    ))
    .await;
    site.apply(secret(
        &site,
        "unrelated",
        json!({ "key": "hush-unrelated" }),
    ))
    .await;
    site.apply(secret(
        &site,
        "cert",
        json!({ "tls.crt": identity.chain_pem, "tls.key": identity.key_pem }),
    ))
    .await;
    let mut config = site.config();
    config["spec"]["password"] = json!("hush-inline");
    config["spec"]["sharedSecret"] = json!("hush-shared");
    config["spec"]["authRef"] = json!({ "name": "auth" });
    site.apply(config.clone()).await;
    let mut gateway = site.gateway("gw");
    gateway["spec"]["listeners"] = json!([
        { "name": "udp", "protocol": "TURN-UDP", "port": 3478 },
        { "name": "tls", "protocol": "TURN-TLS", "port": 443, "tls": { "certificateRefs": [{ "name": "cert" }] } },
    ]);
    gateway["metadata"]["annotations"] =
        json!({ "stunner.l7mp.io/enable-mixed-protocol-lb": "true" });
    site.apply(gateway).await;
    site.route("route", "gw").await;
    let options = site
        .options()
        .arg("--zap-log-level=trace")
        .arg("--leader-elect");
    let mut operator = Operator::start(&cluster, options).await;
    site.serve(&operator, "gw").await;
    let watch = operator.cds().watch_gateway(&site.name, "gw").await;

    // Breaking things makes an operator talk.
    site.apply(secret(
        &site,
        "auth",
        json!({ "type": "hush-type", "username": "user-9", "password": "hush-auth" }),
    ))
    .await;
    site.conditions(kinds::GATEWAY, "gw", &[("Accepted", "False")])
        .await;
    let broken_key = identity.key_pem.replace("BEGIN", "BEGUN");
    site.apply(secret(
        &site,
        "cert",
        json!({ "tls.crt": identity.chain_pem, "tls.key": broken_key }),
    ))
    .await;
    site.objects.delete(kinds::SECRET, &site.name, "auth").await;
    operator.stop();
    operator.restart().await;
    if let Some(spec) = config["spec"].as_object_mut() {
        spec.remove("authRef");
    }
    site.apply(config).await;
    site.discovered(&operator, "gw", |config| {
        same(&config["auth"]["credentials"]["password"], "hush-inline")
    })
    .await;
    cluster.operator_is_calm(Duration::from_millis(500)).await;
    drop(watch);

    let key_line = identity
        .key_pem
        .lines()
        .nth(1)
        .expect("a line of the key")
        .to_owned();
    let key_text = identity.key_base64();
    let mut places = vec![
        ("the log", operator.log().join("\n")),
        ("the metrics", operator.metrics().expect("metrics")),
        ("/readyz", operator.health("/readyz").expect("an answer").1),
    ];
    for kind in [
        kinds::EVENT,
        kinds::GATEWAY,
        kinds::UDP_ROUTE,
        kinds::SERVICE,
        kinds::DEPLOYMENT,
        kinds::CONFIG_MAP,
    ] {
        let mut objects = site.objects.list(kind, &site.name).await;
        objects.extend(site.objects.list(kind, "stunner-system").await);
        places.push((kind.name, json!(objects).to_string()));
    }
    let class = site
        .objects
        .find(kinds::GATEWAY_CLASS, "", &site.name)
        .await;
    places.push(("the class", json!(class).to_string()));
    for (place, text) in &places {
        for word in [
            "hush-auth",
            "hush-inline",
            "hush-shared",
            "hush-unrelated",
            "operator-token",
            &key_line,
            &key_text,
        ] {
            assert!(!text.contains(word), "{word} is in {place}");
        }
    }

    let reads = cluster.secret_reads_since(Mark::START);
    let reads: Vec<_> = reads
        .iter()
        .filter(|read| read.user == User::Operator.name())
        .collect();
    assert!(reads.iter().any(|read| read.name == "auth"), "{reads:?}");
    for read in reads {
        let own = read.namespace == "stunner-system";
        let referred_to =
            ["auth", "cert"].contains(&read.name.as_str()) && read.namespace == site.name;
        assert!(own || referred_to, "{read}");
    }
}
