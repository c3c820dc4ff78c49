//! Our definitions and install manifests as a real API server understands them.

use std::path::Path;

use cluster_tests::{Cluster, GatewayApi, Objects, kinds, need};
use serde_json::{Value, json};

fn object(api_version: &str, kind: &str, name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": format!("stunner.l7mp.io/{api_version}"),
        "kind": kind,
        "metadata": {"name": name, "namespace": "default"},
        "spec": spec,
    })
}

/// Specs that are taken, and specs that are refused with a word of the message.
fn cases() -> Vec<(&'static str, Value, Option<&'static str>)> {
    let route = |backend: Value| json!({"parentRefs": [{"name": "gateway"}], "rules": [{"backendRefs": [backend]}]});
    let prefix = |prefix: &str| json!({"prefixes": [prefix]});
    vec![
        ("UDPRoute", route(json!({"name": "a"})), None),
        ("UDPRoute", route(json!({"name": "a", "port": 1})), None),
        (
            "UDPRoute",
            route(json!({"name": "a", "port": 5, "endPort": 5})),
            None,
        ),
        (
            "UDPRoute",
            route(json!({"name": "a", "port": 1, "endPort": 65535})),
            None,
        ),
        (
            "UDPRoute",
            route(json!({"name": "a", "port": 5, "endPort": 4})),
            Some("endPort must not be below port"),
        ),
        (
            "UDPRoute",
            route(json!({"name": "a", "endPort": 4})),
            Some("endPort needs port"),
        ),
        (
            "UDPRoute",
            route(json!({"name": "a", "port": 0})),
            Some("greater than or equal to 1"),
        ),
        (
            "UDPRoute",
            route(json!({"name": "a", "port": 65536})),
            Some("less than or equal to 65535"),
        ),
        (
            "UDPRoute",
            route(json!({"kind": "Service"})),
            Some("backendRefs[0].name"),
        ),
        ("UDPRoute", json!({"rules": []}), Some("at least 1 item")),
        (
            "UDPRoute",
            json!({"rules": vec![json!({}); 17]}),
            Some("at most 16 items"),
        ),
        (
            "UDPRoute",
            json!({"rules": [{}], "parentRefs": vec![json!({"name": "g"}); 33]}),
            Some("at most 32 items"),
        ),
        ("StaticService", prefix("192.0.2.1"), None),
        ("StaticService", prefix("0.0.0.0/0"), None),
        ("StaticService", prefix("2001:db8::1"), None),
        ("StaticService", prefix("2001:db8::/32"), None),
        ("StaticService", prefix("300.0.0.1"), Some("prefixes[0]")),
        ("StaticService", prefix("10.0.0.0/33"), Some("prefixes[0]")),
        ("StaticService", prefix("example.com"), Some("prefixes[0]")),
        ("StaticService", prefix(""), Some("prefixes[0]")),
        ("StaticService", json!({}), Some("spec.prefixes")),
        ("GatewayConfig", json!({}), None),
        ("GatewayConfig", json!({"realm": "example.com"}), None),
        (
            "GatewayConfig",
            json!({"realm": "Example.com"}),
            Some("spec.realm"),
        ),
        ("GatewayConfig", json!({"realm": "-a"}), Some("spec.realm")),
        ("GatewayConfig", json!({"authType": "static"}), None),
        ("GatewayConfig", json!({"authType": "plaintext"}), None),
        ("GatewayConfig", json!({"authType": "ephemeral"}), None),
        ("GatewayConfig", json!({"authType": "longterm"}), None),
        ("GatewayConfig", json!({"authType": "timewindowed"}), None),
        (
            "GatewayConfig",
            json!({"authType": "xstaticx"}),
            Some("spec.authType"),
        ),
        ("GatewayConfig", json!({"username": "user"}), None),
        (
            "GatewayConfig",
            json!({"userName": "user", "username": "user"}),
            Some("another spelling"),
        ),
        (
            "GatewayConfig",
            json!({"userName": "a b"}),
            Some("spec.userName"),
        ),
        (
            "GatewayConfig",
            json!({"authRef": {"namespace": "default"}}),
            Some("spec.authRef.name"),
        ),
        (
            "Dataplane",
            json!({"resources": {"limits": {"cpu": 2, "memory": "512Mi"}}}),
            None,
        ),
        ("Dataplane", json!({"dataplaneResource": "DaemonSet"}), None),
        (
            "Dataplane",
            json!({"dataplaneResource": "Job"}),
            Some("spec.dataplaneResource"),
        ),
        ("Dataplane", json!({"offloadEngine": "XDP"}), None),
        (
            "Dataplane",
            json!({"offloadEngine": "xNonex"}),
            Some("spec.offloadEngine"),
        ),
        ("Dataplane", json!({"replicas": -1}), Some("spec.replicas")),
    ]
}

#[tokio::test]
async fn specs_are_taken_or_refused_as_the_rules_say() {
    let test = "specs_are_taken_or_refused_as_the_rules_say";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let objects = cluster.objects().await;
    for (index, (kind, spec, refusal)) in cases().into_iter().enumerate() {
        let object = object("v1", kind, &format!("case-{index}"), &spec);
        match (objects.try_apply_object(&object).await, refusal) {
            (Ok(_), None) => {}
            (Err(refused), Some(word)) => {
                assert_eq!(refused.code, 422, "{kind} {spec}: {}", refused.message);
                assert!(
                    refused.message.contains(word),
                    "{kind} {spec}: {}",
                    refused.message
                );
            }
            (Ok(_), Some(word)) => panic!("{kind} {spec} is taken, without a word on {word}"),
            (Err(refused), None) => panic!("{kind} {spec} is refused: {}", refused.message),
        }
    }
}

#[tokio::test]
async fn fields_of_the_old_version_survive_in_the_new_one() {
    let test = "fields_of_the_old_version_survive_in_the_new_one";
    let cluster = need!(test, Cluster::shared(GatewayApi::V1_6Standard));
    let objects = cluster.objects().await;
    let old = [
        (
            "GatewayConfig",
            json!({
                "stunnerConfig": "my-config", "metricsEndpoint": "http://:8080/metrics",
                "healthCheckEndpoint": "http://:8086", "minPort": 10000, "maxPort": 20000, "userQuota": 3,
            }),
        ),
        (
            "StaticService",
            json!({"prefixes": ["192.0.2.1"], "ports": [{"name": "udp", "port": 1, "protocol": "UDP"}]}),
        ),
        (
            "Dataplane",
            json!({"healthCheckPort": 8086, "replicas": 2, "offloadInterfaces": ["eth0"]}),
        ),
    ];
    for (kind, spec) in old {
        objects
            .apply_object(&object("v1alpha1", kind, "old", &spec))
            .await;
        let namespace = if kind == "Dataplane" { "" } else { "default" };
        let stored = kinds::Kind::find("stunner.l7mp.io/v1", kind).expect("a kind of ours");
        let live = objects
            .find(stored, namespace, "old")
            .await
            .expect("an object");
        for (field, value) in spec.as_object().expect("fields") {
            assert_eq!(&live["spec"][field], value, "{kind} {field}");
        }
    }
}

/// The Go system's definitions let more pass than ours; what is stored must stay editable.
#[tokio::test]
async fn objects_from_before_the_rules_can_be_edited() {
    let test = "objects_from_before_the_rules_can_be_edited";
    let cluster = need!(test, Cluster::start(GatewayApi::V1_6Standard).await);
    let objects = cluster.objects().await;
    let odd = [
        (
            kinds::GATEWAY_CONFIG,
            json!({"authType": "xstaticx", "realm": "Odd"}),
            json!({"logLevel": "all:DEBUG"}),
        ),
        (
            kinds::STATIC_SERVICE,
            json!({"prefixes": ["nonsense"]}),
            json!({"ports": [{"port": 1}]}),
        ),
        (
            kinds::UDP_ROUTE,
            json!({"rules": [{"backendRefs": [{"name": "a", "endPort": -1}]}]}),
            json!({"parentRefs": [{"name": "gateway"}]}),
        ),
        (
            kinds::DATAPLANE,
            json!({"offloadEngine": "xNonex"}),
            json!({"image": "example.com/stunnerd"}),
        ),
    ];
    for (kind, _, _) in &odd {
        set_schema(&objects, *kind, |schema| {
            json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true, "description": schema["description"]})
        })
        .await;
    }
    for (kind, spec, _) in &odd {
        let object = object("v1", kind.name, "odd", spec);
        cluster_tests::eventually("the odd object is stored", async || {
            objects
                .try_apply_object(&object)
                .await
                .map(|_| ())
                .map_err(|refused| refused.message)
        })
        .await;
    }
    install(&objects, "deploy/crds").await;
    for (kind, spec, edit) in &odd {
        let namespace = if kind.namespaced { "default" } else { "" };
        // The rules are in force again once a new object of this form is refused.
        let fresh = object("v1", kind.name, "fresh", spec);
        cluster_tests::eventually("the rules are in force", async || {
            match objects.try_apply_object(&fresh).await {
                Err(refused) if refused.code == 422 => Ok(()),
                other => {
                    objects.delete(*kind, namespace, "fresh").await;
                    Err(format!("{other:?}"))
                }
            }
        })
        .await;
        let edited = objects
            .merge(*kind, namespace, "odd", json!({"spec": edit}))
            .await;
        for (field, value) in spec.as_object().expect("fields") {
            assert!(
                same(&edited["spec"][field], value),
                "{} {field}: {edited:#}",
                kind.name
            );
        }
    }
}

/// Equal but for what the API server fills in.
fn same(live: &Value, written: &Value) -> bool {
    match (live, written) {
        (Value::Object(live), Value::Object(written)) => written
            .iter()
            .all(|(name, value)| live.get(name).is_some_and(|live| same(live, value))),
        (Value::Array(live), Value::Array(written)) => {
            live.len() == written.len()
                && live
                    .iter()
                    .zip(written)
                    .all(|(live, written)| same(live, written))
        }
        _ => live == written,
    }
}

async fn set_schema(objects: &Objects, kind: kinds::Kind, change: impl Fn(&Value) -> Value) {
    let name = format!("{}.{}", kind.plural, kind.group);
    let live = objects
        .find(kinds::CRD, "", &name)
        .await
        .expect("a definition");
    let mut versions = live["spec"]["versions"].clone();
    for version in versions.as_array_mut().expect("versions") {
        let schema = &mut version["schema"]["openAPIV3Schema"];
        *schema = change(schema);
    }
    objects
        .merge(
            kinds::CRD,
            "",
            &name,
            json!({"spec": {"versions": versions}}),
        )
        .await;
}

#[tokio::test]
async fn both_sets_of_install_manifests_apply() {
    let test = "both_sets_of_install_manifests_apply";
    let cluster = need!(test, Cluster::start(GatewayApi::V1_6Standard).await);
    let objects = cluster.objects().await;
    install(&objects, "deploy/manifests").await;
    let dataplane = objects
        .find(kinds::DATAPLANE, "", "default")
        .await
        .expect("the default Dataplane");
    assert_eq!(dataplane["spec"]["terminationGracePeriodSeconds"], 3600);
    objects
        .apply("{apiVersion: v1, kind: Namespace, metadata: {name: stunner}}")
        .await;
    install(&objects, "deploy/manifests/namespaced").await;
}

/// Applies the files of a folder, in the order of their names, as `kubectl apply -f` does.
async fn install(objects: &Objects, folder: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(folder);
    let entries = std::fs::read_dir(&folder).expect("a folder of manifests");
    let mut files: Vec<_> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.is_file())
        .collect();
    files.sort();
    for file in files {
        objects
            .apply(&std::fs::read_to_string(&file).expect("a manifest"))
            .await;
    }
}
