//! What a file holds.

use std::borrow::Cow;
use std::collections::BTreeMap;
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
    /// By list, as it is written: for each item that had to be left out, how many before it stayed.
    pub(crate) left_out: LeftOut,
}

pub(crate) type LeftOut = BTreeMap<String, Vec<usize>>;

impl Manifest {
    /// Where a field is, such as `spec.listeners[0].port` or `metadata.annotations[stunner.l7mp.io/service-type]`: the
    /// place of its value, or of the innermost thing around it that there is.
    pub fn place_of(&self, path: &str) -> Place {
        self.root.find(path).place
    }

    /// A field as its author would call it: the items of lists are counted as they are written.
    pub fn as_written<'p>(&self, path: &'p str) -> Cow<'p, str> {
        if self.left_out.is_empty() {
            return Cow::Borrowed(path);
        }
        let (mut written, mut rest) = (String::new(), path);
        while let Some((before, bracketed)) = rest.split_once('[')
            && let Some((step, after)) = bracketed.split_once(']')
        {
            written.push_str(before);
            let missing = self.left_out.get(&written);
            let step = match (step.parse::<usize>(), missing) {
                (Ok(index), Some(stayed)) => {
                    let earlier = stayed.partition_point(|stayed| *stayed <= index);
                    (index + earlier).to_string()
                }
                _ => step.to_owned(),
            };
            written.push_str(&format!("[{step}]"));
            rest = after;
        }
        written.push_str(rest);
        Cow::Owned(written)
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
