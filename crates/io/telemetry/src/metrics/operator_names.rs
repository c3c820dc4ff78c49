//! Every metric family of the operator. The names are those of the original system where it has one.

use super::family::{Family, Kind, Label, Merge};
use super::names::Section;

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
        scoped: false,
        merge: Merge::Add,
    }
}

const fn seconds(name: &'static str, help: &'static str) -> Family {
    Family {
        buckets: &[
            0.000_1, 0.000_5, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0,
        ],
        ..family(name, Kind::Histogram, help, &[])
    }
}

const KIND: Label = Label {
    name: "kind",
    meaning: "the kind of object, as Kubernetes spells it",
    values: &[],
};

pub static RECONCILE_EVENTS: Family = family(
    "stunner_gateway_operator_reconcile_events_total",
    Kind::Counter,
    "Changes in the cluster that touch something of ours.",
    &[Label {
        name: "result",
        meaning: "what became of it",
        values: &[
            ("passed", "started a window of `--throttle-timeout`"),
            ("throttled", "joined a window that was open"),
        ],
    }],
);
pub static RENDER: Family = family(
    "stunner_gateway_operator_render_total",
    Kind::Counter,
    "Translations, each of everything that changed within one window.",
    &[],
);
pub static RENDER_TIME: Family = seconds(
    "stunner_gateway_operator_render_time_seconds",
    "How long a translation took.",
);
pub static RENDERED_UNITS: Family = family(
    "stunner_gateway_operator_rendered_units_total",
    Kind::Counter,
    "Classes, Gateways and routes translated.",
    &[],
);
pub static GENERATION: Family = family(
    "stunner_gateway_operator_generation",
    Kind::Gauge,
    "Number of the last translation.",
    &[],
);
pub static GENERATION_LAST_ACKED: Family = family(
    "stunner_gateway_operator_generation_last_acked",
    Kind::Gauge,
    "Number of the last translation that is written to the API server as a whole; follows on the leader only.",
    &[],
);

pub static UPDATE: Family = family(
    "stunner_gateway_operator_update_total",
    Kind::Counter,
    "Objects and statuses brought to what translation asks for.",
    &[Label {
        name: "result",
        meaning: "how it ended",
        values: &[
            ("success", "written, or nothing to write"),
            ("error", "refused or failed; tried again later"),
        ],
    }],
);
pub static UPDATE_ERRORS: Family = family(
    "stunner_gateway_operator_update_errors_total",
    Kind::Counter,
    "Writes that were refused or failed.",
    &[],
);
pub static UPDATE_TIME: Family = seconds(
    "stunner_gateway_operator_update_time_seconds",
    "How long it took to bring one object or status to what translation asks for.",
);
pub static RESOURCE_OPERATIONS: Family = family(
    "stunner_gateway_operator_resource_operations_total",
    Kind::Counter,
    "What was done with objects of the API server.",
    &[
        KIND,
        Label {
            name: "operation",
            meaning: "what was done",
            values: &[
                ("attempt", "begun"),
                ("created", "a new object"),
                ("updated", "an object changed"),
                ("deleted", "an object of ours removed"),
                ("updatedStatus", "a status changed"),
                ("none", "nothing differed, nothing written"),
                ("suppressed", "left alone, because it is not ours"),
                ("retryPass", "tried again after a failure or a conflict"),
                ("error", "refused or failed"),
            ],
        },
        Label {
            name: "scope",
            meaning: "which part",
            values: &[("spec", "the object"), ("status", "its status")],
        },
    ],
);
pub static PENDING_RETRIES: Family = family(
    "stunner_gateway_operator_pending_retries",
    Kind::Gauge,
    "Writes that failed and wait to be tried again.",
    &[],
);

pub static WATCH_FAILURES: Family = family(
    "stunner_gateway_operator_watch_failures_total",
    Kind::Counter,
    "Lists and watches that failed; they are tried again.",
    &[KIND],
);
pub static UNREADABLE_OBJECTS: Family = family(
    "stunner_gateway_operator_unreadable_objects_total",
    Kind::Counter,
    "Versions of objects that could not be understood; the version before stays in force.",
    &[KIND],
);
pub static READY: Family = family(
    "stunner_gateway_operator_ready",
    Kind::Gauge,
    "1 once all caches are complete and config discovery serves, else 0.",
    &[],
);
pub static LEADER: Family = family(
    "stunner_gateway_operator_leader",
    Kind::Gauge,
    "1 while this replica writes to the API server, else 0.",
    &[],
);
pub static OPERATOR_LOOP: Family = family(
    "stunner_gateway_operator_operator_loop_last_active_timestamp_seconds",
    Kind::Gauge,
    "When the main loop last turned, in seconds since the Unix epoch.",
    &[],
);
pub static RENDERER_LOOP: Family = family(
    "stunner_gateway_operator_renderer_loop_last_active_timestamp_seconds",
    Kind::Gauge,
    "When translation was last possible, in seconds since the Unix epoch.",
    &[],
);
pub static UPDATER_LOOP: Family = family(
    "stunner_gateway_operator_updater_loop_last_active_timestamp_seconds",
    Kind::Gauge,
    "When the writer last turned, in seconds since the Unix epoch.",
    &[],
);

pub static CDS_CONFIGS: Family = family(
    "stunner_gateway_operator_cds_configs",
    Kind::Gauge,
    "Dataplane configurations served by config discovery.",
    &[],
);
pub static CDS_SUBSCRIBERS: Family = family(
    "stunner_gateway_operator_cds_subscribers",
    Kind::Gauge,
    "Open watches of config discovery.",
    &[],
);
pub static CDS_FRAMES: Family = family(
    "stunner_gateway_operator_cds_frames_total",
    Kind::Counter,
    "Configurations sent to watches of config discovery.",
    &[],
);
pub static CDS_REFUSED: Family = family(
    "stunner_gateway_operator_cds_refused_total",
    Kind::Counter,
    "Watches of config discovery that were refused because there were too many.",
    &[],
);
pub static CDS_CUT: Family = family(
    "stunner_gateway_operator_cds_cut_total",
    Kind::Counter,
    "Watches of config discovery that were ended because the client did not read.",
    &[],
);
pub static BUILD_INFO: Family = family(
    "stunner_gateway_operator_build_info",
    Kind::Gauge,
    "Always 1; the version is in the label.",
    &[Label {
        name: "version",
        meaning: "version of the program",
        values: &[],
    }],
);

/// The whole table, without the `process_*` families that all programs share.
pub static ALL: &[Section] = &[
    Section {
        title: "Translation",
        families: &[
            &RECONCILE_EVENTS,
            &RENDER,
            &RENDER_TIME,
            &RENDERED_UNITS,
            &GENERATION,
            &GENERATION_LAST_ACKED,
        ],
    },
    Section {
        title: "Writes",
        families: &[
            &UPDATE,
            &UPDATE_ERRORS,
            &UPDATE_TIME,
            &RESOURCE_OPERATIONS,
            &PENDING_RETRIES,
        ],
    },
    Section {
        title: "Config discovery",
        families: &[
            &CDS_CONFIGS,
            &CDS_SUBSCRIBERS,
            &CDS_FRAMES,
            &CDS_REFUSED,
            &CDS_CUT,
        ],
    },
    Section {
        title: "State of the program",
        families: &[
            &READY,
            &LEADER,
            &WATCH_FAILURES,
            &UNREADABLE_OBJECTS,
            &OPERATOR_LOOP,
            &RENDERER_LOOP,
            &UPDATER_LOOP,
            &BUILD_INFO,
        ],
    },
];
