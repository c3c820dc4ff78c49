//! What the cases have to prove, all together.

use std::collections::BTreeSet;

use crate::support::read;
use crate::{CASES, root};

/// The renderer cases of the Go operator's own suites are numbered U1 to this.
const LAST_RENDERER_CASE: usize = 191;

/// Lines of a list beside the cases; what follows a `#` is a remark.
fn list(file: &str) -> BTreeSet<String> {
    read(&root().join(file))
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default().trim().to_owned())
        .filter(|line| !line.is_empty())
        .collect()
}

fn renderer_cases() -> BTreeSet<String> {
    (1..=LAST_RENDERER_CASE)
        .map(|number| format!("U{number}"))
        .collect()
}

/// Rows of the field tables of the references, by document, object and field.
fn seed_rows() -> BTreeSet<String> {
    let rows = list("seed_rows.txt");
    rows.into_iter().map(|row| format!("seed {row}")).collect()
}

fn rulings() -> BTreeSet<String> {
    list("rulings.txt")
}

fn proven() -> BTreeSet<String> {
    let proofs = CASES.iter().flat_map(|case| &case.proves);
    proofs.cloned().collect()
}

fn assert_proven(wanted: BTreeSet<String>) {
    let proven = proven();
    let missing: Vec<&String> = wanted.difference(&proven).collect();
    assert!(missing.is_empty(), "no case proves {missing:?}");
}

#[test]
fn every_renderer_case_of_the_go_operator_has_a_case() {
    assert_proven(renderer_cases());
}

#[test]
fn every_row_of_the_references_tables_has_a_case() {
    assert_proven(seed_rows());
}

#[test]
fn every_ruling_that_translation_can_show_has_a_case() {
    assert_proven(rulings());
}

#[test]
fn every_case_says_what_it_proves() {
    let known: BTreeSet<String> = [renderer_cases(), seed_rows(), rulings()]
        .into_iter()
        .flatten()
        .collect();
    for case in CASES.iter() {
        assert!(!case.proves.is_empty(), "{} proves nothing", case.name);
        for proof in &case.proves {
            assert!(known.contains(proof), "{}: unknown `{proof}`", case.name);
        }
    }
}

#[test]
fn there_are_at_least_150_cases() {
    assert!(CASES.len() >= 150);
}
