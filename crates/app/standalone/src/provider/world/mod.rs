//! The objects that files define.
//!
//! Pure: readings in, changes of objects out. **What is broken takes nothing away.** A document that gives no object
//! leaves the object as it was; only a file that is gone, or that is whole and says otherwise, removes something.

mod dress;
mod file;
mod supplies;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use stunner_api::NamespacedName;
use stunner_api::gateway::Gateway;
use stunner_document::Place;
use stunner_manifest::{Fault, Manifest, Problem, Reading};
use stunner_translate::{Object, ObjectKey, ObjectKind, Snapshot};

use self::dress::{dress, same, without_made_up_uid};
use self::file::FileObjects;
use self::supplies::Supplies;

/// A file among the files. Where two define the same object, the first in this order has it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId {
    /// Which argument of the command line it belongs to.
    pub argument: usize,
    /// As problems name it.
    pub name: String,
}

impl FileId {
    pub fn new(argument: usize, name: impl Into<String>) -> Self {
        FileId {
            argument,
            name: name.into(),
        }
    }
}

/// Where an object comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    File,
    /// What a cluster would have made of the rest.
    Supplied,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Happened {
    Added,
    Changed,
    Removed,
}

/// What a file has to say.
#[derive(Debug)]
pub enum Told {
    Reading(Reading),
    /// It has no byte. Some editors and many scripts empty a file before they write it anew, and one that stays so is
    /// more likely an accident than a wish.
    Emptied,
    Gone,
}

/// What became of an object.
#[derive(Debug, Clone)]
pub struct Change {
    pub key: ObjectKey,
    pub happened: Happened,
    pub source: Source,
    /// `None` when it was removed.
    pub object: Option<Object>,
}

#[derive(Debug)]
struct Served {
    /// As the file has it: what an edit is compared with.
    object: Object,
    generation: i64,
}

#[derive(Debug, Default)]
pub struct World {
    files: BTreeMap<FileId, FileObjects>,
    definers: BTreeMap<ObjectKey, BTreeSet<FileId>>,
    /// The objects in force.
    served: BTreeMap<ObjectKey, Served>,
    /// How many objects of a key there have been: one that is made anew is another object.
    lives: BTreeMap<ObjectKey, u32>,
    touched: BTreeSet<ObjectKey>,
    supplies: Supplies,
}

impl World {
    /// Takes in what a file has to say now.
    pub fn take(&mut self, file: &FileId, told: Told) {
        let before = self.files.remove(file);
        let now = match told {
            Told::Reading(reading) => Some(FileObjects::after(before.as_ref(), reading)),
            Told::Emptied => Some(match &before {
                Some(before) if !before.objects.is_empty() => before.held(emptied(&file.name)),
                _ => FileObjects::default(),
            }),
            Told::Gone => None,
        };
        self.replace(file, before, now);
    }

    fn replace(&mut self, file: &FileId, before: Option<FileObjects>, now: Option<FileObjects>) {
        for key in before.iter().flat_map(|before| before.objects.keys()) {
            if let Some(definers) = self.definers.get_mut(key) {
                definers.remove(file);
            }
            self.touched.insert(key.clone());
        }
        if let Some(now) = now {
            for key in now.objects.keys() {
                let definers = self.definers.entry(key.clone()).or_default();
                definers.insert(file.clone());
                self.touched.insert(key.clone());
            }
            self.files.insert(file.clone(), now);
        }
    }

    /// What has become of objects since this was last asked.
    pub fn take_changes(&mut self) -> Vec<Change> {
        let mut changes = Vec::new();
        for key in std::mem::take(&mut self.touched) {
            if let Some(change) = self.settle(&key) {
                self.supplies.note(&change);
                changes.push(change);
            }
        }
        let supplied = self.supplies.take_changes(&self.served);
        changes.extend(supplied);
        changes
    }

    /// Puts the object of the first file that defines it in force.
    fn settle(&mut self, key: &ObjectKey) -> Option<Change> {
        let wanted = self.definition(key).map(|found| found.object.clone());
        if wanted.is_none() {
            self.definers.remove(key);
        }
        let (happened, generation) = match (self.served.get(key), &wanted) {
            (None, None) => return None,
            (Some(old), Some(new)) if same(&old.object, new) => return None,
            (None, Some(_)) => (Happened::Added, 1),
            (Some(old), Some(_)) => (Happened::Changed, old.generation + 1),
            (Some(_), None) => (Happened::Removed, 0),
        };
        let Some(object) = wanted else {
            self.served.remove(key);
            return Some(Change {
                key: key.clone(),
                happened,
                source: Source::File,
                object: None,
            });
        };
        let lives = self.lives.entry(key.clone()).or_default();
        if happened == Happened::Added {
            *lives += 1;
        }
        let dressed = dress(object.clone(), *lives, generation);
        self.served
            .insert(key.clone(), Served { object, generation });
        Some(Change {
            key: key.clone(),
            happened,
            source: Source::File,
            object: Some(dressed),
        })
    }

    fn definition(&self, key: &ObjectKey) -> Option<&Manifest> {
        let file = self.definers.get(key)?.first()?;
        self.files.get(file)?.objects.get(key)
    }

    /// What is wrong with the files, by file and line, with what [`stunner_manifest::check`] found among them.
    pub fn problems(&self, findings: &[Problem]) -> Vec<Problem> {
        let mut found: BTreeMap<&str, Vec<&Problem>> = BTreeMap::new();
        for finding in findings {
            found.entry(&finding.file).or_default().push(finding);
        }
        let mut problems = Vec::new();
        for (file, objects) in &self.files {
            let from = problems.len();
            problems.extend(objects.problems.iter().cloned());
            let found = found.remove(file.name.as_str()).unwrap_or_default();
            problems.extend(found.into_iter().cloned());
            for (key, definition) in &objects.objects {
                if let Some(problem) = self.duplicate(file, key, definition) {
                    problems.push(problem);
                }
            }
            problems[from..].sort_by_key(|problem| (problem.line, problem.column));
        }
        problems
    }

    /// The objects in force by file, to be checked against each other.
    pub fn readings(&self) -> Vec<Reading> {
        let files = self.files.iter();
        files.map(|(id, file)| file.reading(&id.name)).collect()
    }

    fn duplicate(&self, file: &FileId, key: &ObjectKey, definition: &Manifest) -> Option<Problem> {
        let first = self.definers.get(key)?.first()?;
        if first == file {
            return None;
        }
        let line = self.files.get(first)?.objects.get(key)?.root.place.line;
        Some(file::duplicate(
            &file.name,
            definition.root.place,
            key,
            &format!("{}:{line}", first.name),
        ))
    }

    /// How many objects of a file are in force as an earlier content of it had them.
    pub fn held_objects(&self, file: &str) -> usize {
        let files = self.files.iter().filter(|(id, _)| id.name == file);
        files.map(|(_, objects)| objects.held.len()).sum()
    }

    /// The names of files of which [`World::held_objects`] counts some.
    pub fn files_with_held_objects(&self) -> BTreeSet<&str> {
        let files = self.files.iter();
        let holding = files.filter(|(_, objects)| !objects.held.is_empty());
        holding.map(|(id, _)| id.name.as_str()).collect()
    }

    /// An object of the files, as it is in force.
    pub fn contains(&self, key: &ObjectKey) -> bool {
        self.served.contains_key(key)
    }

    /// Whether an object of the files names this UID among its owners.
    pub fn is_owned_by(&self, key: &ObjectKey, uid: &str) -> bool {
        let metadata = self.served.get(key).map(|served| served.object.metadata());
        let owners = metadata.and_then(|metadata| metadata.owner_references.as_ref());
        let mut owners = owners.into_iter().flatten();
        owners.any(|owner| owner.uid == uid)
    }

    pub fn gateway(&self, name: &NamespacedName) -> Option<&Gateway> {
        let key = ObjectKey::new(ObjectKind::Gateway, &name.namespace, &name.name);
        match &self.served.get(&key)?.object {
            Object::Gateway(gateway) => Some(gateway),
            _ => None,
        }
    }

    /// The world of some files, each read once, as translation takes it. Only what was exported from a cluster has a UID.
    pub fn snapshot(readings: impl IntoIterator<Item = Reading>) -> Snapshot {
        let mut world = World::default();
        for (argument, reading) in readings.into_iter().enumerate() {
            let file = FileId::new(argument, reading.file.clone());
            world.take(&file, Told::Reading(reading));
        }
        let mut snapshot = Snapshot::default();
        for change in world.take_changes() {
            if let Some(object) = change.object {
                let _ = snapshot.apply(without_made_up_uid(object));
            }
        }
        snapshot
    }
}

fn emptied(file: &str) -> Problem {
    let place = Place { line: 1, column: 1 };
    Problem::error(
        file,
        place,
        Fault::Empty,
        "",
        "the file is empty; what it defined stays in force",
    )
    .hint("delete the file to remove its objects")
}
