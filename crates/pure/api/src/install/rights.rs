//! What the operator may do, and why. Nothing else is granted.

use k8s_openapi::api::rbac::v1::PolicyRule;

/// Verbs on kinds of one API group.
#[derive(Clone, Copy, Debug)]
pub struct Right {
    pub why: &'static str,
    pub group: &'static str,
    pub resources: &'static [&'static str],
    pub verbs: &'static [&'static str],
}

impl Right {
    pub fn rule(&self) -> PolicyRule {
        let owned = |words: &[&str]| {
            words
                .iter()
                .map(|&word| word.to_owned())
                .collect::<Vec<_>>()
        };
        PolicyRule {
            api_groups: Some(vec![self.group.to_owned()]),
            resources: Some(owned(self.resources)),
            verbs: owned(self.verbs),
            ..Default::default()
        }
    }
}

const READ: &[&str] = &["get", "list", "watch"];
/// Objects are applied, which is a patch, and needs `create` where there is none yet.
const OWN: &[&str] = &["get", "list", "watch", "create", "patch", "delete"];
/// A status is read, changed and written back as a whole, with its resource version.
const WRITE_STATUS: &[&str] = &["update"];

/// In every namespace that is served.
pub const SERVED: &[Right] = &[
    Right {
        why: "One Service for each Gateway, made, changed and deleted; Services that are backends, read.",
        group: "",
        resources: &["services"],
        verbs: OWN,
    },
    Right {
        why: "The authority that dataplanes trust, beside each Gateway; in legacy mode the configuration.",
        group: "",
        resources: &["configmaps"],
        verbs: OWN,
    },
    Right {
        why: "One workload for each Gateway.",
        group: "apps",
        resources: &["deployments", "daemonsets"],
        verbs: OWN,
    },
    Right {
        why: "Credentials and certificates that GatewayConfigs and Gateways refer to; each is watched by its name, \
              which RBAC cannot express.",
        group: "",
        resources: &["secrets"],
        verbs: READ,
    },
    Right {
        why: "Addresses of backends.",
        group: "discovery.k8s.io",
        resources: &["endpointslices"],
        verbs: READ,
    },
    Right {
        why: "Addresses of backends with --disable-endpointslice-controller.",
        group: "",
        resources: &["endpoints"],
        verbs: READ,
    },
    Right {
        why: "What users ask for, in the Gateway API.",
        group: "gateway.networking.k8s.io",
        resources: &["gateways", "udproutes", "tcproutes", "referencegrants"],
        verbs: READ,
    },
    Right {
        why: "What came of it.",
        group: "gateway.networking.k8s.io",
        resources: &["gateways/status", "udproutes/status", "tcproutes/status"],
        verbs: WRITE_STATUS,
    },
    Right {
        why: "What users ask for, in our own API.",
        group: "stunner.l7mp.io",
        resources: &["gatewayconfigs", "staticservices", "udproutes"],
        verbs: READ,
    },
    Right {
        why: "What came of it.",
        group: "stunner.l7mp.io",
        resources: &["udproutes/status"],
        verbs: WRITE_STATUS,
    },
    Right {
        why: "What goes wrong, told at the object.",
        group: "events.k8s.io",
        resources: &["events"],
        verbs: &["create"],
    },
];

/// On objects of the cluster that the operator cannot do without.
pub const CLUSTER: &[Right] = &[
    Right {
        why: "Which Gateways are ours.",
        group: "gateway.networking.k8s.io",
        resources: &["gatewayclasses"],
        verbs: READ,
    },
    Right {
        why: "Templates of the pods.",
        group: "stunner.l7mp.io",
        resources: &["dataplanes"],
        verbs: READ,
    },
    Right {
        why: "Which kinds and versions are served, also when they arrive later.",
        group: "apiextensions.k8s.io",
        resources: &["customresourcedefinitions"],
        verbs: READ,
    },
    Right {
        why: "Who asks for a configuration; a review stores nothing.",
        group: "authentication.k8s.io",
        resources: &["tokenreviews"],
        verbs: &["create"],
    },
];

/// On objects of the cluster that the operator can do without.
pub const CLUSTER_OPTIONAL: &[Right] = &[
    Right {
        why: "Addresses of nodes, for NodePort Services and relay address discovery.",
        group: "",
        resources: &["nodes"],
        verbs: READ,
    },
    Right {
        why: "Labels of namespaces, for `allowedRoutes` with a selector.",
        group: "",
        resources: &["namespaces"],
        verbs: READ,
    },
    Right {
        why: "Whether a class is accepted.",
        group: "gateway.networking.k8s.io",
        resources: &["gatewayclasses/status"],
        verbs: WRITE_STATUS,
    },
];

/// In the operator's own namespace: leader election.
pub const LEADER_ELECTION: &[Right] = &[Right {
    why: "One replica writes, the holder of the Lease.",
    group: "coordination.k8s.io",
    resources: &["leases"],
    verbs: &["get", "create", "update"],
}];

/// In the operator's own namespace: what it keeps there.
pub const KEPT: &[Right] = &[
    Right {
        why: "Last good inputs of Gateways, and the authority of config discovery.",
        group: "",
        resources: &["secrets"],
        verbs: &["get", "list", "create", "patch", "delete"],
    },
    Right {
        why: "Whether the Service of config discovery is there to be named to dataplanes.",
        group: "",
        resources: &["services"],
        verbs: &["get"],
    },
];
