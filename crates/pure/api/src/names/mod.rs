//! Every name that other programs rely on, in one place.

pub mod annotation;
pub mod condition;
pub mod env;
pub mod install;
pub mod label;
pub mod port;
pub mod reason;

/// API group of our custom resources.
pub const GROUP: &str = "stunner.l7mp.io";
/// API group of the Gateway API.
pub const GATEWAY_GROUP: &str = "gateway.networking.k8s.io";

pub const GATEWAY_CLASS_KIND: &str = "GatewayClass";
pub const GATEWAY_KIND: &str = "Gateway";
pub const GATEWAY_CONFIG_KIND: &str = "GatewayConfig";
pub const DATAPLANE_KIND: &str = "Dataplane";
pub const STATIC_SERVICE_KIND: &str = "StaticService";
pub const UDP_ROUTE_KIND: &str = "UDPRoute";
pub const TCP_ROUTE_KIND: &str = "TCPRoute";
pub const REFERENCE_GRANT_KIND: &str = "ReferenceGrant";
pub const SERVICE_KIND: &str = "Service";
pub const SECRET_KIND: &str = "Secret";

pub const UDP_ROUTE_PLURAL: &str = "udproutes";
pub const TCP_ROUTE_PLURAL: &str = "tcproutes";
pub const REFERENCE_GRANT_PLURAL: &str = "referencegrants";

/// Versions of the official routes, best first.
pub const ROUTE_VERSIONS: &[&str] = &["v1", "v1alpha2"];
/// Versions of ReferenceGrant, best first.
pub const REFERENCE_GRANT_VERSIONS: &[&str] = &["v1", "v1beta1"];

/// `controllerName` of the GatewayClasses that are ours, unless a flag says otherwise.
pub const CONTROLLER_NAME: &str = "stunner.l7mp.io/gateway-operator";
/// Field manager of everything that the operator applies.
pub const FIELD_MANAGER: &str = "stunner-gateway-operator";
/// `reportingController` of Events.
pub const EVENT_REPORTER: &str = CONTROLLER_NAME;

/// Dataplane that a GatewayConfig means when it names none.
pub const DEFAULT_DATAPLANE: &str = "default";
/// Image of a Dataplane that names none. Not the repository of the Go image: a Dataplane that names that one must be
/// given the plain discovery port, for the Go dataplane speaks no TLS to it. Without a version: upgrading the operator
/// must not change a pod template.
pub const DATAPLANE_IMAGE: &str = "stunner/stunnerd:latest";
/// Image of the `default` Dataplane in the install manifests, which the user applies.
pub const INSTALLED_DATAPLANE_IMAGE: &str = concat!("stunner/stunnerd:", env!("CARGO_PKG_VERSION"));
/// Image of the operator in the install manifests.
pub const OPERATOR_IMAGE: &str = concat!(
    "stunner/stunner-gateway-operator:",
    env!("CARGO_PKG_VERSION")
);
/// The only container of a dataplane pod.
pub const DATAPLANE_CONTAINER: &str = "stunner-daemon";
pub const DATAPLANE_COMMAND: &[&str] = &["stunnerd"];
/// The authentication service is in the operator's image.
pub const AUTH_COMMAND: &[&str] = &["authd"];
pub const DATAPLANE_ARGS: &[&str] = &["-w", "--udp-thread-num=16"];
/// Volume where a dataplane keeps its last configuration, for the case that its container is restarted.
pub const CONFIG_CACHE_VOLUME: &str = "config-cache";
pub const CONFIG_CACHE_PATH: &str = "/var/cache/stunner";
/// User and group that dataplanes run as unless their Dataplane says otherwise.
pub const DATAPLANE_USER: i64 = 65532;
/// Seconds that a dataplane pod gets when its Dataplane does not say.
pub const DATAPLANE_GRACE_PERIOD_SECONDS: i64 = 30;

pub const DEFAULT_REALM: &str = "stunner.l7mp.io";
pub const DEFAULT_AUTH_TYPE: &str = "static";
pub const DEFAULT_LOG_LEVEL: &str = "all:INFO";

/// ConfigMap of legacy mode, unless the GatewayConfig names another.
pub const LEGACY_CONFIG_MAP: &str = "stunnerd-config";
/// Key in the ConfigMap of legacy mode.
pub const LEGACY_CONFIG_KEY: &str = "stunnerd.conf";
/// `admin.name` in legacy mode.
pub const LEGACY_DAEMON_NAME: &str = "stunner-daemon";

/// Listener address that each dataplane replaces by its own.
pub const POD_ADDRESS_PLACEHOLDER: &str = "$STUNNER_ADDR";
/// Listener address that the CDS server replaces by that of the client's node.
pub const NODE_ADDRESS_PLACEHOLDER: &str = "__node_address_placeholder";

/// Port of a Service for health checks of a load balancer.
pub const HEALTH_CHECK_PORT_NAME: &str = "gateway-health-check";
/// Port of a dataplane pod that Prometheus looks for.
pub const METRICS_PORT_NAME: &str = "metrics-port";

/// Lease of the leader, in the operator's namespace; the name that the Go system uses, so that the
/// two never write at the same time.
pub const LEASE: &str = "92062b70.l7mp.io";

/// Labels of GitOps tools: copied from a Gateway to its Deployment, they would make the tool take
/// the Deployment for its own and delete it. Not copied unless the environment says otherwise.
pub const DEFAULT_LABEL_FILTER: &[&str] = &[
    "applyset.kubernetes.io/part-of",
    "applyset.k8s.io/part-of",
    "app.kubernetes.io/managed-by",
    "argocd.argoproj.io/instance",
    "kustomize.toolkit.fluxcd.io/name",
    "kustomize.toolkit.fluxcd.io/namespace",
];

/// Names about config discovery: how dataplanes and the authentication service prove who they are.
pub mod cds {
    /// Service of the operator.
    pub const SERVICE: &str = "stunner-config-discovery";
    /// Secret with the certificate authority, in the operator's namespace.
    pub const TLS_SECRET: &str = "stunner-config-discovery-tls";
    /// The authority's certificate, a key of the Secret and of the ConfigMaps.
    pub const CA_CERTIFICATE_KEY: &str = "ca.crt";
    /// The authority's private key, a key of the Secret.
    pub const CA_KEY_KEY: &str = "ca.key";
    /// Ends the name of the ConfigMap with the authority's certificate beside each Gateway.
    pub const CONFIG_MAP_SUFFIX: &str = "-config-discovery";
    /// Audience of tokens that give every config.
    pub const READER_AUDIENCE: &str = "stunner.l7mp.io/config-discovery";
    /// Where dataplane pods find token and certificate.
    pub const MOUNT_PATH: &str = "/var/run/secrets/stunner.l7mp.io";
    pub const TOKEN_FILE: &str = "/var/run/secrets/stunner.l7mp.io/token";
    pub const CA_FILE: &str = "/var/run/secrets/stunner.l7mp.io/ca.crt";
    /// Last part of [`TOKEN_FILE`].
    pub const TOKEN_PATH: &str = "token";
    /// Volume with the two.
    pub const VOLUME: &str = "config-discovery";
    /// ServiceAccount that may read every config unless a flag says otherwise, in the operator's namespace.
    pub const READER_SERVICE_ACCOUNT: &str = "stunner-auth";

    /// Audience of tokens that give one Gateway's config.
    pub fn gateway_audience(gateway: &crate::NamespacedName) -> String {
        format!("{READER_AUDIENCE}/{gateway}")
    }
}

/// Names about what is kept of a Gateway's inputs for when they are gone.
pub mod last_good {
    /// Starts the names of the Secrets; a hash of the Gateway follows.
    pub const SECRET_PREFIX: &str = "stunner-last-good-";
    /// Key in the Secrets.
    pub const SECRET_KEY: &str = "last-good.json";
}
