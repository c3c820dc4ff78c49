//! Every metric family of the dataplane: name, help, labels and label values. The reference page is generated from
//! this table, and nothing else in the project spells a metric name.

use super::family::{Family, Kind, Label, Merge};

const fn family(
    name: &'static str,
    kind: Kind,
    help: &'static str,
    labels: &'static [Label],
) -> Family {
    Family {
        name,
        help,
        kind,
        labels,
        buckets: &[],
        scoped: true,
        merge: Merge::Add,
    }
}

const fn counter(name: &'static str, help: &'static str, labels: &'static [Label]) -> Family {
    family(name, Kind::Counter, help, labels)
}

const fn gauge(name: &'static str, help: &'static str, labels: &'static [Label]) -> Family {
    family(name, Kind::Gauge, help, labels)
}

/// A gauge that says something of the process as a whole.
const fn info(name: &'static str, help: &'static str, labels: &'static [Label]) -> Family {
    Family {
        merge: Merge::Max,
        ..gauge(name, help, labels)
    }
}

const fn histogram(name: &'static str, help: &'static str, buckets: &'static [f64]) -> Family {
    Family {
        name,
        help,
        kind: Kind::Histogram,
        labels: &[],
        buckets,
        scoped: true,
        merge: Merge::Add,
    }
}

const LISTENER: Label = Label {
    name: "name",
    meaning: "the listener, `namespace/gateway/listener`",
    values: &[],
};
const CLUSTER: Label = Label {
    name: "name",
    meaning: "the cluster, `namespace/route`",
    values: &[],
};
const LISTENER_DIRECTION: Label = Label {
    name: "direction",
    meaning: "which way",
    values: &[("rx", "from clients"), ("tx", "to clients")],
};
const CLUSTER_DIRECTION: Label = Label {
    name: "direction",
    meaning: "which way",
    values: &[("rx", "from peers"), ("tx", "to peers")],
};

pub static ALLOCATIONS_ACTIVE: Family =
    gauge("stunner_allocations_active", "Live allocations.", &[]);
pub static LISTENER_CONNECTIONS: Family = gauge(
    "stunner_listener_connections",
    "Open client connections of a stream listener, sockets of a datagram listener.",
    &[LISTENER],
);
pub static LISTENER_CONNECTIONS_TOTAL: Family = counter(
    "stunner_listener_connections_total",
    "Client connections and datagram sockets ever opened on a listener.",
    &[LISTENER],
);
pub static LISTENER_PACKETS: Family = counter(
    "stunner_listener_packets_total",
    "Packets exchanged with clients: datagrams, or framed messages on a stream.",
    &[LISTENER_DIRECTION, LISTENER],
);
pub static LISTENER_BYTES: Family = counter(
    "stunner_listener_bytes_total",
    "Bytes exchanged with clients.",
    &[LISTENER_DIRECTION, LISTENER],
);
pub static CLUSTER_PACKETS: Family = counter(
    "stunner_cluster_packets_total",
    "Packets exchanged with the peers that a cluster admitted.",
    &[CLUSTER_DIRECTION, CLUSTER],
);
pub static CLUSTER_BYTES: Family = counter(
    "stunner_cluster_bytes_total",
    "Payload bytes exchanged with the peers that a cluster admitted.",
    &[CLUSTER_DIRECTION, CLUSTER],
);

pub static ALLOCATIONS: Family =
    counter("stunner_allocations_total", "Allocations ever made.", &[]);
pub static ALLOCATIONS_BY_TRANSPORT: Family = gauge(
    "stunner_allocations_by_transport",
    "Live allocations by the transport their client came by.",
    &[Label {
        name: "transport",
        meaning: "client transport",
        values: &[
            ("udp", "TURN over UDP"),
            ("tcp", "TURN over TCP"),
            ("tls", "TURN over TLS"),
            ("dtls", "TURN over DTLS"),
        ],
    }],
);
pub static ALLOCATION_DURATION: Family = histogram(
    "stunner_allocation_duration_seconds",
    "How long allocations lived, observed when they end.",
    &[
        1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 1800.0, 3600.0, 7200.0, 14400.0, 43200.0,
    ],
);
pub static RELAY_LATENCY: Family = histogram(
    "stunner_relay_latency_seconds",
    "Time a datagram spends in the relay, from the read that returned it to the write that sent it (sampled).",
    &[
        0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025,
        0.05, 0.1,
    ],
);

pub static AUTH_FAILURES: Family = counter(
    "stunner_auth_failures_total",
    "Requests whose credentials were refused.",
    &[Label {
        name: "reason",
        meaning: "why",
        values: &[
            (
                "bad_integrity",
                "the message integrity does not match: most often a wrong password",
            ),
            (
                "bid_down",
                "the password algorithms are not those offered with the nonce",
            ),
            ("expired", "an ephemeral credential past its time"),
            ("incomplete", "user name, realm or nonce is missing"),
            (
                "lifetime_too_long",
                "an ephemeral credential further in the future than `--max-ephemeral-lifetime`",
            ),
            (
                "other_user",
                "another user's credentials on a live allocation",
            ),
            (
                "stale_nonce",
                "the nonce is too old or was made for another address; the client retries by itself",
            ),
            ("turn_off", "authentication type `none`: there is no TURN"),
            (
                "unknown_user",
                "no such user name, or one that is not of an accepted shape",
            ),
            ("wrong_realm", "the realm is not the configured one"),
        ],
    }],
);
pub static CHALLENGES: Family = counter(
    "stunner_challenges_total",
    "Requests without credentials that were answered with a challenge: the normal start of every client.",
    &[],
);
pub static DENIALS: Family = counter(
    "stunner_denials_total",
    "Peers refused by admission, at permission time or per packet.",
    &[Label {
        name: "reason",
        meaning: "why",
        values: &[
            (
                "no_route",
                "no cluster of the listener's routes holds the address",
            ),
            ("port", "a cluster holds the address, but not the port"),
            (
                "transport",
                "a cluster holds the address and port, for the other transport",
            ),
            ("loopback", "a loopback address that no cluster names"),
            (
                "link_local",
                "a link-local or cloud metadata address that no cluster names",
            ),
            ("multicast", "a multicast address that no cluster names"),
            ("unspecified", "an unspecified address"),
            ("broadcast", "the broadcast address"),
            (
                "own_address",
                "a local port of the gateway itself that is no live relay",
            ),
            ("own_listener", "one of the gateway's own listeners"),
        ],
    }],
);
pub static DROPPED_PACKETS: Family = counter(
    "stunner_dropped_packets_total",
    "Packets that were received, or should have been sent, and went nowhere.",
    &[Label {
        name: "reason",
        meaning: "why",
        values: &[
            (
                "bad_fingerprint",
                "the FINGERPRINT attribute does not match",
            ),
            (
                "connection_limit",
                "connections of one source beyond `--max-connections-per-source`",
            ),
            (
                "denied",
                "a permission exists, but the current configuration no longer admits the peer",
            ),
            (
                "duplicate",
                "a repeated request whose first copy is still being worked on",
            ),
            (
                "handshake_limit",
                "unfinished handshakes of one source beyond `--max-handshakes`",
            ),
            (
                "kernel_receive_buffer",
                "the kernel's receive buffer was full",
            ),
            ("malformed", "neither a STUN message nor channel data"),
            ("no_allocation", "data from a client that has no allocation"),
            ("no_channel", "channel data for a number that is not bound"),
            (
                "no_permission",
                "data to or from a peer without a permission",
            ),
            (
                "rate_limited",
                "unauthenticated requests of one source beyond `--unauth-rate-limit`",
            ),
            (
                "send_buffer",
                "the socket or stream to the receiver took no more",
            ),
            (
                "send_error",
                "the kernel refused to send: unreachable, not permitted",
            ),
            (
                "too_big",
                "larger than the transport on the other side carries",
            ),
            (
                "unexpected",
                "a STUN method or class that clients do not send",
            ),
            (
                "unknown_attribute",
                "an indication with an attribute that must be understood and is not",
            ),
            (
                "wrong_transport",
                "data that an allocation of this transport does not take",
            ),
        ],
    }],
);
pub static ERRORS: Family = counter(
    "stunner_errors_total",
    "STUN error responses sent, by code. 401 and 438 are part of every normal exchange.",
    &[Label {
        name: "code",
        meaning: "STUN error code",
        values: &[
            ("300", "try alternate: draining, `--alternate-server` given"),
            ("400", "bad request"),
            ("401", "unauthenticated"),
            ("403", "forbidden: the peer is not admitted"),
            ("420", "unknown comprehension-required attribute"),
            ("437", "allocation mismatch"),
            ("438", "stale nonce"),
            ("440", "address family not supported"),
            ("441", "wrong credentials"),
            ("442", "unsupported transport"),
            ("443", "peer address family mismatch"),
            ("446", "connection already exists"),
            ("447", "connection timeout or failure"),
            ("486", "allocation quota reached"),
            ("500", "server error"),
            (
                "508",
                "insufficient capacity: relay ports used up, or draining",
            ),
        ],
    }],
);
pub static REQUESTS: Family = counter(
    "stunner_requests_total",
    "STUN requests, by method, before any check of credentials.",
    &[Label {
        name: "method",
        meaning: "STUN method",
        values: &[
            ("binding", "STUN: what is my address"),
            ("allocate", "a new allocation"),
            ("refresh", "keep or end an allocation"),
            ("create_permission", "admit a peer address"),
            ("channel_bind", "bind a channel to a peer"),
            ("connect", "open a TCP connection to a peer (RFC 6062)"),
            ("connection_bind", "take over a peer connection (RFC 6062)"),
            ("other", "a method that is not served"),
        ],
    }],
);
pub static HANDSHAKE_FAILURES: Family = counter(
    "stunner_handshake_failures_total",
    "TLS and DTLS handshakes that did not finish.",
    &[Label {
        name: "protocol",
        meaning: "which",
        values: &[("tls", ""), ("dtls", "")],
    }],
);

pub static DRAINING: Family = info(
    "stunner_draining",
    "1 while the process drains before it exits, else 0.",
    &[],
);
pub static DRAIN_REMAINING_ALLOCATIONS: Family = gauge(
    "stunner_drain_remaining_allocations",
    "Allocations that still hold a drain; those without traffic for `--stale-allocation-timeout` do not.",
    &[],
);
pub static CONFIG_GENERATION: Family = gauge(
    "stunner_config_generation",
    "Number of the configuration in force; grows with each one applied.",
    &[],
);
pub static CONFIG_RECONCILES: Family = counter(
    "stunner_config_reconciles_total",
    "Configurations received that differ from the running one.",
    &[Label {
        name: "result",
        meaning: "what became of it",
        values: &[
            ("applied", "in force as a whole"),
            ("rejected", "refused; the running configuration stayed"),
        ],
    }],
);
pub static CDS_CONNECTED: Family = gauge(
    "stunner_cds_connected",
    "1 while the watch on the config discovery service is up, else 0.",
    &[],
);
pub static SHARDS: Family = gauge("stunner_shards", "Packet-processing threads.", &[]);
pub static BUILD_INFO: Family = info(
    "stunner_build_info",
    "Always 1; the version is in the label.",
    &[Label {
        name: "version",
        meaning: "version of the program",
        values: &[],
    }],
);
pub static TARGET_INFO: Family = Family {
    scoped: false,
    ..info(
        "target_info",
        "Always 1; describes the program.",
        &[
            Label {
                name: "service_name",
                meaning: "always `stunner`",
                values: &[],
            },
            Label {
                name: "telemetry_sdk_language",
                meaning: "always `rust`",
                values: &[],
            },
            Label {
                name: "telemetry_sdk_name",
                meaning: "always `stunner-telemetry`",
                values: &[],
            },
            Label {
                name: "telemetry_sdk_version",
                meaning: "its version",
                values: &[],
            },
        ],
    )
};

const fn process(name: &'static str, kind: Kind, help: &'static str) -> Family {
    Family {
        name,
        help,
        kind,
        labels: &[],
        buckets: &[],
        scoped: false,
        merge: Merge::Max,
    }
}

pub static PROCESS_CPU_SECONDS: Family = process(
    "process_cpu_seconds_total",
    Kind::Counter,
    "User and system CPU time spent, in seconds.",
);
pub static PROCESS_MAX_FDS: Family = process(
    "process_max_fds",
    Kind::Gauge,
    "Limit of open file descriptors.",
);
pub static PROCESS_NETWORK_RECEIVE_BYTES: Family = process(
    "process_network_receive_bytes_total",
    Kind::Counter,
    "Bytes received by the network namespace of the process.",
);
pub static PROCESS_NETWORK_TRANSMIT_BYTES: Family = process(
    "process_network_transmit_bytes_total",
    Kind::Counter,
    "Bytes sent by the network namespace of the process.",
);
pub static PROCESS_OPEN_FDS: Family =
    process("process_open_fds", Kind::Gauge, "Open file descriptors.");
pub static PROCESS_RESIDENT_MEMORY: Family = process(
    "process_resident_memory_bytes",
    Kind::Gauge,
    "Resident memory, in bytes.",
);
pub static PROCESS_START_TIME: Family = process(
    "process_start_time_seconds",
    Kind::Gauge,
    "Start of the process, in seconds since the Unix epoch.",
);
pub static PROCESS_VIRTUAL_MEMORY: Family = process(
    "process_virtual_memory_bytes",
    Kind::Gauge,
    "Virtual memory, in bytes.",
);
pub static PROCESS_VIRTUAL_MEMORY_MAX: Family = process(
    "process_virtual_memory_max_bytes",
    Kind::Gauge,
    "Limit of virtual memory, in bytes.",
);

/// A part of the table, as the reference page shows it.
#[derive(Clone, Copy, Debug)]
pub struct Section {
    pub title: &'static str,
    pub families: &'static [&'static Family],
}

/// The whole table.
pub static ALL: &[Section] = &[
    Section {
        title: "Traffic",
        families: &[
            &ALLOCATIONS_ACTIVE,
            &LISTENER_CONNECTIONS,
            &LISTENER_CONNECTIONS_TOTAL,
            &LISTENER_PACKETS,
            &LISTENER_BYTES,
            &CLUSTER_PACKETS,
            &CLUSTER_BYTES,
        ],
    },
    Section {
        title: "Allocations and latency",
        families: &[
            &ALLOCATIONS,
            &ALLOCATIONS_BY_TRANSPORT,
            &ALLOCATION_DURATION,
            &RELAY_LATENCY,
        ],
    },
    Section {
        title: "Refusals and losses",
        families: &[
            &AUTH_FAILURES,
            &CHALLENGES,
            &DENIALS,
            &DROPPED_PACKETS,
            &ERRORS,
            &REQUESTS,
            &HANDSHAKE_FAILURES,
        ],
    },
    Section {
        title: "State of the program",
        families: &[
            &DRAINING,
            &DRAIN_REMAINING_ALLOCATIONS,
            &CONFIG_GENERATION,
            &CONFIG_RECONCILES,
            &CDS_CONNECTED,
            &SHARDS,
            &BUILD_INFO,
            &TARGET_INFO,
        ],
    },
    Section {
        title: "Process",
        families: &[
            &PROCESS_CPU_SECONDS,
            &PROCESS_MAX_FDS,
            &PROCESS_NETWORK_RECEIVE_BYTES,
            &PROCESS_NETWORK_TRANSMIT_BYTES,
            &PROCESS_OPEN_FDS,
            &PROCESS_RESIDENT_MEMORY,
            &PROCESS_START_TIME,
            &PROCESS_VIRTUAL_MEMORY,
            &PROCESS_VIRTUAL_MEMORY_MAX,
        ],
    },
];
