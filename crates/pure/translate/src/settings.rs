//! What the operator is told by flags and found out about the cluster.

use std::collections::BTreeSet;

/// Where dataplanes get their configuration from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// One dataplane per Gateway, fed by config discovery.
    Managed,
    /// One ConfigMap per class; the user runs the dataplane.
    Legacy,
}

/// What a reference across namespaces needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReferenceGrants {
    /// Nothing. Status says that it would not be permitted under `Enforce`.
    Allow,
    /// A ReferenceGrant in the namespace that is referred to.
    Enforce,
}

/// What the installed Gateway API CRDs can store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GatewayApi {
    /// `status.supportedFeatures` of GatewayClass is a list of objects (since 1.2).
    pub supported_features: bool,
    pub tcp_routes: bool,
    pub official_udp_routes: bool,
}

/// How dataplanes reach config discovery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CdsAccess {
    /// For images that are not ours: `http://HOST:PORT`.
    pub plain_origin: String,
    /// For our own image: `https://HOST:PORT`; `None` when the TLS port is off.
    pub tls_origin: Option<String>,
    /// The certificate authority of the TLS port, PEM.
    pub ca_certificate: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    pub controller_name: String,
    pub mode: Mode,
    /// Backends are resolved to endpoint addresses; otherwise to DNS names.
    pub endpoint_discovery: bool,
    /// Endpoints come from EndpointSlices; otherwise from Endpoints objects.
    pub endpoint_slices: bool,
    /// The cluster IPs of a backend Service are admitted beside its endpoints.
    pub relay_to_cluster_ip: bool,
    pub cluster_domain: String,
    pub reference_grants: ReferenceGrants,
    /// Labels of a Gateway that are not copied to its workload.
    pub label_filter: BTreeSet<String>,
    /// The image of a Dataplane that names none; with its tag.
    pub dataplane_image: String,
    pub cds: CdsAccess,
    pub gateway_api: GatewayApi,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            controller_name: stunner_api::names::CONTROLLER_NAME.to_owned(),
            mode: Mode::Managed,
            endpoint_discovery: true,
            endpoint_slices: true,
            relay_to_cluster_ip: true,
            cluster_domain: "cluster.local".to_owned(),
            reference_grants: ReferenceGrants::Allow,
            label_filter: stunner_api::names::DEFAULT_LABEL_FILTER
                .iter()
                .map(|&label| label.to_owned())
                .collect(),
            dataplane_image: stunner_api::names::DATAPLANE_IMAGE.to_owned(),
            cds: CdsAccess {
                plain_origin: "http://stunner-config-discovery.stunner-system.svc:13478".to_owned(),
                tls_origin: Some(
                    "https://stunner-config-discovery.stunner-system.svc:13479".to_owned(),
                ),
                ca_certificate: None,
            },
            gateway_api: GatewayApi {
                supported_features: true,
                tcp_routes: true,
                official_udp_routes: true,
            },
        }
    }
}
