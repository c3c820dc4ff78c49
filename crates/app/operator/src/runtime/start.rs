//! What has to be found out before anything can be translated.

use std::sync::Arc;
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Service;
use kube::{Api, Client};
use stunner_api::NamespacedName;
use stunner_api::names::cds;
use stunner_translate::{CdsAccess, GatewayApi, LastGood, Mode, Settings};

use crate::cds::{self as discovery_service, BoundServers, Tls};
use crate::cli::Options;
use crate::cluster::{Refusal, patiently};
use crate::write::LastGoodSecrets;

const RETRY: Duration = Duration::from_millis(500);
/// An API server that has just started may not know all roles yet.
const BELIEVED_AFTER: Duration = Duration::from_millis(2500);

/// How dataplanes reach config discovery, and what the TLS port needs.
///
/// All of it ends up in pod templates, so it is found out for good before the first translation: what changes a moment
/// later would roll every dataplane.
pub(super) async fn config_discovery(
    client: &Client,
    options: &Options,
    namespace: &str,
    bound: &BoundServers,
) -> (CdsAccess, Option<Tls>) {
    let host = host(client, options, namespace).await;
    let mut tls = None;
    // In legacy mode there is nothing to be read.
    let tls_port = bound.tls_port().filter(|_| options.mode == Mode::Managed);
    if tls_port.is_some() {
        match discovery_service::obtain(client, namespace).await {
            Ok(authority) => {
                let place = (namespace, options.cluster_domain.as_str(), host.as_str());
                let readers = readers(options, namespace);
                tls = Some(Tls::new(client.clone(), authority, readers, place));
            }
            Err(error) => tracing::warn!(
                scope = "operator",
                "config discovery is served without TLS, and dataplanes use the plain port: {error}"
            ),
        }
    }
    let authority = tls
        .as_ref()
        .map(|tls| tls.authority_certificate().to_owned());
    let access = discovery_service::access(&host, bound.plain_port(), tls_port.zip(authority));
    (access, tls)
}

fn readers(options: &Options, namespace: &str) -> std::collections::BTreeSet<NamespacedName> {
    let usual = || [NamespacedName::new(namespace, cds::READER_SERVICE_ACCOUNT)].into();
    options.cds_readers.clone().unwrap_or_else(usual)
}

async fn host(client: &Client, options: &Options, namespace: &str) -> String {
    let said = options.advertised_host.as_deref();
    let service_exists = match said {
        None => false,
        Some(_) => {
            let services: Api<Service> = Api::namespaced(client.clone(), namespace);
            let found = patiently("look for the Service of config discovery", || async {
                let found = services.get_metadata_opt(cds::SERVICE).await;
                found.map_err(|error| Refusal::of(&error))
            });
            matches!(found.await, Ok(Some(_)))
        }
    };
    discovery_service::advertised_host(said, service_exists, namespace)
}

/// What Gateways ran on when it was last written down. Without it a Gateway whose Secret is gone would be taken down,
/// so an API server that does not answer is waited for.
pub(super) async fn last_good(
    secrets: &LastGoodSecrets,
    options: &Options,
) -> Vec<(NamespacedName, LastGood)> {
    let began = Instant::now();
    let mut told = false;
    loop {
        match secrets.load().await {
            Ok(stored) => {
                // Another operator may look after the rest.
                let watched = |gateway: &NamespacedName| {
                    options.watch_namespaces.is_empty()
                        || options.watch_namespaces.contains(&gateway.namespace)
                };
                return stored
                    .into_iter()
                    .filter(|(gateway, _)| watched(gateway))
                    .map(|(gateway, last_good)| (gateway, Arc::unwrap_or_clone(last_good)))
                    .collect();
            }
            Err(error) if error.is_refusal() && began.elapsed() > BELIEVED_AFTER => {
                tracing::warn!(
                    scope = "operator",
                    "{error}; a Gateway whose Secret or GatewayConfig is missing now cannot be kept as it was"
                );
                return Vec::new();
            }
            Err(error) => {
                if !std::mem::replace(&mut told, true) {
                    tracing::warn!(scope = "operator", "{error}; trying again");
                }
                tokio::time::sleep(RETRY).await;
            }
        }
    }
}

pub(super) fn settings(options: &Options, cds: CdsAccess) -> Settings {
    Settings {
        controller_name: options.controller_name.clone(),
        mode: options.mode,
        endpoint_discovery: options.endpoint_discovery,
        endpoint_slices: options.endpoint_slices,
        relay_to_cluster_ip: options.relay_to_cluster_ip,
        cluster_domain: options.cluster_domain.clone(),
        reference_grants: options.reference_grants,
        label_filter: options.label_filter.clone(),
        dataplane_image: options.dataplane_image.clone(),
        cds,
        // Discovery says before anything is translated.
        gateway_api: GatewayApi {
            supported_features: false,
            tcp_routes: false,
            official_udp_routes: false,
        },
    }
}
