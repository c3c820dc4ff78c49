//! Changes a status without losing what our types do not know of it.

use serde_json::Value;

/// `live` with the change from `known` to `merged`, where `known` is `live` as far as we understand it.
pub(super) fn overlay(live: &Value, known: &Value, merged: Value) -> Value {
    if *known == merged {
        return live.clone();
    }
    match (live, known, merged) {
        (Value::Object(live), Value::Object(known), Value::Object(merged)) => {
            let mut result = live.clone();
            result.retain(|key, _| !known.contains_key(key) || merged.contains_key(key));
            for (key, value) in merged {
                let value = match (live.get(&key), known.get(&key)) {
                    (Some(live), Some(known)) => overlay(live, known, value),
                    _ => value,
                };
                result.insert(key, value);
            }
            Value::Object(result)
        }
        // An element that did not change is the one that was there, whatever its new place.
        (Value::Array(live), Value::Array(known), Value::Array(merged)) => Value::Array(
            merged
                .into_iter()
                .map(|element| {
                    let place = known.iter().position(|known| *known == element);
                    place
                        .and_then(|place| live.get(place).cloned())
                        .unwrap_or(element)
                })
                .collect(),
        ),
        (_, _, merged) => merged,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_that_we_do_not_know_stay() {
        let live = json!({"parents": [{"name": "theirs", "extra": 1}, {"name": "ours", "n": 1}], "future": true});
        let known = json!({"parents": [{"name": "theirs"}, {"name": "ours", "n": 1}]});
        let merged = json!({"parents": [{"name": "ours", "n": 2}, {"name": "theirs"}]});
        assert_eq!(
            overlay(&live, &known, merged),
            json!({"parents": [{"name": "ours", "n": 2}, {"name": "theirs", "extra": 1}], "future": true})
        );
    }

    #[test]
    fn fields_that_we_know_and_drop_go() {
        let live = json!({"addresses": [{"value": "192.0.2.1"}], "conditions": []});
        let known = live.clone();
        let merged = json!({"conditions": []});
        assert_eq!(overlay(&live, &known, merged), json!({"conditions": []}));
    }

    #[test]
    fn nothing_changes_when_nothing_is_merged() {
        let live = json!({"a": null, "b": [1, 2]});
        let known = json!({"b": [1, 2]});
        assert_eq!(overlay(&live, &known, known.clone()), live);
    }
}
