//! Where we render otherwise than the Go operator, and the row of `docs/compatibility.md` that says why.

/// `(scenario prefix, path pattern, row of docs/compatibility.md)`; `*` in a pattern is one part of a path.
pub const DIFFERENCES: &[(&str, &str, &str)] = &[
    // Of every Gateway.
    (
        "",
        "status/*/listeners/*/conditions/Programmed",
        "listener condition `Programmed`",
    ),
    (
        "",
        "status/*/listeners/*/supportedKinds",
        "`supportedKinds` of a listener",
    ),
    (
        "",
        "status/*/supportedFeatures",
        "`supportedFeatures` of a class",
    ),
    (
        "",
        "Deployment/*/spec/template/spec/automountServiceAccountToken",
        "ServiceAccount token in dataplane pods",
    ),
    (
        "",
        "Deployment/*/spec/template/spec/containers/0/env/STUNNER_ADDRS",
        "further variables in dataplane pods",
    ),
    (
        "",
        "Deployment/*/spec/template/spec/containers/0/env/STUNNER_DRAIN_TIMEOUT",
        "further variables in dataplane pods",
    ),
    (
        "",
        "Deployment/*/spec/template/spec/containers/0/env/STUNNER_READY_WHILE_DRAINING",
        "further variables in dataplane pods",
    ),
    (
        "",
        "Deployment/*/spec/template/spec/containers/0/resources",
        "a Dataplane without `resources`",
    ),
    (
        "",
        "Deployment/*/spec/template/spec/containers/0/securityContext",
        "privileges of dataplane pods",
    ),
    (
        "",
        "Deployment/*/spec/template/spec/securityContext",
        "privileges of dataplane pods",
    ),
    (
        "",
        "Deployment/*/spec/template/spec/terminationGracePeriodSeconds",
        "a Dataplane without `terminationGracePeriodSeconds`",
    ),
    (
        "",
        "Deployment/*/spec/template/spec/containers/0/imagePullPolicy",
        "a Dataplane without `imagePullPolicy`",
    ),
    // Settings that the Go operator's free build ignores.
    (
        "05",
        "config/*/admin/user_quota",
        "`userQuota`, `stunMode`, `authLifetime`",
    ),
    (
        "05",
        "config/*/auth",
        "`userQuota`, `stunMode`, `authLifetime`",
    ),
    (
        "31",
        "config/*/admin",
        "`metricsEndpoint`, `healthCheckEndpoint`, `minPort`, `maxPort`",
    ),
    (
        "23",
        "config/*/listeners/*/address",
        "`enable-relay-address-discovery`",
    ),
    (
        "23",
        "Deployment/stunner.udp-gateway",
        "`dataplaneResource: DaemonSet`",
    ),
    (
        "21",
        "Deployment/*/spec/template/spec/containers/0/envFrom",
        "`envFrom` of a Dataplane",
    ),
    (
        "21",
        "Deployment/*/spec/template/spec/containers/0/env/STUNNER_ADMIN_ADDRESS",
        "further variables in dataplane pods",
    ),
    (
        "21",
        "Deployment/*/spec/template/spec/dnsPolicy",
        "`hostNetwork` of a Dataplane",
    ),
    (
        "22",
        "Deployment/*/spec/template/spec/containers/0/env",
        "config discovery of our own image",
    ),
    (
        "22",
        "Deployment/*/spec/template/spec/containers/0/volumeMounts",
        "config discovery of our own image",
    ),
    (
        "22",
        "Deployment/*/spec/template/spec/volumes",
        "config discovery of our own image",
    ),
    (
        "22",
        "Deployment/*/spec/template/spec/containers/0/image",
        "a Dataplane without `image`",
    ),
    // Broken inputs.
    (
        "08",
        "status/*/conditions/Accepted",
        "reason of a Gateway with broken inputs",
    ),
    (
        "24",
        "status/*/conditions/Accepted",
        "reason of a Gateway with broken inputs",
    ),
    (
        "09",
        "config/stunner.udp-gateway",
        "auth Secret with `type: none`",
    ),
    (
        "09",
        "Service/stunner.udp-gateway",
        "auth Secret with `type: none`",
    ),
    (
        "09",
        "Deployment/stunner.udp-gateway",
        "auth Secret with `type: none`",
    ),
    ("09", "status", "auth Secret with `type: none`"),
    // The recordings' certificates are none.
    (
        "10",
        "config/*/listeners",
        "TLS or DTLS listener without a usable certificate",
    ),
    (
        "10",
        "Service/*/spec/ports",
        "TLS or DTLS listener without a usable certificate",
    ),
    (
        "10",
        "status/*/listeners",
        "TLS or DTLS listener without a usable certificate",
    ),
    (
        "11",
        "config/*/listeners",
        "TLS or DTLS listener without a usable certificate",
    ),
    (
        "11",
        "Service/*/spec/ports",
        "TLS or DTLS listener without a usable certificate",
    ),
    (
        "11",
        "status/*/listeners",
        "TLS or DTLS listener without a usable certificate",
    ),
    (
        "11",
        "status/*/conditions/Programmed",
        "TLS or DTLS listener without a usable certificate",
    ),
    (
        "26",
        "config/*/listeners/stunner.udp-gateway.bare-tls",
        "TLS or DTLS listener without a usable certificate",
    ),
    (
        "26",
        "status/*/listeners/bare-tls",
        "TLS or DTLS listener without a usable certificate",
    ),
    ("26", "Service/stunner.udp-gateway", "conflicting listeners"),
    (
        "26",
        "config/*/listeners/stunner.udp-gateway.udp-listener",
        "conflicting listeners",
    ),
    ("26", "status/*/addresses", "conflicting listeners"),
    // Routes and backends.
    (
        "14",
        "config/*/listeners/*/routes",
        "a route with two parentRefs to one listener",
    ),
    (
        "14",
        "status/*/listeners/*/attachedRoutes",
        "a route with two parentRefs to one listener",
    ),
    (
        "15",
        "config/*/clusters/stunner.backwards/endpoints",
        "`endPort` without `port`, or below it",
    ),
    (
        "15",
        "config/*/clusters/stunner.end-only/endpoints",
        "`endPort` without `port`, or below it",
    ),
    (
        "15",
        "status/*/parents/*/conditions/ResolvedRefs",
        "`endPort` without `port`, or below it",
    ),
    (
        "27",
        "config/*/clusters/stunner.bad-prefix",
        "unparsable prefix or address",
    ),
    (
        "27",
        "config/*/clusters/stunner.missing-first/endpoints",
        "missing backend beside others",
    ),
    (
        "27",
        "config/*/clusters/stunner.two-rules/endpoints",
        "several rules in a route",
    ),
    (
        "27",
        "status/*/parents/*/conditions/ResolvedRefs",
        "headless Service as backend",
    ),
    (
        "29",
        "config/*/clusters/*/endpoints",
        "port of a backend with endpoint discovery off",
    ),
    // Services and addresses.
    (
        "18",
        "Deployment/*/metadata/annotations",
        "annotations of the GatewayConfig on the Deployment",
    ),
    (
        "20",
        "config/stunner.internal/listeners/*/public_address",
        "public address of a ClusterIP Service",
    ),
    (
        "20",
        "config/stunner.internal/listeners/*/public_port",
        "public address of a ClusterIP Service",
    ),
    (
        "20",
        "status/gateway.networking.k8s.io.Gateway.stunner.internal",
        "public address of a ClusterIP Service",
    ),
    (
        "20",
        "Service/stunner.fixed-ip/spec/externalIPs",
        "`spec.addresses` with an IP address",
    ),
    (
        "30",
        "ConfigMap/*/metadata/ownerReferences",
        "owner of the legacy ConfigMap",
    ),
];
