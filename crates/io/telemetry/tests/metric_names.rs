//! The table of names: in order, in step with the code that counts, and with the reference page.

use std::path::Path;

use stunner_config::admission::DenyReason;
use stunner_telemetry::metrics::{
    Family, Kind, names, operator_names, operator_reference, reference,
};
use stunner_turn::server::{AuthFailure, DropReason, Stats};

fn families() -> impl Iterator<Item = &'static Family> {
    names::ALL
        .iter()
        .chain(operator_names::ALL)
        .flat_map(|section| section.families.iter().copied())
}

#[test]
fn names_are_unique_and_follow_the_conventions() {
    let mut seen = std::collections::BTreeSet::new();
    for family in families() {
        assert!(seen.insert(family.name), "{} is there twice", family.name);
        assert_eq!(
            family.kind == Kind::Counter,
            family.name.ends_with("_total"),
            "{}",
            family.name
        );
        assert_eq!(
            family.kind == Kind::Histogram,
            !family.buckets.is_empty(),
            "{}",
            family.name
        );
        assert!(family.help.ends_with('.'), "help of {}", family.name);
        assert!(
            family.labels.is_sorted_by_key(|label| label.name),
            "labels of {}",
            family.name
        );
        assert!(family.buckets.is_sorted(), "buckets of {}", family.name);
    }
}

fn assert_lists<'a>(family: &Family, values: impl IntoIterator<Item = &'a str>) {
    let listed: Vec<_> = family.labels[0]
        .values
        .iter()
        .map(|(value, _)| *value)
        .collect();
    for value in values {
        assert!(
            listed.contains(&value),
            "`{value}` is missing among the labels of {}",
            family.name
        );
    }
}

#[test]
fn every_reason_that_the_server_counts_is_explained() {
    assert_lists(
        &names::DROPPED_PACKETS,
        DropReason::ALL.map(DropReason::as_str),
    );
    assert_lists(
        &names::AUTH_FAILURES,
        AuthFailure::ALL.map(AuthFailure::as_str),
    );
    assert_lists(&names::DENIALS, DenyReason::ALL.map(DenyReason::as_str));
    assert_lists(
        &names::REQUESTS,
        Stats::default().requests().map(|(method, _)| method),
    );
}

#[test]
fn the_reference_pages_are_in_step() {
    for (name, page) in [
        ("metrics.md", reference()),
        ("operator-metrics.md", operator_reference()),
    ] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/reference");
        let path = folder.join(name);
        if std::env::var_os("UPDATE").is_some() {
            std::fs::create_dir_all(&folder).expect("the folder of the page");
            std::fs::write(&path, &page).expect("the page can be written");
        }
        let stored = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            stored == page,
            "docs/reference/{name} is behind the table of names\n  hint: UPDATE=1 cargo test -p stunner-telemetry"
        );
    }
}
