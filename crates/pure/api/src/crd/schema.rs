//! Structural schemas from Rust types.
//!
//! The API server wants one kind of schema: a type for every value, no `$ref`, no `null`
//! (<https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema>).

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

/// Marks the default that the API server fills in.
///
/// Not `default` itself: that is what schemars calls the value which a reader takes when a field is
/// missing, and every field of ours has one.
const DEFAULT: &str = "x-default";

/// The schema of a spec, a status, or any other type, as the API server wants it.
pub fn structural<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::openapi3().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value();
    clean(&mut schema);
    schema
}

fn clean(schema: &mut Value) {
    let Value::Object(object) = schema else {
        return;
    };
    // Optional fields are left out, never `null`.
    object.remove("nullable");
    object.remove("title");
    object.remove("default");
    if let Some(default) = object.remove(DEFAULT) {
        object.insert("default".to_owned(), default);
    }
    if let Some(Value::String(description)) = object.get_mut("description") {
        *description = joined_lines(description);
    }
    if let Some(Value::Object(properties)) = object.get_mut("properties") {
        let mut required: Vec<Value> = Vec::new();
        for (name, property) in properties.iter_mut() {
            // schemars gives the reader's value only for fields that are always written.
            if property.get("default").is_some() && property.get(DEFAULT).is_none() {
                required.push(name.as_str().into());
            }
            clean(property);
        }
        if !required.is_empty() {
            object.insert("required".to_owned(), required.into());
        }
    }
    for key in ["items", "additionalProperties"] {
        if let Some(inner) = object.get_mut(key) {
            clean(inner);
        }
    }
}

/// Source lines of one paragraph become one line; `kubectl explain` wraps by itself.
fn joined_lines(text: &str) -> String {
    let paragraphs = text
        .split("\n\n")
        .map(|paragraph| paragraph.replace('\n', " "));
    paragraphs.collect::<Vec<_>>().join("\n\n")
}

/// Cuts the descriptions inside a type of Kubernetes to their first sentence.
///
/// Whole, they are most of a CustomResourceDefinition, and `kubectl apply` keeps a copy of it in an
/// annotation, which may have 256 KiB. `kubectl explain pod.spec` has the rest.
pub(crate) fn brief(schema: &mut schemars::Schema) {
    fn inside(object: &mut Map<String, Value>) {
        if let Some(Value::String(description)) = object.get_mut("description") {
            *description = first_sentence(description);
        }
        below(object);
    }
    fn below(object: &mut Map<String, Value>) {
        if let Some(Value::Object(properties)) = object.get_mut("properties") {
            properties
                .values_mut()
                .filter_map(Value::as_object_mut)
                .for_each(inside);
        }
        for key in ["items", "additionalProperties"] {
            if let Some(Value::Object(inner)) = object.get_mut(key) {
                inside(inner);
            }
        }
    }
    if let Some(object) = schema.as_object_mut() {
        below(object);
    }
}

fn first_sentence(text: &str) -> String {
    let paragraph = text
        .split("\n\n")
        .next()
        .unwrap_or_default()
        .replace('\n', " ");
    let end = paragraph.match_indices(". ").find_map(|(at, _)| {
        paragraph[at + 2..]
            .starts_with(|c: char| c.is_ascii_uppercase())
            .then_some(at + 1)
    });
    paragraph[..end.unwrap_or(paragraph.len())].to_owned()
}

/// Lets only one spelling of `userName` be set.
pub(crate) fn one_user_name(schema: &mut schemars::Schema) {
    schema.insert(
        "x-kubernetes-validations".to_owned(),
        json!([{
            "rule": "!has(self.userName) || !has(self.username)",
            "message": "username is another spelling of userName: set only one of them",
        }]),
    );
}

/// Lets every item be an IP address or a prefix.
///
/// By formats rather than by CEL: `isIP` and `isCIDR` came with Kubernetes 1.31, and an older API
/// server refuses a definition that uses them.
pub(crate) fn addresses_and_prefixes(schema: &mut schemars::Schema) {
    if let Some(Value::Object(items)) = schema.get_mut("items") {
        items.insert(
            "anyOf".to_owned(),
            json!([{"format": "cidr"}, {"format": "ipv4"}, {"format": "ipv6"}]),
        );
        items.insert(
            "description".to_owned(),
            json!("An IP address or a prefix."),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_sentence_ends_before_the_next_one() {
        assert_eq!(first_sentence("One. Two."), "One.");
        assert_eq!(
            first_sentence("Of a kind, e.g. this one. Two"),
            "Of a kind, e.g. this one."
        );
        assert_eq!(
            first_sentence("One line\nand more\n\nNext"),
            "One line and more"
        );
    }
}
