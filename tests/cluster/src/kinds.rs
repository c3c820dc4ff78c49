//! The kinds of objects that the tests touch. A table instead of discovery, so that reading costs one request.

use kube::api::ApiResource;

/// One kind of object at one version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind {
    pub group: &'static str,
    pub version: &'static str,
    pub name: &'static str,
    pub plural: &'static str,
    pub namespaced: bool,
}

const fn kind(
    group: &'static str,
    version: &'static str,
    name: &'static str,
    plural: &'static str,
) -> Kind {
    Kind {
        group,
        version,
        name,
        plural,
        namespaced: true,
    }
}

const fn global(
    group: &'static str,
    version: &'static str,
    name: &'static str,
    plural: &'static str,
) -> Kind {
    Kind {
        namespaced: false,
        ..kind(group, version, name, plural)
    }
}

const OURS: &str = "stunner.l7mp.io";
const GATEWAY_API: &str = "gateway.networking.k8s.io";

pub const NAMESPACE: Kind = global("", "v1", "Namespace", "namespaces");
pub const NODE: Kind = global("", "v1", "Node", "nodes");
pub const POD: Kind = kind("", "v1", "Pod", "pods");
pub const SERVICE: Kind = kind("", "v1", "Service", "services");
pub const SECRET: Kind = kind("", "v1", "Secret", "secrets");
pub const CONFIG_MAP: Kind = kind("", "v1", "ConfigMap", "configmaps");
pub const ENDPOINTS: Kind = kind("", "v1", "Endpoints", "endpoints");
pub const SERVICE_ACCOUNT: Kind = kind("", "v1", "ServiceAccount", "serviceaccounts");
pub const EVENT: Kind = kind("events.k8s.io", "v1", "Event", "events");
pub const LEASE: Kind = kind("coordination.k8s.io", "v1", "Lease", "leases");
pub const ENDPOINT_SLICE: Kind = kind("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices");
pub const DEPLOYMENT: Kind = kind("apps", "v1", "Deployment", "deployments");
pub const DAEMON_SET: Kind = kind("apps", "v1", "DaemonSet", "daemonsets");
pub const CRD: Kind = global(
    "apiextensions.k8s.io",
    "v1",
    "CustomResourceDefinition",
    "customresourcedefinitions",
);
pub const GATEWAY_CLASS: Kind = global(GATEWAY_API, "v1", "GatewayClass", "gatewayclasses");
pub const GATEWAY: Kind = kind(GATEWAY_API, "v1", "Gateway", "gateways");
pub const REFERENCE_GRANT: Kind = kind(GATEWAY_API, "v1beta1", "ReferenceGrant", "referencegrants");
/// The official route as Gateway API 1.6 serves it in its standard channel.
pub const OFFICIAL_UDP_ROUTE: Kind = kind(GATEWAY_API, "v1", "UDPRoute", "udproutes");
/// The official route as every experimental channel serves it.
pub const OFFICIAL_UDP_ROUTE_ALPHA: Kind = kind(GATEWAY_API, "v1alpha2", "UDPRoute", "udproutes");
pub const TCP_ROUTE: Kind = kind(GATEWAY_API, "v1", "TCPRoute", "tcproutes");
pub const UDP_ROUTE: Kind = kind(OURS, "v1", "UDPRoute", "udproutes");
pub const GATEWAY_CONFIG: Kind = kind(OURS, "v1", "GatewayConfig", "gatewayconfigs");
pub const STATIC_SERVICE: Kind = kind(OURS, "v1", "StaticService", "staticservices");
pub const DATAPLANE: Kind = global(OURS, "v1", "Dataplane", "dataplanes");

const ALL: [Kind; 24] = [
    NAMESPACE,
    NODE,
    SERVICE,
    SECRET,
    CONFIG_MAP,
    ENDPOINTS,
    SERVICE_ACCOUNT,
    EVENT,
    LEASE,
    ENDPOINT_SLICE,
    DEPLOYMENT,
    DAEMON_SET,
    CRD,
    GATEWAY_CLASS,
    GATEWAY,
    REFERENCE_GRANT,
    OFFICIAL_UDP_ROUTE,
    OFFICIAL_UDP_ROUTE_ALPHA,
    TCP_ROUTE,
    UDP_ROUTE,
    GATEWAY_CONFIG,
    STATIC_SERVICE,
    DATAPLANE,
    global(
        "admissionregistration.k8s.io",
        "v1",
        "ValidatingAdmissionPolicy",
        "validatingadmissionpolicies",
    ),
];

impl Kind {
    /// The kind of an object whose `apiVersion` and `kind` are given.
    pub fn find(api_version: &str, name: &str) -> Option<Self> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        ALL.into_iter()
            .find(|kind| kind.group == group && kind.version == version && kind.name == name)
    }

    pub fn api_version(&self) -> String {
        match self.group {
            "" => self.version.to_owned(),
            group => format!("{group}/{}", self.version),
        }
    }

    pub fn resource(&self) -> ApiResource {
        ApiResource {
            group: self.group.to_owned(),
            version: self.version.to_owned(),
            api_version: self.api_version(),
            kind: self.name.to_owned(),
            plural: self.plural.to_owned(),
        }
    }
}
