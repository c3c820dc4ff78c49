//! What is missing or broken is reported, and what served goes on serving.

use std::time::Duration;

use cluster_tests::{Cluster, GatewayApi, Operator, eventually_within, kinds, need, stays};
use serde_json::{Value, json};

use crate::site::{Site, message, same, uid};

struct Before {
    service: Value,
    deployment: Value,
    template: Value,
    config: Value,
}

async fn before(site: &Site, operator: &Operator) -> Before {
    site.apply(site.gateway("gw")).await;
    site.route("route", "gw").await;
    site.serve(operator, "gw").await;
    let deployment = site.object(kinds::DEPLOYMENT, "gw", |_| Ok(())).await;
    let route = format!("{}/route", site.name);
    let config = site
        .discovered(operator, "gw", |config| {
            same(&config["clusters"][0]["name"], route.as_str())
        })
        .await;
    Before {
        service: uid(&site.object(kinds::SERVICE, "gw", |_| Ok(())).await),
        template: deployment["spec"]["template"].clone(),
        deployment: uid(&deployment),
        config,
    }
}

/// Service, pods and config are the ones of before, for a while.
async fn still_serves(site: &Site, operator: &Operator, before: &Before) {
    let cds = operator.cds();
    stays(
        "what served still serves",
        Duration::from_millis(800),
        async || {
            let service = site.objects.find(kinds::SERVICE, &site.name, "gw").await;
            same(&uid(&service.unwrap_or_default()), before.service.clone())?;
            let live = site.objects.find(kinds::DEPLOYMENT, &site.name, "gw").await;
            let live = live.unwrap_or_default();
            same(&uid(&live), before.deployment.clone())?;
            same(&live["spec"]["template"], before.template.clone())?;
            let config = cds.config(&site.name, "gw")?;
            same(&config["auth"], before.config["auth"].clone())?;
            same(&config["listeners"], before.config["listeners"].clone())
        },
    )
    .await;
}

/// Deletes `kind name`, and checks that the Gateway serves on, also from a new operator that never saw it.
async fn survives_the_loss_of(cluster: &Cluster, site: &Site, kind: kinds::Kind, name: &str) {
    let mut operator = site.operator(cluster).await;
    let before = before(site, &operator).await;
    site.objects.delete(kind, &site.name, name).await;
    let reported = [("Accepted", "False"), ("Programmed", "True")];
    let live = site.conditions(kinds::GATEWAY, "gw", &reported).await;
    let told = message(&live["status"], "Accepted");
    assert!(told.contains(name), "{told} does not name {name}");
    assert!(!told.contains("pass-1"), "{told} has a password");
    still_serves(site, &operator, &before).await;

    operator.kill();
    operator.restart().await;
    site.discovered(&operator, "gw", |config| {
        same(&config["auth"], before.config["auth"].clone())
    })
    .await;
    still_serves(site, &operator, &before).await;
    site.conditions(kinds::GATEWAY, "gw", &reported).await;
}

#[tokio::test]
async fn a_gateway_survives_the_loss_of_its_gateway_config() {
    let test = "a_gateway_survives_the_loss_of_its_gateway_config";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let site = Site::new(cluster, "lost-config").await;
    survives_the_loss_of(cluster, &site, kinds::GATEWAY_CONFIG, "lost-config").await;
    let refused = [("Accepted", "False/InvalidParameters")];
    site.conditions(kinds::GATEWAY_CLASS, "lost-config", &refused)
        .await;

    site.apply(site.config()).await;
    let operator = site.operator(cluster).await;
    let healed = [("Accepted", "True"), ("Programmed", "True")];
    site.conditions(kinds::GATEWAY, "gw", &healed).await;
    drop(operator);
}

#[tokio::test]
async fn a_gateway_survives_the_loss_of_its_dataplane() {
    let test = "a_gateway_survives_the_loss_of_its_dataplane";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let site = Site::new(cluster, "lost-dataplane").await;
    survives_the_loss_of(cluster, &site, kinds::DATAPLANE, "lost-dataplane").await;
}

#[tokio::test]
async fn a_gateway_survives_the_loss_of_its_credentials() {
    let test = "a_gateway_survives_the_loss_of_its_credentials";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let site = Site::new(cluster, "lost-secret").await;
    site.apply(json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "credentials", "namespace": site.name },
        "stringData": { "type": "static", "username": "user-1", "password": "pass-1" },
    }))
    .await;
    let mut config = site.config();
    config["spec"] = json!({
        "realm": "example.test", "dataplane": site.name, "authRef": { "name": "credentials" },
    });
    site.apply(config).await;
    survives_the_loss_of(cluster, &site, kinds::SECRET, "credentials").await;
    // Broken credentials are the Gateway's trouble, not the class's.
    let accepted = [("Accepted", "True")];
    site.conditions(kinds::GATEWAY_CLASS, "lost-secret", &accepted)
        .await;
}

#[tokio::test]
async fn a_gateway_that_never_served_says_why() {
    let test = "a_gateway_that_never_served_says_why";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let site = Site::new(cluster, "never-served").await;
    let mut config = site.config();
    config["spec"]["authRef"] = json!({ "name": "not-there" });
    site.apply(config).await;
    site.apply(site.gateway("gw")).await;
    let _operator = site.operator(cluster).await;
    let wanted = [
        ("Accepted", "False/InvalidParameters"),
        ("Programmed", "False/Invalid"),
    ];
    let live = site.conditions(kinds::GATEWAY, "gw", &wanted).await;
    let told = message(&live["status"], "Accepted");
    assert!(told.contains("never-served/not-there"), "{told}");
}

/// What is lost is kept; what is there goes on changing.
#[tokio::test]
async fn routes_still_change_while_the_credentials_are_missing() {
    let test = "routes_still_change_while_the_credentials_are_missing";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let site = Site::new(cluster, "still-live").await;
    site.apply(site.gateway("gw")).await;
    let mut operator = site.operator(cluster).await;
    site.serve(&operator, "gw").await;
    site.objects
        .delete(kinds::GATEWAY_CONFIG, &site.name, "still-live")
        .await;
    site.conditions(kinds::GATEWAY, "gw", &[("Accepted", "False")])
        .await;
    site.route("late", "gw").await;
    let late = |config: &Value| {
        same(&config["clusters"][0]["name"], "still-live/late")?;
        same(&config["auth"]["credentials"]["username"], "user-1")
    };
    site.discovered(&operator, "gw", late).await;
    operator.kill();
    operator.restart().await;
    site.discovered(&operator, "gw", late).await;
}

#[tokio::test]
async fn a_listener_survives_the_loss_of_its_certificate() {
    let test = "a_listener_survives_the_loss_of_its_certificate";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let site = Site::new(cluster, "lost-cert").await;
    let identity = cluster_tests::certificate("turn.example.test");
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls",
        "metadata": { "name": "cert", "namespace": site.name },
        "stringData": { "tls.crt": identity.chain_pem, "tls.key": identity.key_pem },
    });
    site.apply(secret).await;
    let mut gateway = site.gateway("gw");
    gateway["spec"]["listeners"] = json!([{
        "name": "tls", "protocol": "TURN-TLS", "port": 443,
        "tls": { "certificateRefs": [{ "name": "cert" }] },
    }]);
    site.apply(gateway).await;
    let mut operator = site.operator(cluster).await;
    site.serve(&operator, "gw").await;
    let has_it = |config: &Value| {
        same(&config["listeners"][0]["cert"], identity.cert_base64())?;
        same(&config["listeners"][0]["key"], identity.key_base64())
    };
    site.discovered(&operator, "gw", has_it).await;
    site.objects.delete(kinds::SECRET, &site.name, "cert").await;
    let reported = |live: &Value| {
        let listener = &live["status"]["listeners"][0];
        let wanted = [("ResolvedRefs", "False/InvalidCertificateRef")];
        crate::site::conditions(listener, &wanted)
    };
    site.object(kinds::GATEWAY, "gw", reported).await;
    site.discovered(&operator, "gw", has_it).await;
    operator.kill();
    operator.restart().await;
    site.discovered(&operator, "gw", has_it).await;
    site.object(kinds::GATEWAY, "gw", reported).await;
}

#[tokio::test]
async fn a_legacy_config_map_survives_the_loss_of_its_gateway_config() {
    let test = "a_legacy_config_map_survives_the_loss_of_its_gateway_config";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let site = Site::new(cluster, "lost-legacy").await;
    site.apply(site.gateway("gw")).await;
    let options = site.options().arg("--dataplane-mode=legacy");
    let mut operator = Operator::start(cluster, options).await;
    let content = |live: &Value| live["data"]["stunnerd.conf"].as_str().map(str::to_owned);
    let has_listener = |live: &Value| match content(live) {
        Some(text) if text.contains("lost-legacy/gw/udp") => Ok(()),
        other => Err(format!("{other:?}")),
    };
    let live = site
        .object(kinds::CONFIG_MAP, "stunnerd-config", has_listener)
        .await;
    // An owner reference would let it vanish together with the GatewayConfig.
    same(&live["metadata"]["ownerReferences"], Value::Null).expect("no owner");
    site.objects
        .delete(kinds::GATEWAY_CONFIG, &site.name, "lost-legacy")
        .await;
    let refused = [("Accepted", "False/InvalidParameters")];
    site.conditions(kinds::GATEWAY_CLASS, "lost-legacy", &refused)
        .await;
    operator.kill();
    operator.restart().await;
    stays("the content", Duration::from_millis(800), async || {
        let now = site
            .objects
            .find(kinds::CONFIG_MAP, &site.name, "stunnerd-config")
            .await;
        same(&now.unwrap_or_default()["data"], live["data"].clone())
    })
    .await;
}

#[tokio::test]
async fn what_is_stored_for_bad_times_is_stored_again_when_somebody_deletes_it() {
    let test = "what_is_stored_for_bad_times_is_stored_again_when_somebody_deletes_it";
    let cluster = need!(test, Cluster::start(GatewayApi::V1_6Standard).await);
    let site = Site::new(&cluster, "stored-again").await;
    site.apply(site.gateway("gw")).await;
    let operator = site.operator(&cluster).await;
    site.serve(&operator, "gw").await;
    let stored = async || {
        let secrets = site.objects.list(kinds::SECRET, "stunner-system").await;
        let is_it =
            |secret: &&Value| secret["metadata"]["labels"]["stunner.l7mp.io/last-good"] == "true";
        secrets.iter().find(is_it).cloned()
    };
    let before = stored().await.expect("last good inputs");
    let name = before["metadata"]["name"].as_str().unwrap_or_default();
    site.objects
        .delete(kinds::SECRET, "stunner-system", name)
        .await;
    let patience = Duration::from_secs(60);
    let after = eventually_within(patience, "last good inputs", async || {
        stored().await.ok_or("there are none".to_owned())
    })
    .await;
    assert_eq!(before["data"], after["data"]);
}

/// Everything that can be missing is missing, and the operator that knew it is gone.
#[tokio::test]
async fn operators_that_never_saw_the_sources_serve_what_was_good() {
    let test = "operators_that_never_saw_the_sources_serve_what_was_good";
    let cluster = need!(test, Cluster::start(GatewayApi::V1_6Standard).await);
    let site = Site::new(&cluster, "never-saw").await;
    site.apply(site.gateway("gw")).await;
    site.route("route", "gw").await;
    let options = site.options().arg("--leader-elect");
    let mut first = Operator::start(&cluster, options.clone()).await;
    site.serve(&first, "gw").await;
    let before = site
        .discovered(&first, "gw", |config| {
            same(&config["clusters"][0]["name"], "never-saw/route")
        })
        .await;
    cluster.operator_is_calm(Duration::from_millis(500)).await;
    let service = site.object(kinds::SERVICE, "gw", |_| Ok(())).await;
    assert!(first.stop().success());
    let name = site.name.as_str();
    for (kind, namespace) in [
        (kinds::GATEWAY_CLASS, ""),
        (kinds::GATEWAY_CONFIG, name),
        (kinds::DATAPLANE, ""),
    ] {
        site.objects.delete(kind, namespace, name).await;
    }

    first.restart().await;
    let standby = Operator::start(&cluster, options).await;
    for operator in [&first, &standby] {
        site.discovered(operator, "gw", |config| same(config, before.clone()))
            .await;
    }
    site.conditions(kinds::GATEWAY, "gw", &[("Programmed", "True")])
        .await;
    cluster.operator_is_calm(Duration::from_millis(500)).await;
    let now = site.object(kinds::SERVICE, "gw", |_| Ok(())).await;
    let version = |object: &Value| object["metadata"]["resourceVersion"].clone();
    assert_eq!(version(&now), version(&service), "the Service is untouched");
    for object in [site.class(), site.config(), site.dataplane()] {
        site.apply(object).await;
    }
    let healed = [("Accepted", "True"), ("Programmed", "True")];
    site.conditions(kinds::GATEWAY, "gw", &healed).await;
    site.discovered(&first, "gw", |config| same(config, before.clone()))
        .await;
}
