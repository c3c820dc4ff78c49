//! Whether an object has to be applied.
//!
//! Applying is needed unless the live object has every value that we ask for, all of them are ours, and nothing else is.
//! Then an apply would change neither the object nor its `managedFields`, so it is not sent. `managedFields` also tell
//! how the API server sees a list (by key, as a set, or as one value), so no schema is needed here.

use serde_json::{Map, Value};
use stunner_api::names::FIELD_MANAGER;

use super::managed_fields::{Fields, Owned, applied, has_keys, key_fields, set_value};
use super::ports;
use super::quantity::same_quantity;

/// The first thing that calls for an apply; the text is the path of the field.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Difference {
    #[error("we never applied it")]
    NeverApplied,
    #[error("`{0}` has another value")]
    Value(String),
    #[error("`{0}` has our value but is not ours")]
    NotOurs(String),
    #[error("`{0}` is ours and no longer asked for")]
    Stale(String),
    #[error("`{0}` has an element that nobody asked for")]
    Excess(String),
}

/// `None`: there is nothing to write.
pub(super) fn difference(desired: &Value, live: &Value) -> Option<Difference> {
    let Some(owned) = applied(live, FIELD_MANAGER) else {
        return Some(Difference::NeverApplied);
    };
    let mut path = Path::default();
    let found = (|| {
        for (key, value) in object(desired) {
            if matches!(key.as_str(), "apiVersion" | "kind") {
                continue;
            }
            path.within(key, |path| {
                let owned = Owned::Fields(owned).field(key);
                if key == "metadata" {
                    metadata(value, live.get(key), owned, path)
                } else {
                    compare(value, live.get(key), owned, path)
                }
            })?;
        }
        stale(owned, Some(desired), &mut path)
    })();
    if let Err(difference) = found {
        return Some(difference);
    }
    ports::has_excess(desired, live).then(|| Difference::Excess("spec.ports".to_owned()))
}

/// Name and namespace say which object is meant; nobody owns them.
fn metadata(
    desired: &Value,
    live: Option<&Value>,
    owned: Owned<'_>,
    path: &mut Path,
) -> Result<(), Difference> {
    for (key, value) in object(desired) {
        if !matches!(key.as_str(), "name" | "namespace" | "uid") {
            let live = live.and_then(|live| live.get(key));
            path.within(key, |path| compare(value, live, owned.field(key), path))?;
        }
    }
    Ok(())
}

fn compare(
    desired: &Value,
    live: Option<&Value>,
    owned: Owned<'_>,
    path: &mut Path,
) -> Result<(), Difference> {
    if desired.is_null() {
        return Ok(());
    }
    if matches!(owned, Owned::Nothing) {
        return Err(match live {
            Some(live) if same(desired, live, path) => Difference::NotOurs(path.text()),
            _ => Difference::Value(path.text()),
        });
    }
    if matches!(owned, Owned::Whole) {
        return whole(desired, live, path);
    }
    match desired {
        Value::Object(fields) => fields.iter().try_for_each(|(key, value)| {
            let live = live.and_then(|live| live.get(key));
            path.within(key, |path| compare(value, live, owned.field(key), path))
        }),
        Value::Array(elements) => {
            let live = live.and_then(Value::as_array).map_or(&[] as &[_], |l| l);
            if owned.is_set() {
                set(elements, live, owned, path)
            } else {
                keyed(elements, live, owned, path)
            }
        }
        scalar => whole(scalar, live, path),
    }
}

/// A value that is owned as one. The API server leaves out what is zero or empty.
fn whole(desired: &Value, live: Option<&Value>, path: &Path) -> Result<(), Difference> {
    let is_same = match live {
        None | Some(Value::Null) => is_zero(desired),
        Some(live) => same(desired, live, path),
    };
    is_same
        .then_some(())
        .ok_or_else(|| Difference::Value(path.text()))
}

fn set(desired: &[Value], live: &[Value], owned: Owned<'_>, path: &Path) -> Result<(), Difference> {
    for value in desired {
        if !live.contains(value) {
            return Err(Difference::Value(path.text()));
        }
        if !owned.has_value(value) {
            return Err(Difference::NotOurs(path.text()));
        }
    }
    Ok(())
}

/// The order of elements does not count: a new order of environment variables is no reason to restart pods.
fn keyed(
    desired: &[Value],
    live: &[Value],
    owned: Owned<'_>,
    path: &mut Path,
) -> Result<(), Difference> {
    for element in desired {
        let Some((keys, owned)) = owned.element(element) else {
            return Err(Difference::Value(path.text()));
        };
        let live = live.iter().find(|live| has_keys(live, &keys));
        path.within(&describe(&keys), |path| {
            if live.is_none() {
                return Err(Difference::Value(path.text()));
            }
            compare(element, live, owned, path)
        })?;
    }
    Ok(())
}

/// What we own and ask for no longer: applying takes it away.
fn stale(owned: &Fields, desired: Option<&Value>, path: &mut Path) -> Result<(), Difference> {
    for (step, below) in owned {
        if step == "." {
            continue;
        }
        let (name, wanted) = if let Some(field) = step.strip_prefix("f:") {
            let wanted = desired.and_then(|desired| desired.get(field));
            (field.to_owned(), wanted)
        } else {
            let elements = desired.and_then(Value::as_array);
            let elements = elements.map_or(&[] as &[_], Vec::as_slice);
            let wanted = if let Some(keys) = key_fields(step) {
                elements.iter().find(|element| has_keys(element, &keys))
            } else if let Some(value) = set_value(step) {
                elements.iter().find(|element| **element == value)
            } else {
                let index = step.strip_prefix("i:").and_then(|index| index.parse().ok());
                index.and_then(|index: usize| elements.get(index))
            };
            (step.clone(), wanted)
        };
        path.within(&name, |path| match wanted {
            // A key field that is left to its default.
            None if name == "protocol" => Ok(()),
            None | Some(Value::Null) => Err(Difference::Stale(path.text())),
            Some(wanted) => match below.as_object() {
                Some(below) if !below.is_empty() => stale(below, Some(wanted), path),
                _ => Ok(()),
            },
        })?;
    }
    Ok(())
}

/// Equality of values of which no part has an owner of its own, as the API server stores them.
fn same(desired: &Value, live: &Value, path: &Path) -> bool {
    match (desired, live) {
        (Value::Object(desired), Value::Object(live)) => {
            desired.iter().all(|(key, value)| match live.get(key) {
                Some(live) => {
                    let mut path = path.clone();
                    path.within(key, |path| same(value, live, path))
                }
                None => is_zero(value),
            }) && live.iter().all(|(key, value)| {
                desired.contains_key(key) || is_zero(value) || is_default(key, value)
            })
        }
        (Value::Array(desired), Value::Array(live)) => {
            desired.len() == live.len()
                && desired
                    .iter()
                    .zip(live)
                    .all(|(desired, live)| same(desired, live, path))
        }
        (Value::Number(desired), Value::Number(live)) => {
            desired == live || desired.as_f64() == live.as_f64()
        }
        (Value::String(desired), Value::String(live)) => {
            desired == live || path.is_quantity() && same_quantity(desired, live)
        }
        (desired, live) => desired == live || is_zero(desired) && is_zero(live),
    }
}

/// What the API server fills in inside of values that are owned as one.
fn is_default(key: &str, value: &Value) -> bool {
    match key {
        // `fieldRef`.
        "apiVersion" => value == "v1",
        // `resourceFieldRef`.
        "divisor" => value == "0",
        // A projected `serviceAccountToken`.
        "expirationSeconds" => value == 3600,
        "protocol" => value == "TCP",
        _ => false,
    }
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(value) => value.as_f64() == Some(0.0),
        Value::String(value) => value.is_empty(),
        Value::Array(value) => value.is_empty(),
        Value::Object(value) => value.is_empty(),
    }
}

fn object(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

fn describe(keys: &Map<String, Value>) -> String {
    let values: Vec<_> = keys.values().map(ToString::to_string).collect();
    format!("[{}]", values.join(" "))
}

#[derive(Debug, Clone, Default)]
struct Path {
    steps: Vec<String>,
}

impl Path {
    fn within<T>(&mut self, step: &str, inner: impl FnOnce(&mut Path) -> T) -> T {
        self.steps.push(step.to_owned());
        let result = inner(self);
        self.steps.pop();
        result
    }

    fn text(&self) -> String {
        self.steps.join(".")
    }

    fn is_quantity(&self) -> bool {
        match self.steps.as_slice() {
            [.., parent, _] if matches!(parent.as_str(), "limits" | "requests") => true,
            [.., last] => matches!(last.as_str(), "sizeLimit" | "divisor"),
            [] => false,
        }
    }
}

#[cfg(test)]
#[path = "differs_tests.rs"]
mod tests;
