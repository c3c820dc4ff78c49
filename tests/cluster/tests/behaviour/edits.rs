//! Edits of users, and of others on what is ours: everything takes effect, removals too, and what is not ours stays.

use cluster_tests::{Cluster, GatewayApi, kinds, need};
use serde_json::{Value, json};

use crate::site::{Found, Site, same, uid};

fn with_annotations(mut object: Value, annotations: Value) -> Value {
    object["metadata"]["annotations"] = annotations;
    object
}

fn absent(object: &Value, pointer: &str) -> Found {
    match object.pointer(pointer) {
        None | Some(Value::Null) => Ok(()),
        Some(found) => Err(format!("{pointer} is still {found}")),
    }
}

#[tokio::test]
async fn what_users_take_away_goes_from_the_service() {
    let test = "what_users_take_away_goes_from_the_service";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let site = Site::new(cluster, "taken-away").await;
    let settings = json!({
        "stunner.l7mp.io/external-traffic-policy": "local",
        "stunner.l7mp.io/disable-session-affinity": "true",
        "stunner.l7mp.io/targetport": r#"{"udp":3479}"#,
        "stunner.l7mp.io/load-balancer-source-ranges": "10.0.0.0/8",
        "example.test/of-gateway": "1",
        "kubectl.kubernetes.io/last-applied-configuration": "{}",
    });
    let mut gateway = with_annotations(site.gateway("gw"), settings);
    gateway["spec"]["addresses"] = json!([{ "type": "IPAddress", "value": "192.0.2.7" }]);
    site.apply(gateway).await;
    let mut config = site.config();
    config["spec"]["loadBalancerServiceAnnotations"] = json!({ "example.test/of-config": "1" });
    site.apply(config).await;
    let operator = site.operator(cluster).await;
    let before = site
        .object(kinds::SERVICE, "gw", |live| {
            let spec = &live["spec"];
            same(&spec["externalTrafficPolicy"], "Local")?;
            same(&spec["sessionAffinity"], "None")?;
            same(&spec["loadBalancerIP"], "192.0.2.7")?;
            same(&spec["externalIPs"], json!(["192.0.2.7"]))?;
            same(&spec["ports"][0]["targetPort"], 3479)?;
            same(&spec["loadBalancerSourceRanges"], json!(["10.0.0.0/8"]))?;
            same(
                &live["metadata"]["annotations"]["example.test/of-gateway"],
                "1",
            )?;
            same(
                &live["metadata"]["annotations"]["example.test/of-config"],
                "1",
            )?;
            absent(
                live,
                "/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration",
            )
        })
        .await;
    site.discovered(&operator, "gw", |config| {
        same(&config["listeners"][0]["port"], 3479)?;
        same(&config["listeners"][0]["public_address"], "192.0.2.7")
    })
    .await;
    // Others have a hand in it too.
    let foreign = json!({ "metadata": {
        "labels": { "example.test/label": "theirs" },
        "annotations": { "example.test/annotation": "theirs" },
        "finalizers": ["example.test/hold"],
    }});
    site.objects
        .merge(kinds::SERVICE, &site.name, "gw", foreign)
        .await;

    site.apply(site.gateway("gw")).await;
    site.apply(site.config()).await;
    let after = site
        .object(kinds::SERVICE, "gw", |live| {
            let spec = &live["spec"];
            same(&spec["externalTrafficPolicy"], "Cluster")?;
            same(&spec["sessionAffinity"], "ClientIP")?;
            same(&spec["ports"][0]["targetPort"], 3478)?;
            for gone in [
                "/spec/loadBalancerIP",
                "/spec/externalIPs",
                "/spec/loadBalancerSourceRanges",
                "/spec/healthCheckNodePort",
                "/metadata/annotations/example.test~1of-gateway",
                "/metadata/annotations/example.test~1of-config",
            ] {
                absent(live, gone)?;
            }
            same(&live["metadata"]["labels"]["example.test/label"], "theirs")?;
            same(
                &live["metadata"]["annotations"]["example.test/annotation"],
                "theirs",
            )?;
            same(
                &live["metadata"]["finalizers"],
                json!(["example.test/hold"]),
            )
        })
        .await;
    assert_eq!(uid(&before), uid(&after));
    for field in ["clusterIP", "type"] {
        assert_eq!(before["spec"][field], after["spec"][field]);
    }
    assert_eq!(
        before["spec"]["ports"][0]["nodePort"],
        after["spec"]["ports"][0]["nodePort"]
    );
    let deployment = site.object(kinds::DEPLOYMENT, "gw", |live| {
        absent(live, "/metadata/annotations/example.test~1of-gateway")
    });
    deployment.await;
    site.objects
        .merge(
            kinds::SERVICE,
            &site.name,
            "gw",
            json!({ "metadata": { "finalizers": null } }),
        )
        .await;
}

#[tokio::test]
async fn what_others_change_on_our_fields_is_put_back() {
    let test = "what_others_change_on_our_fields_is_put_back";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let site = Site::new(cluster, "put-back").await;
    site.apply(site.gateway("gw")).await;
    let operator = site.operator(cluster).await;
    site.serve(&operator, "gw").await;
    let patch = json!({
        "metadata": { "annotations": { "stunner.l7mp.io/related-gateway-name": null } },
        "spec": { "sessionAffinity": "None" },
    });
    site.objects
        .merge(kinds::SERVICE, &site.name, "gw", patch)
        .await;
    let related = "stunner.l7mp.io/related-gateway-name";
    site.object(kinds::SERVICE, "gw", |live| {
        same(&live["spec"]["sessionAffinity"], "ClientIP")?;
        same(&live["metadata"]["annotations"][related], "put-back/gw")
    })
    .await;
    let patch =
        json!({ "spec": { "template": { "spec": { "terminationGracePeriodSeconds": 5 } } } });
    site.objects
        .merge(kinds::DEPLOYMENT, &site.name, "gw", patch)
        .await;
    site.object(kinds::DEPLOYMENT, "gw", |live| {
        let pod = &live["spec"]["template"]["spec"];
        same(&pod["terminationGracePeriodSeconds"], 30)
    })
    .await;
    let unlabelled = json!({ "metadata": { "labels": { "stunner.l7mp.io/owned-by": null } } });
    for kind in [kinds::SERVICE, kinds::DEPLOYMENT] {
        site.objects
            .merge(kind, &site.name, "gw", unlabelled.clone())
            .await;
        site.object(kind, "gw", |live| {
            same(
                &live["metadata"]["labels"]["stunner.l7mp.io/owned-by"],
                "stunner",
            )
        })
        .await;
    }
    // What is deleted is made again.
    for kind in [kinds::SERVICE, kinds::DEPLOYMENT] {
        let old = site.object(kind, "gw", |_| Ok(())).await;
        site.objects.delete(kind, &site.name, "gw").await;
        site.object(kind, "gw", |live| match uid(live) == uid(&old) {
            false => Ok(()),
            true => Err("the old one".to_owned()),
        })
        .await;
    }
}

#[tokio::test]
async fn a_scale_a_restart_and_fields_of_the_dataplane() {
    let test = "a_scale_a_restart_and_fields_of_the_dataplane";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let site = Site::new(cluster, "scaled").await;
    let mut dataplane = site.dataplane();
    dataplane["spec"]["args"] = json!(["--udp-thread-num=4"]);
    dataplane["spec"]["terminationGracePeriodSeconds"] = json!(60);
    dataplane["spec"]["labels"] = json!({ "pool": "turn" });
    dataplane["spec"]["hostNetwork"] = json!(true);
    site.apply(dataplane).await;
    site.apply(site.gateway("gw")).await;
    let operator = site.operator(cluster).await;
    site.serve(&operator, "gw").await;
    let pod = |live: &Value| live["spec"]["template"]["spec"].clone();
    site.object(kinds::DEPLOYMENT, "gw", |live| {
        same(&pod(live)["terminationGracePeriodSeconds"], 60)?;
        same(&pod(live)["hostNetwork"], true)?;
        same(&pod(live)["dnsPolicy"], "ClusterFirstWithHostNet")
    })
    .await;
    // A scaler and `kubectl rollout restart`.
    let patch = json!({ "spec": { "replicas": 7, "template": { "metadata": { "annotations": {
        "kubectl.kubernetes.io/restartedAt": "2026-01-01T00:00:00Z",
    }}}}});
    site.objects
        .merge(kinds::DEPLOYMENT, &site.name, "gw", patch)
        .await;
    let foreign = json!({ "spec": { "replicas": 7 } });
    site.objects
        .merge(kinds::DEPLOYMENT, &site.name, "gw", foreign)
        .await;
    site.apply(site.dataplane()).await;
    site.object(kinds::DEPLOYMENT, "gw", |live| {
        same(&pod(live)["terminationGracePeriodSeconds"], 30)?;
        same(&pod(live)["dnsPolicy"], "ClusterFirst")?;
        absent(&pod(live), "/hostNetwork")?;
        absent(live, "/spec/template/metadata/labels/pool")?;
        same(&live["spec"]["replicas"], 7)?;
        let annotations = &live["spec"]["template"]["metadata"]["annotations"];
        same(
            &annotations["kubectl.kubernetes.io/restartedAt"],
            "2026-01-01T00:00:00Z",
        )
    })
    .await;
    let mut dataplane = site.dataplane();
    dataplane["spec"]["replicas"] = json!(3);
    site.apply(dataplane).await;
    site.object(kinds::DEPLOYMENT, "gw", |live| {
        same(&live["spec"]["replicas"], 3)
    })
    .await;
}

#[tokio::test]
async fn a_dataplane_that_is_not_managed_keeps_its_service_and_config() {
    let test = "a_dataplane_that_is_not_managed_keeps_its_service_and_config";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let site = Site::new(cluster, "unmanaged").await;
    site.apply(site.gateway("gw")).await;
    let operator = site.operator(cluster).await;
    site.serve(&operator, "gw").await;
    let before = site.object(kinds::SERVICE, "gw", |_| Ok(())).await;
    let config = operator.cds().config(&site.name, "gw").expect("a config");
    let off = json!({ "stunner.l7mp.io/disable-managed-dataplane": "true" });
    site.apply(with_annotations(site.gateway("gw"), off)).await;
    site.gone(kinds::DEPLOYMENT, "gw").await;
    site.discovered(&operator, "gw", |now| same(now, config.clone()))
        .await;
    let wanted = [("Accepted", "True"), ("Programmed", "True")];
    site.conditions(kinds::GATEWAY, "gw", &wanted).await;
    site.apply(site.gateway("gw")).await;
    site.object(kinds::DEPLOYMENT, "gw", |_| Ok(())).await;
    let after = site.object(kinds::SERVICE, "gw", |_| Ok(())).await;
    assert_eq!(uid(&before), uid(&after));
}
