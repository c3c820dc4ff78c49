//! The objects of one file.

use std::collections::{BTreeMap, BTreeSet};

use stunner_document::Place;
use stunner_manifest::{Fault, Manifest, Problem, Reading};
use stunner_translate::ObjectKey;

#[derive(Debug, Default)]
pub(super) struct FileObjects {
    pub(super) objects: BTreeMap<ObjectKey, Manifest>,
    /// Objects as an earlier content of the file had them.
    pub(super) held: BTreeSet<ObjectKey>,
    pub(super) problems: Vec<Problem>,
    /// Documents that gave no object though none is held for them, as [`Reading`] has them.
    unreadable: Vec<Option<ObjectKey>>,
}

impl FileObjects {
    /// What the file defines now, given what it defined before.
    ///
    /// An object that the new content breaks, or that it may mean by a document that cannot be told, stays as it was.
    pub(super) fn after(before: Option<&FileObjects>, reading: Reading) -> FileObjects {
        let mut now = FileObjects {
            problems: reading.problems,
            unreadable: reading.unreadable,
            ..FileObjects::default()
        };
        for manifest in reading.manifests {
            let place = manifest.root.place;
            if let Some(first) = now.objects.get(&manifest.key) {
                let line = first.root.place.line;
                let problem = duplicate(
                    &reading.file,
                    place,
                    &manifest.key,
                    &format!("{}:{line}", reading.file),
                );
                now.problems.push(problem);
                continue;
            }
            let good = before.and_then(|before| before.objects.get(&manifest.key));
            let definition = match good.filter(|good| !good.repaired && manifest.repaired) {
                Some(good) => {
                    now.held.insert(manifest.key.clone());
                    good.clone()
                }
                // One that never was whole is better followed as far as it goes than not at all.
                None => manifest,
            };
            now.objects.insert(definition.key.clone(), definition);
        }
        let anything = now.unreadable.contains(&None);
        for (key, definition) in before.iter().flat_map(|before| &before.objects) {
            let may_be_meant = anything || now.unreadable.contains(&Some(key.clone()));
            if may_be_meant && !now.objects.contains_key(key) {
                now.held.insert(key.clone());
                now.objects.insert(key.clone(), definition.clone());
            }
        }
        let FileObjects {
            unreadable, held, ..
        } = &mut now;
        unreadable.retain(|key| match key {
            Some(key) => !held.contains(key),
            None => held.is_empty(),
        });
        now
    }

    /// The same objects, though the file does not define them any more.
    pub(super) fn held(&self, problem: Problem) -> FileObjects {
        FileObjects {
            held: self.objects.keys().cloned().collect(),
            objects: self.objects.clone(),
            problems: vec![problem],
            unreadable: Vec::new(),
        }
    }

    /// What is in force of the file, for checks across files.
    pub(super) fn reading(&self, file: &str) -> Reading {
        let mut manifests: Vec<Manifest> = self.objects.values().cloned().collect();
        manifests.sort_by_key(|manifest| (manifest.root.place.line, manifest.root.place.column));
        Reading {
            file: file.to_owned(),
            manifests,
            problems: self.problems.clone(),
            unreadable: self.unreadable.clone(),
            empty: false,
        }
    }
}

/// The problem of an object that another place defines as well, and before this one.
pub(super) fn duplicate(file: &str, place: Place, key: &ObjectKey, first: &str) -> Problem {
    let name = match key.name.namespace.as_str() {
        "" => key.name.name.clone(),
        _ => key.name.to_string(),
    };
    Problem::error(
        file,
        place,
        Fault::DuplicateObject,
        "metadata.name",
        format!(
            "{} {name} is defined twice; the one at {first} is used",
            key.kind
        ),
    )
    .hint(format!(
        "remove one of the two, here or at {first}, or give it another name"
    ))
}
