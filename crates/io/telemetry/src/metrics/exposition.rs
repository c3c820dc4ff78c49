//! Prometheus text exposition format 0.0.4.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::registry::{Entry, Series};
use super::{Family, Kind};

/// The media type of [`Registry::render`](super::Registry::render).
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores";

/// Labels of every scoped family; their names sort among the family's own.
const SCOPE_LABELS: [(&str, &str); 3] = [
    ("otel_scope_name", "stunner"),
    ("otel_scope_schema_url", ""),
    ("otel_scope_version", ""),
];

pub(super) fn write(out: &mut String, families: &BTreeMap<&'static str, Entry>) {
    for entry in families.values() {
        header(out, entry.family.name, entry.family.help, entry.family.kind);
        for (values, series) in &entry.series_by_labels {
            write_series(out, entry.family, values, series);
        }
    }
}

pub(super) fn header(out: &mut String, name: &str, help: &str, kind: Kind) {
    // Writing to a String cannot fail; the results below are dropped for that reason.
    let _ = write!(out, "# HELP {name} ");
    escape(out, help, false);
    let _ = writeln!(out, "\n# TYPE {name} {}", kind.as_str());
}

fn write_series(out: &mut String, family: &Family, values: &[Box<str>], series: &Series) {
    let labels = labels(family, values);
    if family.kind == Kind::Histogram {
        return histogram(out, family, &labels, series);
    }
    match series.whole(family) {
        // Exact, however large.
        Some(whole) => {
            let _ = write!(out, "{}", family.name);
            write_labels(out, &labels, None);
            let _ = writeln!(out, " {whole}");
        }
        None => sample(out, family.name, "", &labels, None, series.number(family)),
    }
}

fn histogram(out: &mut String, family: &Family, labels: &[(&str, &str)], series: &Series) {
    let mut cumulative = 0;
    for (bucket, bound) in family.buckets.iter().enumerate() {
        cumulative += series.bucket(bucket);
        sample(
            out,
            family.name,
            "_bucket",
            labels,
            Some(&bound.to_string()),
            cumulative as f64,
        );
    }
    cumulative += series.bucket(family.buckets.len());
    sample(
        out,
        family.name,
        "_bucket",
        labels,
        Some("+Inf"),
        cumulative as f64,
    );
    sample(
        out,
        family.name,
        "_sum",
        labels,
        None,
        series.observed(family.buckets.len()),
    );
    sample(out, family.name, "_count", labels, None, cumulative as f64);
}

fn labels<'a>(family: &'a Family, values: &'a [Box<str>]) -> Vec<(&'a str, &'a str)> {
    let own = family
        .labels
        .iter()
        .map(|label| label.name)
        .zip(values.iter().map(|value| &**value));
    let scope = SCOPE_LABELS.into_iter().filter(|_| family.scoped);
    let mut all: Vec<_> = own.chain(scope).collect();
    all.sort_unstable_by_key(|(name, _)| *name);
    all
}

pub(super) fn sample(
    out: &mut String,
    name: &str,
    suffix: &str,
    labels: &[(&str, &str)],
    le: Option<&str>,
    value: f64,
) {
    let _ = write!(out, "{name}{suffix}");
    write_labels(out, labels, le);
    let _ = writeln!(out, " {value}");
}

fn write_labels(out: &mut String, labels: &[(&str, &str)], le: Option<&str>) {
    let mut separator = '{';
    // A histogram's bound comes last whatever its place in the alphabet, as in Prometheus' own client libraries.
    for (name, value) in labels.iter().copied().chain(le.map(|bound| ("le", bound))) {
        let _ = write!(out, "{separator}{name}=\"");
        escape(out, value, true);
        out.push('"');
        separator = ',';
    }
    if separator == ',' {
        out.push('}');
    }
}

fn escape(out: &mut String, text: &str, in_quotes: bool) {
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '"' if in_quotes => out.push_str("\\\""),
            c => out.push(c),
        }
    }
}
