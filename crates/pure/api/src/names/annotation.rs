//! Annotations.

/// Annotations with this prefix steer the operator.
pub const PREFIX: &str = "stunner.l7mp.io/";

/// Type of a Gateway's Service.
pub const SERVICE_TYPE: &str = "stunner.l7mp.io/service-type";
/// Expose UDP and TCP listeners by one Service.
pub const ENABLE_MIXED_PROTOCOL_LB: &str = "stunner.l7mp.io/enable-mixed-protocol-lb";
/// `local` keeps the source address of clients.
pub const EXTERNAL_TRAFFIC_POLICY: &str = "stunner.l7mp.io/external-traffic-policy";
/// JSON map from listener to node port.
pub const NODE_PORT: &str = "stunner.l7mp.io/nodeport";
/// JSON map from listener to the port where the dataplane listens.
pub const TARGET_PORT: &str = "stunner.l7mp.io/targetport";
/// Keep the port of health checks out of the Service.
pub const DISABLE_HEALTH_CHECK_EXPOSE: &str = "stunner.l7mp.io/disable-health-check-expose";
/// Let clients of one address reach different pods.
pub const DISABLE_SESSION_AFFINITY: &str = "stunner.l7mp.io/disable-session-affinity";
/// Make no workload for a Gateway.
pub const DISABLE_MANAGED_DATAPLANE: &str = "stunner.l7mp.io/disable-managed-dataplane";
/// Relay on the address of the node rather than of the pod.
pub const ENABLE_RELAY_ADDRESS_DISCOVERY: &str = "stunner.l7mp.io/enable-relay-address-discovery";
/// `ipFamilyPolicy` of the Service.
pub const IP_FAMILY_POLICY: &str = "stunner.l7mp.io/ip-family-policy";
/// `loadBalancerClass` of the Service.
pub const LOAD_BALANCER_CLASS: &str = "stunner.l7mp.io/load-balancer-class";
/// `loadBalancerSourceRanges` of the Service, a comma list.
pub const LOAD_BALANCER_SOURCE_RANGES: &str = "stunner.l7mp.io/load-balancer-source-ranges";

/// On everything made for a Gateway: `namespace/name` of the Gateway.
pub const RELATED_GATEWAY: &str = "stunner.l7mp.io/related-gateway-name";
/// On a Deployment: the number of replicas that was applied last.
pub const DATAPLANE_REPLICAS: &str = "stunner.l7mp.io/dataplane-replicas";
/// On a Secret with last good inputs: `namespace/name` of the Gateway.
pub const LAST_GOOD_GATEWAY: &str = "stunner.l7mp.io/last-good-gateway";
/// On a Secret with last good inputs: UID of the Gateway.
pub const LAST_GOOD_GATEWAY_UID: &str = "stunner.l7mp.io/last-good-gateway-uid";
/// On a Secret with last good inputs: `controllerName` of the operator that stored it.
pub const LAST_GOOD_CONTROLLER: &str = "stunner.l7mp.io/last-good-controller";

/// Set by `kubectl rollout restart` on a pod template; stays.
pub const RESTARTED_AT: &str = "kubectl.kubernetes.io/restartedAt";
/// Set by `kubectl apply`; never copied.
pub const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Annotations of load balancers with the port or the protocol of health checks start with this
/// and hold `health` and one of the suffixes below.
pub const CLOUD_PREFIX: &str = "service.beta.kubernetes.io/";
pub const CLOUD_HEALTH: &str = "health";
pub const CLOUD_PORT_SUFFIX: &str = "port";
pub const CLOUD_PROTOCOL_SUFFIX: &str = "protocol";

/// What an annotation does, for the reference.
#[derive(Clone, Copy, Debug)]
pub struct Meaning {
    pub name: &'static str,
    pub place: &'static str,
    pub value: &'static str,
    pub effect: &'static str,
}

const EITHER: &str = "Gateway, GatewayConfig";
const GATEWAY: &str = "Gateway";
const TRUTH: &str = "truth value; `false`";

/// The annotations that users set, with value and default.
pub const TABLE: &[Meaning] = &[
    Meaning {
        name: SERVICE_TYPE,
        place: EITHER,
        value: "`LoadBalancer`, `NodePort` or `ClusterIP`; `LoadBalancer`",
        effect: "type of the Service; a Gateway of type `ClusterIP` is reached from inside the cluster only",
    },
    Meaning {
        name: ENABLE_MIXED_PROTOCOL_LB,
        place: EITHER,
        value: TRUTH,
        effect: "expose UDP and TCP listeners by one Service; else only those of the first listener's transport",
    },
    Meaning {
        name: EXTERNAL_TRAFFIC_POLICY,
        place: EITHER,
        value: "`local` or `cluster`; `cluster`",
        effect: "`local` keeps the source address of clients; nodes without a pod of the Gateway then drop what they get",
    },
    Meaning {
        name: NODE_PORT,
        place: EITHER,
        value: "JSON map from listener to port, such as `{\"udp\":30000}`",
        effect: "node ports to ask for; others are picked by Kubernetes",
    },
    Meaning {
        name: TARGET_PORT,
        place: EITHER,
        value: "JSON map from listener to port",
        effect: "ports to listen on in the pod, where not the listener's own",
    },
    Meaning {
        name: DISABLE_HEALTH_CHECK_EXPOSE,
        place: EITHER,
        value: TRUTH,
        effect: "keep the health-check port, which annotations of the load balancer name, out of the Service",
    },
    Meaning {
        name: DISABLE_SESSION_AFFINITY,
        place: EITHER,
        value: TRUTH,
        effect: "no `sessionAffinity: ClientIP`, for load balancers that refuse it",
    },
    Meaning {
        name: IP_FAMILY_POLICY,
        place: EITHER,
        value: "`SingleStack`, `PreferDualStack` or `RequireDualStack`; as the cluster decides",
        effect: "`ipFamilyPolicy` of the Service",
    },
    Meaning {
        name: LOAD_BALANCER_CLASS,
        place: EITHER,
        value: "name; as the cluster decides",
        effect: "`loadBalancerClass` of the Service; Kubernetes lets it be set only when the Service is made",
    },
    Meaning {
        name: LOAD_BALANCER_SOURCE_RANGES,
        place: EITHER,
        value: "comma list of prefixes; everybody",
        effect: "`loadBalancerSourceRanges` of the Service: which clients the load balancer lets in",
    },
    Meaning {
        name: DISABLE_MANAGED_DATAPLANE,
        place: GATEWAY,
        value: TRUTH,
        effect: "make no pods; the configuration is still served for pods of your own",
    },
    Meaning {
        name: ENABLE_RELAY_ADDRESS_DISCOVERY,
        place: GATEWAY,
        value: TRUTH,
        effect: "relay on the external address of the node rather than of the pod; for Dataplanes on the host network",
    },
];
