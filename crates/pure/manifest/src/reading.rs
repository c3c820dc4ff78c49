//! What a file holds.

use std::fmt;
use std::sync::Arc;

use stunner_document::{Node, Place};
use stunner_translate::{Object, ObjectKey};

use crate::problem::Problem;

/// One object of a file.
#[derive(Clone)]
pub struct Manifest {
    pub key: ObjectKey,
    pub object: Object,
    pub file: Arc<str>,
    /// What the object was read from: the document in its current version, without what had to be left out. So the
    /// lists of the object and those of the tree have the same items.
    pub root: Arc<Node>,
    /// Something had to be left out; an error among the problems says what.
    pub repaired: bool,
}

impl Manifest {
    /// Where a field is, such as `spec.listeners[0].port` or `metadata.annotations[stunner.l7mp.io/service-type]`: the
    /// place of its value, or of the innermost thing around it that there is.
    pub fn place_of(&self, path: &str) -> Place {
        self.root.find(path).place
    }
}

/// Without the tree, which may hold secrets.
impl fmt::Debug for Manifest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} of {}", self.object, self.file)
    }
}

/// What a file holds, and what is wrong with it.
#[derive(Debug, Clone, Default)]
pub struct Reading {
    /// The name that the file was read under.
    pub file: String,
    /// In the order of the file. Objects that are there twice are here twice.
    pub manifests: Vec<Manifest>,
    /// In the order of the file.
    pub problems: Vec<Problem>,
    /// One for each document of ours that gave no object: its key as far as it can be told. `None` stands for
    /// any object: the text did not say which one is meant.
    pub unreadable: Vec<Option<ObjectKey>>,
    /// Nothing in the file is, or tries to be, an object of ours.
    pub empty: bool,
}
