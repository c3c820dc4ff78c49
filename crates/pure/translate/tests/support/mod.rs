//! Manifests into a snapshot, for every test that reads YAML, those inside the crate too.
#![allow(dead_code)] // every test binary uses its part

use std::path::Path;

use serde_json::Value;
use stunner_translate::{Object, ObjectKind, Snapshot};

/// The documents of a YAML text; empty ones are left out.
pub fn documents(text: &str) -> Vec<Value> {
    let documents: Vec<Value> = serde_saphyr::from_multiple(text).expect("YAML");
    documents
        .into_iter()
        .filter(|document| !document.is_null())
        .collect()
}

pub fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// What an API server would have added: a UID, a generation, and the data of a Secret from its `stringData`.
pub fn stored(mut document: Value) -> Value {
    let kind = document["kind"].as_str().unwrap_or_default().to_owned();
    let name = document["metadata"]["name"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let namespace = document["metadata"]["namespace"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let metadata = document["metadata"].as_object_mut().expect("metadata");
    metadata.entry("uid").or_insert_with(|| {
        Value::String(format!("uid-{}-{namespace}-{name}", kind.to_lowercase()))
    });
    metadata
        .entry("generation")
        .or_insert_with(|| Value::from(1));
    if let Some(Value::Object(texts)) = document
        .as_object_mut()
        .expect("object")
        .remove("stringData")
    {
        use base64::Engine as _;
        for (key, text) in texts {
            let text = text.as_str().expect("stringData holds strings");
            let encoded = base64::engine::general_purpose::STANDARD.encode(text);
            document["data"][key] = Value::String(encoded);
        }
    }
    document
}

/// The object of a document, or `None` for a kind that translation does not look at.
pub fn object(document: &Value) -> Option<Object> {
    read_object(document).unwrap_or_else(|error| panic!("{error} in {document:#}"))
}

/// The object of a document, or `None` for what cannot be read: the operator reports such an object and goes on.
pub fn readable(document: &Value) -> Option<Object> {
    read_object(document).ok().flatten()
}

fn read_object(document: &Value) -> Result<Option<Object>, serde_json::Error> {
    let kind = ObjectKind::of_manifest(document);
    kind.map(|kind| Object::read(kind, document.clone()))
        .transpose()
}

pub fn snapshot<'a>(documents: impl IntoIterator<Item = &'a Value>) -> Snapshot {
    let mut snapshot = Snapshot::default();
    for document in documents {
        if let Some(object) = object(&stored(document.clone())) {
            snapshot.apply(object);
        }
    }
    snapshot
}
