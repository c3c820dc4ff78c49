//! Manifests in, configurations, objects and statuses out.
//!
//! `NNN-name/in.yaml` is a whole world: every object, live ones included. Documents of three kinds that no
//! cluster has stand for what else translation looks at: `Settings`, `LastGood` and `WriteFailure`. The comment on top
//! says what the case is about, then lines of their own what it proves and, where the rest would only distract, what
//! of the plan `out.yaml` shows:
//!
//! ```text
//! # A load balancer with one address gives it to every listener.
//! # proves: U127
//! # proves: seed 001 Gateway addresses
//! # shows: gateways configs
//! ```
//!
//! `UPDATE=1 cargo test -p stunner-translate --test golden` writes the `out.yaml` files anew; review the difference.

mod hostile;
mod incremental;
mod overview;
mod proofs;
#[path = "../support/mod.rs"]
mod support;
mod view;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use serde_json::Value;
use stunner_api::NamespacedName;
use stunner_translate::{
    LastGood, Mode, Plan, ReferenceGrants, Settings, Snapshot, Unit, WorkloadKind, WriteFailure,
    farewell, translate, translate_units,
};
use support::{documents, object, read, stored};

/// A folder with a case.
struct Case {
    name: String,
    folder: PathBuf,
    /// Of the comment on top of `in.yaml`.
    proves: Vec<String>,
    shows: BTreeSet<String>,
    documents: Vec<Value>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

static CASES: LazyLock<Vec<Case>> = LazyLock::new(|| {
    let mut folders: Vec<PathBuf> = std::fs::read_dir(root())
        .expect("the folder of cases")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.is_dir())
        .collect();
    folders.sort();
    folders.into_iter().map(Case::read).collect()
});

impl Case {
    fn read(folder: PathBuf) -> Case {
        let text = read(&folder.join("in.yaml"));
        let comments: Vec<&str> = text
            .lines()
            .map_while(|line| line.strip_prefix("# "))
            .collect();
        let lines = |key: &'static str| {
            let comments = comments.iter();
            comments.filter_map(move |line| line.strip_prefix(key))
        };
        Case {
            name: folder
                .file_name()
                .map(|name| name.to_string_lossy().into_owned())
                .unwrap_or_default(),
            proves: lines("proves: ").map(str::to_owned).collect(),
            shows: lines("shows: ")
                .flat_map(str::split_whitespace)
                .map(str::to_owned)
                .collect(),
            documents: documents(&text),
            folder,
        }
    }

    fn settings(&self) -> Settings {
        // The built-in image carries our version, which is nobody's business here.
        let mut settings = Settings {
            dataplane_image: "example.test/built-in/stunnerd:1".to_owned(),
            ..Settings::default()
        };
        let given = self.documents.iter().filter(|d| d["kind"] == "Settings");
        for (key, value) in given.flat_map(|document| document.as_object()).flatten() {
            set(&mut settings, key, value);
        }
        settings
    }

    /// What is known before any object is: what Gateways ran on, and what could not be written.
    fn beginning(&self) -> Snapshot {
        let mut snapshot = Snapshot::default();
        for document in &self.documents {
            match document["kind"].as_str() {
                Some("LastGood") => {
                    let gateway = gateway_of(document);
                    let last_good: LastGood = serde_json::from_value(document["spec"].clone())
                        .unwrap_or_else(|error| panic!("{}: {error}", self.name));
                    snapshot.set_last_good(&gateway, Some(last_good));
                }
                Some("WriteFailure") => {
                    let (kind, failure) = write_failure(document);
                    snapshot.set_write_failure(&gateway_of(document), kind, Some(failure));
                }
                _ => {}
            }
        }
        snapshot
    }

    /// The world, learned in the order of the file or the other way round.
    fn snapshot(&self, backwards: bool) -> Snapshot {
        let mut snapshot = self.beginning();
        let mut documents: Vec<&Value> = self.documents.iter().collect();
        if backwards {
            documents.reverse();
        }
        for document in documents {
            if matches!(
                document["kind"].as_str(),
                Some("Settings" | "LastGood" | "WriteFailure")
            ) {
                continue;
            }
            let object = object(&stored(document.clone()))
                .unwrap_or_else(|| panic!("{}: unknown kind {document}", self.name));
            snapshot.apply(object);
        }
        snapshot
    }

    fn plan(&self) -> Plan {
        let farewell_is_meant = self
            .documents
            .iter()
            .any(|document| document["farewell"] == true);
        if farewell_is_meant {
            farewell(&self.snapshot(false), &self.settings())
        } else {
            translate(&self.snapshot(false), &self.settings())
        }
    }
}

fn gateway_of(document: &Value) -> NamespacedName {
    let metadata = &document["metadata"];
    NamespacedName::new(
        metadata["namespace"].as_str().expect("a namespace"),
        metadata["name"].as_str().expect("a name"),
    )
}

fn write_failure(document: &Value) -> (WorkloadKind, WriteFailure) {
    let kind = match document["object"].as_str() {
        Some("Service") => WorkloadKind::Service,
        Some("ConfigMap") => WorkloadKind::ConfigMap,
        Some("Deployment") => WorkloadKind::Deployment,
        Some("DaemonSet") => WorkloadKind::DaemonSet,
        other => panic!("unknown object {other:?}"),
    };
    let failure = WriteFailure {
        message: document["message"].as_str().expect("a message").to_owned(),
        external_ips_refused: document["externalIPsRefused"] == true,
    };
    (kind, failure)
}

fn set(settings: &mut Settings, key: &str, value: &Value) {
    let flag = || value.as_bool().expect("a flag");
    let text = || value.as_str().map(str::to_owned);
    match key {
        "kind" | "farewell" => {}
        "controllerName" => settings.controller_name = text().expect("a name"),
        "dataplaneMode" if value == "legacy" => settings.mode = Mode::Legacy,
        "endpointDiscovery" => settings.endpoint_discovery = flag(),
        "endpointSlices" => settings.endpoint_slices = flag(),
        "relayToClusterIP" => settings.relay_to_cluster_ip = flag(),
        "clusterDomain" => settings.cluster_domain = text().expect("a domain"),
        "referenceGrants" if value == "enforce" => {
            settings.reference_grants = ReferenceGrants::Enforce;
        }
        "labelFilter" => {
            settings.label_filter = serde_json::from_value(value.clone()).expect("a list");
        }
        "dataplaneImage" => settings.dataplane_image = text().expect("an image"),
        "plainOrigin" => settings.cds.plain_origin = text().expect("an origin"),
        "tlsOrigin" => settings.cds.tls_origin = text(),
        "caCertificate" => settings.cds.ca_certificate = text(),
        "supportedFeatures" => settings.gateway_api.supported_features = flag(),
        "tcpRoutes" => settings.gateway_api.tcp_routes = flag(),
        "officialUDPRoutes" => settings.gateway_api.official_udp_routes = flag(),
        _ => panic!("unknown setting {key}: {value}"),
    }
}

#[test]
fn every_case_gives_what_it_says() {
    let update = std::env::var_os("UPDATE").is_some();
    let mut different = Vec::new();
    for case in CASES.iter() {
        let path = case.folder.join("out.yaml");
        let found = view::text(&case.plan(), &case.shows);
        if update {
            std::fs::write(&path, found).expect("out.yaml can be written");
        } else if !path.exists() || read(&path) != found {
            different.push(format!("{}:\n{found}", case.name));
        }
    }
    assert!(
        different.is_empty(),
        "not as out.yaml says (UPDATE=1 writes it anew):\n{}",
        different.join("\n")
    );
}

#[test]
fn the_order_in_which_a_world_is_learned_does_not_matter() {
    for case in CASES.iter() {
        let settings = case.settings();
        assert_eq!(
            translate(&case.snapshot(false), &settings),
            translate(&case.snapshot(true), &settings),
            "{}",
            case.name
        );
    }
}

#[test]
fn the_whole_is_the_union_of_its_units() {
    for case in CASES.iter() {
        let (snapshot, settings) = (case.snapshot(false), case.settings());
        let mut union = Plan::default();
        for unit in snapshot.units() {
            let part = translate_units(&snapshot, &settings, &BTreeSet::from([unit.clone()]));
            match unit {
                Unit::Class(_) => union.classes.extend(part.classes),
                Unit::Gateway(_) => union.gateways.extend(part.gateways),
                Unit::Route(..) => union.routes.extend(part.routes),
            }
        }
        assert_eq!(union, translate(&snapshot, &settings), "{}", case.name);
    }
}
