//! Comparing parts of configs and statuses; an `Err` says what was found.

use serde_json::{Value, json};

pub type Found = Result<(), String>;

pub fn same(found: &Value, wanted: impl Into<Value>) -> Found {
    let wanted = wanted.into();
    if *found == wanted {
        return Ok(());
    }
    Err(format!("{found} instead of {wanted}"))
}

/// Equal as sets.
pub fn same_set(found: &Value, wanted: &[&str]) -> Found {
    let mut texts = strings(found);
    let mut wanted = wanted.to_vec();
    texts.sort();
    wanted.sort();
    if texts == wanted {
        return Ok(());
    }
    Err(format!("{texts:?} instead of {wanted:?}"))
}

pub fn count(found: &Value, wanted: usize) -> Found {
    let length = found.as_array().map_or(0, Vec::len);
    if length == wanted {
        return Ok(());
    }
    Err(format!("{length} instead of {wanted}: {found}"))
}

/// Neither there nor empty.
pub fn absent(found: &Value) -> Found {
    match found {
        Value::Null => Ok(()),
        Value::String(text) if text.is_empty() => Ok(()),
        Value::Array(items) if items.is_empty() => Ok(()),
        other => Err(format!("{other} instead of nothing")),
    }
}

pub fn strings(found: &Value) -> Vec<String> {
    let items = found.as_array().into_iter().flatten();
    items
        .map(|item| item.as_str().unwrap_or_default().to_owned())
        .collect()
}

/// `status/reason` of a condition, from an object that has `conditions`.
pub fn condition(holder: &Value, kind: &str) -> String {
    let conditions = holder["conditions"].as_array().into_iter().flatten();
    let found = conditions
        .into_iter()
        .find(|condition| condition["type"] == kind);
    found.map_or_else(
        || "absent".to_owned(),
        |condition| {
            let text = |key: &str| condition[key].as_str().unwrap_or_default().to_owned();
            format!("{}/{}", text("status"), text("reason"))
        },
    )
}

/// Each of `wanted` is `(type, "Status/Reason")`, or `(type, "Status")` where the reason does not matter.
pub fn conditions(holder: &Value, wanted: &[(&str, &str)]) -> Found {
    for (kind, wanted) in wanted {
        let found = condition(holder, kind);
        if found != *wanted && found.split('/').next() != Some(wanted) {
            let all = &holder["conditions"];
            return Err(format!("{kind} is {found} instead of {wanted}; all: {all}"));
        }
    }
    Ok(())
}

/// An item of a list by its `name`; null where there is none.
pub fn named<'a>(list: &'a Value, name: &str) -> &'a Value {
    let mut items = list.as_array().into_iter().flatten();
    items
        .find(|item| item["name"] == name)
        .unwrap_or(&Value::Null)
}

/// A listener of a Gateway that is in use.
pub fn listener_ok(gateway: &Value, name: &str) -> Found {
    let listener = named(&gateway["status"]["listeners"], name);
    conditions(
        listener,
        &[
            ("Accepted", "True/Accepted"),
            ("ResolvedRefs", "True/ResolvedRefs"),
            ("Conflicted", "False/NoConflicts"),
        ],
    )
    .map_err(|error| format!("listener {name}: {error}"))
}

/// A route whose parents have, in order, these statuses of `Accepted`; all of its backends resolve.
pub fn parents(route: &Value, accepted: &[(&str, &str)]) -> Found {
    let parents = &route["status"]["parents"];
    count(parents, accepted.len())?;
    for (parent, (name, wanted)) in parents.as_array().into_iter().flatten().zip(accepted) {
        same(&parent["parentRef"]["name"], *name)?;
        conditions(
            parent,
            &[("Accepted", wanted), ("ResolvedRefs", "True/ResolvedRefs")],
        )?;
    }
    Ok(())
}

pub fn cluster(config: &Value, name: &str, kind: &str, endpoints: &[&str]) -> Found {
    let cluster = named(&config["clusters"], name);
    if cluster.is_null() {
        return Err(format!("no cluster {name} in {}", config["clusters"]));
    }
    same(&cluster["type"], kind)?;
    same_set(&cluster["endpoints"], endpoints)
}

/// The listener has these routes and no other.
pub fn routes(config: &Value, listener: &str, wanted: &[&str]) -> Found {
    let name = format!("testnamespace/{listener}");
    let found = named(&config["listeners"], &name);
    if found.is_null() {
        return Err(format!("no listener {name} in {}", config["listeners"]));
    }
    same_set(&found["routes"], wanted).map_err(|error| format!("routes of {name}: {error}"))
}

pub fn address(config: &Value, index: usize, address: &str, port: u64) -> Found {
    let listener = &config["listeners"][index];
    same(
        &json!([listener["public_address"], listener["public_port"]]),
        json!([address, port]),
    )
}

pub fn no_address(config: &Value, index: usize) -> Found {
    absent(&config["listeners"][index]["public_address"])
}
