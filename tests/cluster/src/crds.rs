//! The CRDs of a Gateway API release and ours.

use std::path::{Path, PathBuf};

use futures_util::future::join_all;
use serde_json::Value;

use crate::eventually::eventually;
use crate::kinds;
use crate::objects::Objects;

/// Which Gateway API a cluster has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum GatewayApi {
    /// 1.6, standard channel: UDPRoute `v1`.
    V1_6Standard,
    /// 1.6, experimental channel: UDPRoute also as `v1alpha2`.
    V1_6Experimental,
    /// 1.0, experimental channel, which the Go operator was tested with: UDPRoute as `v1alpha2` only.
    V1_0,
}

impl GatewayApi {
    fn folder(self) -> &'static str {
        match self {
            Self::V1_6Standard => "gateway-api-v1.6.3/standard",
            Self::V1_6Experimental => "gateway-api-v1.6.3/experimental",
            Self::V1_0 => "gateway-api-v1.0.0/experimental",
        }
    }
}

/// Installs the CRDs of `api` from the folder of the Kubernetes programs, then ours, and waits until they are served.
pub async fn install(objects: &Objects, programs: &Path, api: GatewayApi) {
    let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/crds");
    let mut files = yaml_files(&programs.join(api.folder()));
    files.extend(yaml_files(&ours));
    let documents = files
        .iter()
        .flat_map(|file| crate::objects::parse(&read(file)))
        .collect::<Vec<_>>();
    let (crds, others): (Vec<_>, Vec<_>) = documents
        .iter()
        .partition(|document| document["kind"] == "CustomResourceDefinition");
    join_all(crds.iter().map(|crd| objects.apply_object(crd))).await;
    join_all(crds.iter().map(|crd| established(objects, crd))).await;
    // The 1.6 manifests end in an admission policy that guards the CRDs against downgrades.
    join_all(others.iter().map(|other| objects.apply_object(other))).await;
}

async fn established(objects: &Objects, crd: &Value) {
    let name = crd["metadata"]["name"].as_str().expect("a CRD has a name");
    eventually(&format!("CRD {name} is established"), async || {
        let live = objects.find(kinds::CRD, "", name).await.ok_or("absent")?;
        let conditions = live["status"]["conditions"].as_array();
        let established = conditions
            .into_iter()
            .flatten()
            .any(|condition| condition["type"] == "Established" && condition["status"] == "True");
        established
            .then_some(())
            .ok_or_else(|| live["status"].to_string())
    })
    .await;
}

fn yaml_files(dir: &Path) -> Vec<PathBuf> {
    let entries =
        std::fs::read_dir(dir).unwrap_or_else(|error| panic!("read {}: {error}", dir.display()));
    let mut files = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "yaml")
        })
        .filter(|path| {
            path.file_name()
                .is_some_and(|name| name != "kustomization.yaml")
        })
        .collect::<Vec<_>>();
    files.sort();
    files
}

fn read(file: &Path) -> String {
    std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}
