//! The install manifests start the service as it wants to be started.

use std::ffi::OsString;

use serde_json::Value;
use stunner_auth::cli::{Command, Options, parse};

use crate::service::{ask, service, settings};

/// The container of the authentication service in each set of manifests.
fn containers() -> Vec<Value> {
    let manifests = stunner_api::install::manifests();
    let documents = manifests.iter().flat_map(|manifest| &manifest.documents);
    documents
        .map(|document| &document.object)
        .filter(|object| object["kind"] == "Deployment")
        .filter(|object| object["metadata"]["name"] == "stunner-auth")
        .map(|object| object["spec"]["template"]["spec"]["containers"][0].clone())
        .collect()
}

fn options(container: &Value) -> Options {
    let words = |key: &str| {
        let words = container[key].as_array().expect("words").iter();
        words.map(|word| OsString::from(word.as_str().expect("a word")))
    };
    let command = parse(words("command").chain(words("args")), &|_| None);
    match command {
        Ok(Command::Run(options)) => *options,
        other => panic!("{other:?}"),
    }
}

#[test]
fn it_asks_config_discovery_over_tls_with_a_token_of_its_own() {
    let containers = containers();
    assert_eq!(containers.len(), 2);
    for container in &containers {
        let options = options(container);
        assert_eq!(options.listen.to_string(), ":8088");
        let address = options.cds.address.expect("an address");
        assert_eq!(
            address,
            "https://stunner-config-discovery.stunner-system.svc:13479"
        );
        let folder = container["volumeMounts"][0]["mountPath"]
            .as_str()
            .expect("a path");
        for file in [options.cds.token_file, options.cds.ca_file] {
            assert!(file.expect("a file").starts_with(folder));
        }
    }
}

#[tokio::test]
async fn its_probes_are_answered() {
    let router = service(stunner_auth::answer::Gateways::default(), settings(None)).router();
    for container in containers() {
        for probe in ["livenessProbe", "readinessProbe"] {
            let path = container[probe]["httpGet"]["path"]
                .as_str()
                .expect("a path");
            assert_eq!(ask(&router, &format!("GET {path}"), &[]).await.status, 200);
        }
    }
}
