//! Every flag of the operator: the one place for names, environment variables, defaults and their description.

use stunner_api::names::env;
use stunner_flags::Takes::{Switch, Value};
use stunner_flags::{flag, flags, short};

const GATEWAYS: &str = "Gateways and dataplanes";
const CLUSTER: &str = "The cluster";
const DISCOVERY: &str = "Config discovery";
const LIFE: &str = "Health, metrics, console and end";
const LOGS: &str = "Logs";
const OTHER: &str = "Other";

flags! {
    CONTROLLER_NAME = flag(GATEWAYS, "controller-name", Value("NAME"), env::CONTROLLER_NAME, "stunner.l7mp.io/gateway-operator",
        "Serve the GatewayClasses whose `controllerName` this is");
    DATAPLANE_MODE = flag(GATEWAYS, "dataplane-mode", Value("managed|legacy"), env::DATAPLANE_MODE, "managed",
        "Managed: a dataplane for every Gateway, fed by config discovery. Legacy: a ConfigMap for every class. Anything \
         else means legacy. The variable counts where the flag is not given or says `managed`");
    DATAPLANE_IMAGE = flag(GATEWAYS, "dataplane-image", Value("IMAGE"), "STUNNER_GATEWAY_OPERATOR_DATAPLANE_IMAGE", stunner_api::names::DATAPLANE_IMAGE,
        "Image of a Dataplane that names none. Dataplanes with this image, whatever the tag, get their config over TLS");
    ENDPOINT_DISCOVERY = flag(GATEWAYS, "endpoint-discovery", Switch, "STUNNER_GATEWAY_OPERATOR_ENDPOINT_DISCOVERY", "true",
        "Admit the addresses of backends' endpoints; otherwise the DNS names of backend Services");
    DISABLE_ENDPOINTSLICE = flag(GATEWAYS, "disable-endpointslice-controller", Switch, "STUNNER_GATEWAY_OPERATOR_DISABLE_ENDPOINTSLICE_CONTROLLER", "",
        "Take endpoints from Endpoints objects instead of EndpointSlices");
    DISABLE_ENDPONTSLICE = flag(GATEWAYS, "disable-endpontslice-controller", Switch, "", "",
        "The same, as the original system spells it");
    RELAY_TO_CLUSTER_IP = flag(GATEWAYS, "relay-to-cluster-ip", Switch, "STUNNER_GATEWAY_OPERATOR_RELAY_TO_CLUSTER_IP", "true",
        "Admit the cluster IPs of backend Services beside their endpoints");
    CLUSTER_DOMAIN = flag(GATEWAYS, "cluster-domain", Value("DOMAIN"), "STUNNER_GATEWAY_OPERATOR_CLUSTER_DOMAIN", "cluster.local",
        "DNS domain of the cluster");
    REFERENCE_GRANTS = flag(GATEWAYS, "reference-grants", Value("allow|enforce"), "STUNNER_GATEWAY_OPERATOR_REFERENCE_GRANTS", "allow",
        "References across namespaces: always allowed, or only with a ReferenceGrant");

    KUBECONFIG = flag(CLUSTER, "kubeconfig", Value("FILE"), "KUBECONFIG", "",
        "Kubeconfig file; without one, $HOME/.kube/config or the ServiceAccount of the pod");
    WATCH_NAMESPACES = flag(CLUSTER, "watch-namespaces", Value("NAMESPACE,..."), "STUNNER_GATEWAY_OPERATOR_WATCH_NAMESPACES", "",
        "Look at these namespaces only; all of them when empty");
    THROTTLE_TIMEOUT = flag(CLUSTER, "throttle-timeout", Value("DURATION"), "STUNNER_GATEWAY_OPERATOR_THROTTLE_TIMEOUT", "250ms",
        "After a first change, wait this long and deal with all that came meanwhile at once");
    LEADER_ELECT = flag(CLUSTER, "leader-elect", Switch, "STUNNER_GATEWAY_OPERATOR_LEADER_ELECT", "",
        "With several replicas: let the holder of the Lease `92062b70.l7mp.io` do the writing. All replicas serve configs");

    CONFIG_DISCOVERY_ADDRESS = flag(DISCOVERY, "config-discovery-address", Value("[HOST]:PORT"), "STUNNER_GATEWAY_OPERATOR_CONFIG_DISCOVERY_ADDRESS", ":13478",
        "Where to serve configs in plain HTTP, to anybody who can connect, or `off`");
    CONFIG_DISCOVERY_TLS_ADDRESS = flag(DISCOVERY, "config-discovery-tls-address", Value("[HOST]:PORT"), "STUNNER_GATEWAY_OPERATOR_CONFIG_DISCOVERY_TLS_ADDRESS", ":13479",
        "Where to serve configs over TLS, to those who show the ServiceAccount token for them, or `off`");
    CONFIG_DISCOVERY_READERS = flag(DISCOVERY, "config-discovery-readers", Value("NAMESPACE/NAME,..."), "STUNNER_GATEWAY_OPERATOR_CONFIG_DISCOVERY_READERS", "stunner-auth in the operator's namespace",
        "ServiceAccounts that may read every config over TLS");

    METRICS_BIND_ADDRESS = flag(LIFE, "metrics-bind-address", Value("[HOST]:PORT"), "STUNNER_GATEWAY_OPERATOR_METRICS_BIND_ADDRESS", ":8080",
        "Where to serve Prometheus metrics, or `off`");
    HEALTH_PROBE_BIND_ADDRESS = flag(LIFE, "health-probe-bind-address", Value("[HOST]:PORT"), "STUNNER_GATEWAY_OPERATOR_HEALTH_PROBE_BIND_ADDRESS", ":8081",
        "Where to serve /healthz and /readyz, or `off`");
    CONSOLE_ADDRESS = flag(LIFE, "console-address", Value("HOST:PORT"), "STUNNER_GATEWAY_OPERATOR_CONSOLE_ADDRESS", "127.0.0.1:8090",
        "Where to serve the web console, or `off`. On an address that is not loopback it shows nothing without a token that may list Gateways");
    PPROF_BIND_ADDRESS = flag(LIFE, "pprof-bind-address", Value("[HOST]:PORT"), env::PPROF_BIND_ADDRESS, "0",
        "Accepted for compatibility; there is no profile of this kind to serve");
    ENABLE_FINALIZER = flag(LIFE, "enable-finalizer", Switch, "STUNNER_GATEWAY_OPERATOR_ENABLE_FINALIZER", "",
        "Withdraw all statuses at the end");
    FINALIZER_DELETE = flag(LIFE, "finalizer-delete", Switch, "STUNNER_GATEWAY_OPERATOR_FINALIZER_DELETE", "",
        "With --enable-finalizer: delete all dataplanes and Services of ours at the end too");

    ZAP_LOG_LEVEL = flag(LOGS, "zap-log-level", Value("LEVEL"), "STUNNER_GATEWAY_OPERATOR_ZAP_LOG_LEVEL", "info",
        "`error`, `warn`, `info`, `debug` or `trace`, a number (1 is debug, 2 and more trace), or levels by scope such as `all:INFO,watch:DEBUG`");
    ZAP_ENCODER = flag(LOGS, "zap-encoder", Value("console|json"), "STUNNER_GATEWAY_OPERATOR_ZAP_ENCODER", "console",
        "How log lines are written");
    ZAP_DEVEL = flag(LOGS, "zap-devel", Switch, "STUNNER_GATEWAY_OPERATOR_ZAP_DEVEL", "true",
        "When false, log lines are written as JSON unless --zap-encoder says otherwise");
    ZAP_STACKTRACE_LEVEL = flag(LOGS, "zap-stacktrace-level", Value("LEVEL"), "", "",
        "Accepted for compatibility");
    ZAP_TIME_ENCODING = flag(LOGS, "zap-time-encoding", Value("ENCODING"), "", "",
        "Accepted for compatibility");

    HELP = short('h', flag(OTHER, "help", Switch, "", "", "Print this help"));
    VERSION = flag(OTHER, "version", Switch, "", "", "Print the version");
}
