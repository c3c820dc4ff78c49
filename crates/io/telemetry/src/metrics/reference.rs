use std::fmt::Write;

use super::names::Section;
use super::{Family, Kind, Label, names, operator_names};

/// The reference page of the dataplane's metrics, in Markdown, from the one table of names.
pub fn reference() -> String {
    page(INTRODUCTION, names::ALL)
}

/// The reference page of the operator's metrics.
pub fn operator_reference() -> String {
    page(OPERATOR_INTRODUCTION, operator_names::ALL)
}

fn page(introduction: &str, sections: &[Section]) -> String {
    let mut page = String::from(introduction);
    for section in sections {
        let _ = writeln!(page, "\n## {}\n", section.title);
        let _ = writeln!(
            page,
            "| name | type | labels | meaning |\n| --- | --- | --- | --- |"
        );
        for family in section.families {
            let labels: Vec<_> = family.labels.iter().map(label).collect();
            let _ = writeln!(
                page,
                "| `{}` | {} | {} | {} |",
                family.name,
                family.kind.as_str(),
                labels.join("; "),
                family.help
            );
        }
        for family in section.families {
            write_values(&mut page, family);
        }
    }
    page
}

fn write_values(page: &mut String, family: &Family) {
    if family.kind == Kind::Histogram {
        let bounds: Vec<_> = family.buckets.iter().map(f64::to_string).collect();
        let _ = writeln!(
            page,
            "\nBuckets of `{}`: {}.",
            family.name,
            bounds.join(", ")
        );
    }
    for label in family
        .labels
        .iter()
        .filter(|label| label.values.len() > INLINE_VALUES)
    {
        let _ = writeln!(
            page,
            "\n`{}` of `{}`:\n\n| value | meaning |\n| --- | --- |",
            label.name, family.name
        );
        for (value, meaning) in label.values {
            let _ = writeln!(page, "| `{value}` | {meaning} |");
        }
    }
}

/// Labels with more values than this get a table of their own.
const INLINE_VALUES: usize = 4;

fn label(label: &Label) -> String {
    let value =
        |(value, meaning): &(&str, &str)| format!("`{value}` {meaning}").trim_end().to_owned();
    match label.values {
        [] => format!("`{}`: {}", label.name, label.meaning),
        values if values.len() > INLINE_VALUES => format!("`{}`: see below", label.name),
        values => format!(
            "`{}`: {}",
            label.name,
            values.iter().map(value).collect::<Vec<_>>().join(", ")
        ),
    }
}

const INTRODUCTION: &str = "\
# Metrics

<!-- Generated from crates/io/telemetry/src/metrics/names.rs: `UPDATE=1 cargo test -p stunner-telemetry`. -->

`stunnerd` serves these in the Prometheus text format 0.0.4 at `admin.metrics_endpoint` of its configuration
(`http://:8080/metrics`, say; empty means off). A series appears when its listener, cluster or label value is first
known, starts at 0, and stays for the life of the process. Counters never go down and gauges never below zero.

All `stunner_*` series also carry `otel_scope_name=\"stunner\"`, `otel_scope_schema_url=\"\"` and
`otel_scope_version=\"\"`, so that dashboards made for the original system select them unchanged.
";

const OPERATOR_INTRODUCTION: &str = "\
# Metrics of the operator

<!-- Generated from crates/io/telemetry/src/metrics/operator_names.rs: `UPDATE=1 cargo test -p stunner-telemetry`. -->

`stunner-gateway-operator` serves these in the Prometheus text format 0.0.4 at `--metrics-bind-address`
(`:8080`, path `/metrics`), together with the `process_*` series that [stunnerd](metrics.md#process) has too.
";
