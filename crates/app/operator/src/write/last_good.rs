//! Last good inputs of Gateways, kept as Secrets in the operator's own namespace.
//!
//! They hold credentials and keys of their Gateways, so they live where the operator has a Role of its own and nobody
//! else has business, and in no place where users of a Gateway's namespace look.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Client;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, Preconditions};
use sha2::{Digest, Sha256};
use stunner_api::NamespacedName;
use stunner_api::names::{FIELD_MANAGER, annotation, label, last_good as names};
use stunner_translate::LastGood;

use super::error::{WriteError, bounded};
use super::live::Live;

/// Why the Secrets could not be read.
#[derive(Debug, thiserror::Error)]
#[error("the Secrets with last good inputs in namespace `{namespace}` cannot be read: {why}")]
pub struct LastGoodError {
    namespace: String,
    why: WriteError,
}

impl LastGoodError {
    /// Whether asking again is of no use until somebody changes something.
    pub fn is_refusal(&self) -> bool {
        self.why.is_refusal()
    }
}

/// The Secrets with last good inputs, and what is in them.
pub struct LastGoodSecrets {
    client: Client,
    namespace: String,
    /// Operators of other classes may live in the same namespace.
    controller_name: String,
    stored: Mutex<HashMap<NamespacedName, Arc<LastGood>>>,
    has_warned: AtomicBool,
}

impl std::fmt::Debug for LastGoodSecrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LastGoodSecrets")
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}

impl LastGoodSecrets {
    /// `namespace` is the operator's own.
    pub fn new(
        client: Client,
        namespace: impl Into<String>,
        controller_name: impl Into<String>,
    ) -> Self {
        LastGoodSecrets {
            client,
            namespace: namespace.into(),
            controller_name: controller_name.into(),
            stored: Mutex::default(),
            has_warned: AtomicBool::new(false),
        }
    }

    /// All that is stored, by Gateway, by operators of this controller name. What cannot be understood is left out.
    pub async fn load(&self) -> Result<BTreeMap<NamespacedName, Arc<LastGood>>, LastGoodError> {
        let secrets = bounded(self.api().list(&all())).await;
        // What is not known to be stored is stored again.
        self.lock().clear();
        let secrets = secrets.map_err(|why| LastGoodError {
            namespace: self.namespace.clone(),
            why,
        })?;
        let loaded: BTreeMap<_, _> = secrets
            .iter()
            .filter(|secret| is_of(&secret.metadata, &self.controller_name))
            .filter_map(read)
            .collect();
        *self.lock() = loaded.clone().into_iter().collect();
        Ok(loaded)
    }

    /// What is stored for a Gateway, as far as is known.
    pub(super) fn stored(&self, gateway: &NamespacedName) -> Option<Arc<LastGood>> {
        self.lock().get(gateway).cloned()
    }

    pub(super) async fn store(
        &self,
        gateway: &NamespacedName,
        last_good: &LastGood,
    ) -> Result<(), WriteError> {
        let secret = secret(&self.namespace, &self.controller_name, gateway, last_good)
            .map_err(|error| WriteError::Refused(error.to_string()))?;
        let params = PatchParams::apply(FIELD_MANAGER).force();
        let name = secret_name(gateway);
        bounded(self.api().patch(&name, &params, &Patch::Apply(&secret)))
            .await
            .inspect_err(|error| self.warn(error))?;
        let last_good = Arc::new(last_good.clone());
        self.lock().insert(gateway.clone(), last_good);
        Ok(())
    }

    pub(super) async fn delete(&self, gateway: &NamespacedName) -> Result<(), WriteError> {
        let name = secret_name(gateway);
        let stored = bounded(self.api().get_metadata_opt(&name)).await?;
        // The Gateway may have moved to another operator in this namespace, which stores its own inputs for it.
        if let Some(secret) = stored
            && is_of(&secret.metadata, &self.controller_name)
        {
            let params = DeleteParams {
                preconditions: Some(Preconditions {
                    uid: secret.metadata.uid,
                    resource_version: secret.metadata.resource_version,
                }),
                ..DeleteParams::default()
            };
            match bounded(self.api().delete(&name, &params)).await {
                Ok(_) | Err(WriteError::NotFound) => {}
                Err(error) => return Err(error),
            }
        }
        self.lock().remove(gateway);
        Ok(())
    }

    /// Stores again what somebody deleted. Of a Gateway that is on its way out nothing is brought back.
    pub(super) async fn put_back(&self, live: &Live) -> Result<(), WriteError> {
        // What is stored while the list is under way does not count as deleted.
        let expected: Vec<_> = self.lock().clone().into_iter().collect();
        let found = bounded(self.api().list_metadata(&all())).await?;
        let found: HashSet<_> = found
            .into_iter()
            .filter_map(|secret| secret.metadata.name)
            .collect();
        for (gateway, last_good) in expected {
            let uid = live.gateway_uid(&gateway);
            let is_current = self.stored(&gateway).as_ref() == Some(&last_good)
                && uid.is_some_and(|uid| uid == last_good.gateway_uid);
            if is_current && !found.contains(&secret_name(&gateway)) {
                tracing::warn!(scope = "writer", %gateway, "the last good inputs of a Gateway were deleted; storing them again");
                self.store(&gateway, &last_good).await?;
            }
        }
        Ok(())
    }

    fn warn(&self, error: &WriteError) {
        if error.is_refusal() && !self.has_warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(scope = "writer", namespace = self.namespace,
                %error,
                "the last good inputs of Gateways cannot be stored, so a Gateway whose Secret or GatewayConfig is gone \
                 will not survive a restart of the operator; make sure that the namespace exists and that the operator \
                 may create, patch and delete Secrets in it"
            );
        }
    }

    fn api(&self) -> Api<Secret> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<NamespacedName, Arc<LastGood>>> {
        self.stored.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn all() -> ListParams {
    let selector = format!("{}={}", label::LAST_GOOD, label::LAST_GOOD_VALUE);
    ListParams::default().labels(&selector)
}

/// Names of Gateways may be as long as names of Secrets, so a hash stands for them.
fn secret_name(gateway: &NamespacedName) -> String {
    let hash = Sha256::digest(gateway.to_string());
    let hash: String = hash[..8].iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{}{hash}", names::SECRET_PREFIX)
}

fn secret(
    namespace: &str,
    controller_name: &str,
    gateway: &NamespacedName,
    last_good: &LastGood,
) -> Result<Secret, serde_json::Error> {
    let entry = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let content = ByteString(serde_json::to_vec(last_good)?);
    Ok(Secret {
        metadata: ObjectMeta {
            name: Some(secret_name(gateway)),
            namespace: Some(namespace.to_owned()),
            labels: Some(BTreeMap::from([entry(
                label::LAST_GOOD,
                label::LAST_GOOD_VALUE,
            )])),
            annotations: Some(BTreeMap::from([
                entry(annotation::LAST_GOOD_GATEWAY, &gateway.to_string()),
                entry(annotation::LAST_GOOD_GATEWAY_UID, &last_good.gateway_uid),
                entry(annotation::LAST_GOOD_CONTROLLER, controller_name),
            ])),
            ..ObjectMeta::default()
        },
        data: Some(BTreeMap::from([(names::SECRET_KEY.to_owned(), content)])),
        ..Secret::default()
    })
}

fn is_of(metadata: &ObjectMeta, controller_name: &str) -> bool {
    let annotations = metadata.annotations.as_ref();
    annotations
        .and_then(|annotations| annotations.get(annotation::LAST_GOOD_CONTROLLER))
        .is_some_and(|name| name == controller_name)
}

fn read(secret: &Secret) -> Option<(NamespacedName, Arc<LastGood>)> {
    let annotations = secret.metadata.annotations.as_ref()?;
    let gateway: NamespacedName = annotations
        .get(annotation::LAST_GOOD_GATEWAY)?
        .parse()
        .ok()?;
    let content = secret.data.as_ref()?.get(names::SECRET_KEY)?;
    match serde_json::from_slice(&content.0) {
        Ok(last_good) => Some((gateway, Arc::new(last_good))),
        Err(_) => {
            // Without the error, which may quote the content.
            tracing::warn!(scope = "writer", %gateway, "the last good inputs of a Gateway are not readable");
            None
        }
    }
}
