//! From a document to manifests.

use stunner_document::{Entry, Node, Place, Scalar, Value};
use stunner_translate::ObjectKey;

use crate::problem::{Fault, Problem};
use crate::reading::{Manifest, Reading};
use crate::schema::{KINDS, Kind};

use super::identity::{Identity, Mistake, identify, list_of};
use super::object;
use super::{File, Report};

/// Reads the documents of one file.
#[derive(Debug)]
pub(super) struct Reader {
    pub(super) file: File,
    pub(super) report: Report,
    manifests: Vec<Manifest>,
    unreadable: Vec<Option<ObjectKey>>,
}

impl Reader {
    pub(super) fn new(file: &str) -> Self {
        Reader {
            file: file.into(),
            report: Report::new(file),
            manifests: Vec::new(),
            unreadable: Vec::new(),
        }
    }

    pub(super) fn finish(self) -> Reading {
        Reading {
            file: self.file.to_string(),
            empty: self.manifests.is_empty() && self.unreadable.is_empty(),
            manifests: self.manifests,
            problems: self.report.finish(),
            unreadable: self.unreadable,
        }
    }

    /// Takes note of a document that nothing can be told about.
    pub(super) fn unreadable(&mut self, problem: Problem) {
        self.report.push(problem);
        self.unreadable.push(None);
    }

    /// Reads a document, or an item of a list.
    pub(super) fn document(&mut self, root: Node) {
        match &root.value {
            Value::Mapping(_) => {}
            Value::Null => return,
            Value::Sequence(items) => {
                // Other lists are documents of other programs.
                if items.iter().any(is_object) {
                    let message = "expected a manifest, found a list";
                    let hint =
                        "write each object as a document of its own, with `---` between them";
                    self.report
                        .error(root.place, Fault::Syntax, "", message, hint);
                    self.unreadable.push(None);
                }
                return;
            }
            Value::Scalar(_) => {
                let message = "expected a manifest, found a single value";
                let hint = "a manifest begins with `apiVersion` and `kind`; remove this text, or make it a comment";
                self.report
                    .error(root.place, Fault::Syntax, "", message, hint);
                self.unreadable.push(None);
                return;
            }
        }
        let api_version = root.child("apiVersion").and_then(Node::text);
        let kind = root.child("kind").and_then(Node::text);
        if let Some(item) = kind.and_then(|kind| list_of(api_version, kind)) {
            let inherited =
                item.map(|item| (api_version.unwrap_or_default().to_owned(), item.to_owned()));
            return self.list(root, inherited);
        }
        match identify(api_version, kind) {
            Identity::Foreign => self.foreign(&root),
            Identity::Mistaken(mistake) => self.mistaken(&root, mistake),
            Identity::Known(kind, version) => match object::read(self, root, kind, version) {
                Ok(manifest) => self.manifests.push(manifest),
                Err(key) => self.unreadable.push(key),
            },
        }
    }

    /// The items of a `List`. Those of a `GatewayList` need not say what they are.
    fn list(&mut self, root: Node, inherited: Option<(String, String)>) {
        let Value::Mapping(entries) = root.value else {
            return;
        };
        let items = entries.into_iter().find(|entry| entry.key == "items");
        let Some(Node { place, value }) = items.map(|entry| entry.value) else {
            return;
        };
        let items = match value {
            Value::Sequence(items) => items,
            Value::Null => return,
            Value::Mapping(_) | Value::Scalar(_) => {
                let what = match value {
                    Value::Mapping(_) => "mapping",
                    _ => "single value",
                };
                let message = format!("expected list, found {what}");
                let hint = "write it as lines that begin with `- `";
                self.report
                    .error(place, Fault::WrongType, "items", message, hint);
                self.unreadable.push(None);
                return;
            }
        };
        for mut item in items {
            if let Some((api_version, kind)) = &inherited
                && let Value::Mapping(entries) = &mut item.value
            {
                for (key, text) in [("apiVersion", api_version), ("kind", kind)] {
                    if !entries.iter().any(|entry| entry.key == key) {
                        entries.push(entry(key, text, item.place));
                    }
                }
            }
            self.document(item);
        }
    }

    /// A document of another program, unless it only lacks its first two lines.
    fn foreign(&mut self, root: &Node) {
        let says_nothing = root.child("apiVersion").is_none() && root.child("kind").is_none();
        let is_object = root
            .child("metadata")
            .is_some_and(|metadata| metadata.child("name").is_some());
        if says_nothing && is_object && root.child("spec").is_some() {
            let message = "missing required fields `apiVersion` and `kind`";
            let hint = "add them as the first lines, such as `apiVersion: gateway.networking.k8s.io/v1` and `kind: Gateway`";
            self.report
                .error(root.place, Fault::Kind, "kind", message, hint);
            self.unreadable.push(None);
            return;
        }
        let Value::Mapping(entries) = &root.value else {
            return;
        };
        // What somebody else's object, or nobody's, would hide without a word.
        if let Some(second) = second_kind(entries) {
            self.report.error(
                second.place,
                Fault::DuplicateKey,
                "kind",
                GIVEN_TWICE,
                RAN_TOGETHER,
            );
            self.unreadable.push(None);
        } else if says_nothing && entries.iter().filter_map(misspelt).count() == 2 {
            for entry in entries {
                if let Some(meant) = misspelt(entry) {
                    let message = format!("unknown field `{}`", entry.key);
                    let hint = format!("did you mean `{meant}`?");
                    let fault = Fault::UnknownField;
                    self.report
                        .error(entry.key_place, fault, &entry.key, message, hint);
                }
            }
            self.unreadable.push(None);
        }
    }

    fn mistaken(&mut self, root: &Node, mistake: Mistake) {
        let place = root
            .child(mistake.field)
            .map_or(root.place, |node| node.place);
        self.report.error(
            place,
            Fault::Kind,
            mistake.field,
            mistake.message,
            mistake.hint,
        );
        self.unreadable
            .push(mistake.meant.and_then(|kind| key_of(root, kind)));
    }
}

/// Said about keys that are there more than once.
pub(super) const GIVEN_TWICE: &str = "this key is given twice";
/// The fix where `apiVersion` or `kind` is there more than once.
pub(super) const RAN_TOGETHER: &str = "if another object begins here, put a line `---` before it";

/// A kind of ours where the document has one already.
fn second_kind(entries: &[Entry]) -> Option<&Node> {
    let kinds = entries.iter().filter(|entry| entry.key == "kind");
    let mut others = kinds.skip(1).map(|entry| &entry.value);
    others.find(|kind| {
        let name = kind.text();
        KINDS.iter().any(|known| Some(known.name) == name)
    })
}

/// Which of the first two keys of a manifest another spelling stands for.
fn misspelt(entry: &Entry) -> Option<&'static str> {
    let mut keys = ["apiVersion", "kind"].into_iter();
    keys.find(|key| entry.key != *key && entry.key.eq_ignore_ascii_case(key))
}

fn is_object(node: &Node) -> bool {
    node.child("apiVersion").is_some() && node.child("kind").is_some()
}

/// The key of a document as far as it can be told.
pub(super) fn key_of(root: &Node, kind: &Kind) -> Option<ObjectKey> {
    let metadata = root.child("metadata")?;
    let name = metadata.child("name")?.text()?;
    let namespace = match kind.namespaced {
        false => "",
        true => {
            let namespace = metadata.child("namespace").and_then(Node::text);
            namespace
                .filter(|text| !text.is_empty())
                .unwrap_or(DEFAULT_NAMESPACE)
        }
    };
    Some(ObjectKey::new(kind.object, namespace, name))
}

/// The namespace of objects that name none, as `kubectl` has it.
pub(super) const DEFAULT_NAMESPACE: &str = "default";

fn entry(key: &str, text: &str, place: Place) -> Entry {
    Entry {
        key: key.to_owned(),
        key_place: place,
        value: Node {
            place,
            value: Value::Scalar(Scalar {
                text: text.to_owned(),
                quoted: true,
            }),
        },
    }
}
