//! From the tree of a known kind to an object.

use std::sync::Arc;

use serde_json::{Map, Value as Json};
use stunner_document::{Node, Scalar, Value};
use stunner_translate::{Object, ObjectKey, ObjectKind};

use crate::problem::Fault;
use crate::reading::Manifest;
use crate::schema::{Form, Kind, Version};

use super::document::{DEFAULT_NAMESPACE, Reader, key_of};
use super::secret::merge_string_data;
use super::shape::shape;

/// Reads an object. The error is its key as far as it can be told; what is wrong has been reported.
pub(super) fn read(
    reader: &mut Reader,
    mut root: Node,
    kind: &'static Kind,
    version: Version,
) -> Result<Manifest, Option<ObjectKey>> {
    let key = key_of(&root, kind);
    if let Version::Older(old) = version {
        up_convert(reader, &mut root, kind, old);
    }
    let named = check_name(reader, &root, kind);
    let written = has_identity(&root);
    let shaped = shape(&mut reader.report, &mut root, &kind.schema);
    // Without the namespace that somebody wrote it would be another object.
    let kept = has_identity(&root) == written;
    let (Some(mut object), true, true) = (shaped.object, named, kept) else {
        // No object has a name that is not allowed: any may be meant.
        return Err(key.filter(|_| named && kept));
    };
    settle_namespace(reader, &root, &mut object, kind);
    if kind.object == ObjectKind::Secret {
        merge_string_data(&mut object);
    }
    match Object::read(kind.object, Json::Object(object)) {
        Ok(object) => Ok(Manifest {
            key: object.key(),
            object,
            file: reader.file.clone(),
            root: Arc::new(root),
            repaired: shaped.repaired,
            left_out: shaped.left_out,
        }),
        // The error may repeat a value, so it is not shown.
        Err(_) => {
            let message = format!(
                "this is no {}: a value does not have the form that its field needs",
                kind.name
            );
            let hint = "compare it with the reference of the kind, field by field";
            reader
                .report
                .error(root.place, Fault::WrongValue, "", message, hint);
            Err(key)
        }
    }
}

/// Whether there are a name and a namespace.
fn has_identity(root: &Node) -> [bool; 2] {
    let metadata = root.child("metadata");
    let has = |field| {
        metadata
            .and_then(|metadata| metadata.child(field))
            .is_some_and(|node| !node.is_null())
    };
    ["name", "namespace"].map(has)
}

/// Older versions have the fields of the current one, apart from a few that mean nothing any more.
fn up_convert(reader: &mut Reader, root: &mut Node, kind: &Kind, old: &str) {
    let Value::Mapping(entries) = &mut root.value else {
        return;
    };
    let current = kind.api_version();
    if let Some(entry) = entries.iter_mut().find(|entry| entry.key == "apiVersion") {
        let written = entry.value.text().unwrap_or(old);
        let message = format!(
            "`{written}` is an older version of {}, read as `{current}`",
            kind.name
        );
        let hint = format!("write `apiVersion: {current}`");
        let place = entry.value.place;
        reader
            .report
            .warning(place, Fault::OldVersion, "apiVersion", message, hint);
        entry.value.value = Value::Scalar(Scalar {
            text: current,
            quoted: true,
        });
    }
    if kind.object == ObjectKind::EndpointSlice {
        let endpoints = entries.iter_mut().find(|entry| entry.key == "endpoints");
        if let Some(Value::Sequence(endpoints)) = endpoints.map(|entry| &mut entry.value.value) {
            for endpoint in endpoints {
                if let Value::Mapping(fields) = &mut endpoint.value {
                    // Became `nodeName` and `zone`, which are not used here.
                    fields.retain(|field| field.key != "topology");
                }
            }
        }
    }
}

/// Whether the object has a name that Kubernetes allows. A missing `metadata` is reported with the schema.
fn check_name(reader: &mut Reader, root: &Node, kind: &Kind) -> bool {
    let Some(metadata) = root.child("metadata") else {
        return false;
    };
    let Some(name) = metadata.child("name").filter(|name| !name.is_null()) else {
        if matches!(metadata.value, Value::Mapping(_)) {
            let message = "missing required field `name`";
            let hint = match metadata.child("generateName") {
                Some(_) => "add `name`: only an API server can make names from `generateName`",
                None => "add `name`, a lower-case DNS name",
            };
            let place = metadata.place;
            reader
                .report
                .error(place, Fault::MissingField, "metadata.name", message, hint);
        }
        return false;
    };
    let Some(text) = name.text() else {
        return false; // Reported with the schema.
    };
    let (form, longest) = match kind.object {
        ObjectKind::Namespace | ObjectKind::Service => (Form::Label, 63),
        _ => (Form::Subdomain, 253),
    };
    let mut valid = check(reader, name, "metadata.name", text, &form, longest);
    if kind.namespaced
        && let Some(namespace) = metadata.child("namespace")
        && let Some(text) = namespace.text().filter(|text| !text.is_empty())
    {
        valid &= check(
            reader,
            namespace,
            "metadata.namespace",
            text,
            &Form::Label,
            63,
        );
    }
    valid
}

fn check(
    reader: &mut Reader,
    node: &Node,
    field: &str,
    text: &str,
    form: &Form,
    longest: usize,
) -> bool {
    let valid = form.admits(text) && text.len() <= longest;
    if !valid {
        let found: String = text.chars().take(80).collect();
        let message = format!(
            "expected {} of at most {longest} characters, found `{found}`",
            form.noun()
        );
        let hint = super::template::hint(text).map_or_else(|| form.hint(), str::to_owned);
        reader
            .report
            .error(node.place, Fault::Name, field, message, hint);
    }
    valid
}

/// Gives objects their namespace, and none to those of the whole cluster.
fn settle_namespace(reader: &mut Reader, root: &Node, object: &mut Map<String, Json>, kind: &Kind) {
    let Some(Json::Object(metadata)) = object.get_mut("metadata") else {
        return;
    };
    let given = metadata.get("namespace").and_then(Json::as_str);
    let is_given = given.is_some_and(|namespace| !namespace.is_empty());
    if kind.namespaced && !is_given {
        metadata.insert("namespace".to_owned(), DEFAULT_NAMESPACE.into());
    }
    if !kind.namespaced && metadata.remove("namespace").is_some() && is_given {
        let place = root.find("metadata.namespace").place;
        let message = format!(
            "a {} belongs to no namespace, this one is ignored",
            kind.name
        );
        let field = "metadata.namespace";
        reader
            .report
            .warning(place, Fault::Leniency, field, message, "remove it");
    }
}
