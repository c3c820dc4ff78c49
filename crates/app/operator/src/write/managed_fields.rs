//! Which fields of a live object are ours: the form `fieldsV1` of `metadata.managedFields`.
//!
//! `f:name` is a field, `k:{...}` an element of a list by its key fields, `v:value` an element of a set, `i:n` one by
//! position; `.` is the thing itself. What has nothing below it is owned whole: a scalar, or what the schema calls atomic.

use serde_json::{Map, Value};

pub(super) type Fields = Map<String, Value>;

/// The field manager's entry for what it applied, not counting subresources.
pub(super) fn applied<'a>(live: &'a Value, manager: &str) -> Option<&'a Fields> {
    entries(live)
        .find(|entry| is_entry(entry, "Apply") && entry["manager"] == manager)
        .and_then(|entry| entry.get("fieldsV1")?.as_object())
}

pub(super) fn entries(live: &Value) -> impl Iterator<Item = &Value> {
    let entries = live.pointer("/metadata/managedFields");
    entries
        .and_then(Value::as_array)
        .map_or(&[] as &[_], Vec::as_slice)
        .iter()
}

/// An entry about the object itself, made by this operation (`Apply` or `Update`).
pub(super) fn is_entry(entry: &Value, operation: &str) -> bool {
    let subresource = entry.get("subresource").and_then(Value::as_str);
    entry["operation"] == operation && subresource.unwrap_or_default().is_empty()
}

/// What of a value is ours.
#[derive(Debug, Clone, Copy)]
pub(super) enum Owned<'a> {
    Nothing,
    /// These parts.
    Fields(&'a Fields),
    /// All of it.
    Whole,
}

impl<'a> Owned<'a> {
    fn of(fields: Option<&'a Value>) -> Self {
        match fields.and_then(Value::as_object) {
            None => Owned::Nothing,
            Some(fields) if fields.is_empty() => Owned::Whole,
            Some(fields) => Owned::Fields(fields),
        }
    }

    pub(super) fn field(self, name: &str) -> Self {
        match self {
            Owned::Fields(fields) => Owned::of(fields.get(&format!("f:{name}"))),
            other => other,
        }
    }

    /// The element of a list that has the same key fields, and those key fields.
    pub(super) fn element(self, element: &Value) -> Option<(Map<String, Value>, Self)> {
        let Owned::Fields(fields) = self else {
            return None;
        };
        fields.iter().find_map(|(path, below)| {
            let keys = key_fields(path)?;
            has_keys(element, &keys).then(|| (keys, Owned::of(Some(below))))
        })
    }

    /// Whether a set has this value as ours.
    pub(super) fn has_value(self, value: &Value) -> bool {
        match self {
            Owned::Nothing => false,
            Owned::Whole => true,
            Owned::Fields(fields) => fields
                .keys()
                .any(|path| set_value(path).as_ref() == Some(value)),
        }
    }

    /// Whether these are elements of a set rather than of a list with keys.
    pub(super) fn is_set(self) -> bool {
        matches!(self, Owned::Fields(fields) if fields.keys().any(|path| path.starts_with("v:")))
    }
}

/// The key fields in a path `k:{...}`.
pub(super) fn key_fields(path: &str) -> Option<Map<String, Value>> {
    serde_json::from_str(path.strip_prefix("k:")?).ok()
}

/// The value in a path `v:...`.
pub(super) fn set_value(path: &str) -> Option<Value> {
    serde_json::from_str(path.strip_prefix("v:")?).ok()
}

/// Whether an element has these key fields. One that it leaves out has its default: `protocol` is the only key field
/// with one in the kinds that we write.
pub(super) fn has_keys(element: &Value, keys: &Map<String, Value>) -> bool {
    keys.iter().all(|(key, value)| match element.get(key) {
        Some(has) => has == value,
        None => key == "protocol" && value == "TCP",
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn live() -> Value {
        json!({"metadata": {"managedFields": [
            {"manager": "us", "operation": "Update", "fieldsV1": {"f:a": {}}},
            {"manager": "us", "operation": "Apply", "subresource": "status", "fieldsV1": {"f:b": {}}},
            {"manager": "them", "operation": "Apply", "fieldsV1": {"f:c": {}}},
            {"manager": "us", "operation": "Apply", "fieldsV1": {"f:d": {}}}
        ]}})
    }

    #[test]
    fn only_what_we_applied_to_the_object_itself_is_ours() {
        let fields = applied(&live(), "us").cloned();
        assert_eq!(fields.map(Value::Object), Some(json!({"f:d": {}})));
        assert!(applied(&live(), "nobody").is_none());
        assert!(applied(&json!({"metadata": {}}), "us").is_none());
    }

    #[test]
    fn elements_are_found_by_their_key_fields() {
        let fields = json!({
            r#"k:{"port":3478,"protocol":"UDP"}"#: {"f:name": {}},
            r#"k:{"port":3478,"protocol":"TCP"}"#: {}
        });
        let owned = Owned::of(Some(&fields));
        let udp = owned.element(&json!({"port": 3478, "protocol": "UDP", "name": "x"}));
        assert!(matches!(udp, Some((_, Owned::Fields(_)))));
        let tcp = owned.element(&json!({"port": 3478}));
        assert!(matches!(tcp, Some((_, Owned::Whole))));
        assert!(owned.element(&json!({"port": 3479})).is_none());
    }

    #[test]
    fn values_of_sets_are_found() {
        let fields = json!({r#"v:"a""#: {}, ".": {}});
        let owned = Owned::of(Some(&fields));
        assert!(owned.is_set());
        assert!(owned.has_value(&json!("a")));
        assert!(!owned.has_value(&json!("b")));
    }
}
