//! Problems as they are found.

use std::collections::{BTreeSet, HashMap};

use stunner_translate::ObjectKey;

use crate::problem::{Fault, Problem};
use crate::reading::{Manifest, Reading};

/// How many references to nothing are compared with every name there is: whoever has more of them has another problem than
/// slips of the hand, and the work grows with the square.
const MOST_COMPARED: usize = 256;

pub(super) struct Findings<'a> {
    readings: &'a [Reading],
    found: Vec<Problem>,
    /// Objects that something has been said about.
    touched: BTreeSet<ObjectKey>,
    /// Fields that the reading of an object already found wrong.
    told: HashMap<*const Manifest, Vec<&'a str>>,
    compared: usize,
}

impl<'a> Findings<'a> {
    pub(super) fn new(readings: &'a [Reading]) -> Self {
        let mut findings = Findings {
            readings,
            found: Vec::new(),
            touched: BTreeSet::new(),
            told: HashMap::new(),
            compared: 0,
        };
        for reading in readings {
            for problem in &reading.problems {
                // A problem belongs to the object that began last before it.
                let starts_before = |manifest: &Manifest| {
                    let start = manifest.root.place;
                    (start.line, start.column) <= (problem.line, problem.column)
                };
                let before = reading.manifests.partition_point(starts_before);
                let Some(manifest) = reading.manifests[..before].last() else {
                    continue;
                };
                if problem.is_error() {
                    findings.touched.insert(manifest.key.clone());
                    let fields = findings.told.entry(manifest).or_default();
                    fields.push(&problem.field);
                }
            }
        }
        findings
    }

    pub(super) fn error(
        &mut self,
        manifest: &Manifest,
        fault: Fault,
        field: &str,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        let (place, field) = (manifest.place_of(field), manifest.as_written(field));
        let problem = Problem::error(&manifest.file, place, fault, &*field, message);
        self.push(manifest, problem.hint(hint));
    }

    pub(super) fn warning(
        &mut self,
        manifest: &Manifest,
        fault: Fault,
        field: &str,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        let (place, field) = (manifest.place_of(field), manifest.as_written(field));
        let problem = Problem::warning(&manifest.file, place, fault, &*field, message);
        self.push(manifest, problem.hint(hint));
    }

    pub(super) fn push(&mut self, manifest: &Manifest, problem: Problem) {
        self.touched.insert(manifest.key.clone());
        self.found.push(problem);
    }

    /// Whether reading found errors in this part of the object: what seems to be missing there may just have been left out.
    pub(super) fn is_told(&self, manifest: &Manifest, part: &str) -> bool {
        let fields = self.told.get(&std::ptr::from_ref(manifest));
        let part = manifest.as_written(part);
        fields.is_some_and(|fields| fields.iter().any(|field| field.starts_with(&*part)))
    }

    /// Whether to look for the name that a reference to nothing may mean.
    pub(super) fn may_compare(&mut self) -> bool {
        self.compared += 1;
        self.compared <= MOST_COMPARED
    }

    /// Whether anything is wrong with the object so far.
    pub(super) fn is_touched(&self, key: &ObjectKey) -> bool {
        self.touched.contains(key)
    }

    /// Everything by file and place.
    pub(super) fn finish(self) -> Vec<Problem> {
        let order: HashMap<&str, usize> = self
            .readings
            .iter()
            .enumerate()
            .rev()
            .map(|(number, reading)| (reading.file.as_str(), number))
            .collect();
        let mut problems: Vec<Problem> = self
            .readings
            .iter()
            .flat_map(|reading| reading.problems.iter().cloned())
            .chain(self.found)
            .collect();
        problems.sort_by_cached_key(|problem| {
            let file = order.get(problem.file.as_str()).copied();
            (file, problem.line, problem.column, problem.severity)
        });
        problems.dedup();
        problems
    }
}
