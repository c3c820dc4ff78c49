//! Secrets as the API server keeps them.

use serde_json::{Map, Value};

use crate::base64;

/// Moves `stringData` into `data`, where it wins (as the API server does on a write).
pub(super) fn merge_string_data(secret: &mut Map<String, Value>) {
    let mut data = match secret.remove("data") {
        Some(Value::Object(data)) => data,
        _ => Map::new(),
    };
    // The type of Kubernetes reads no line breaks, the API server does.
    for value in data.values_mut() {
        if let Value::String(text) = value
            && text.contains(['\r', '\n'])
        {
            text.retain(|c| !matches!(c, '\r' | '\n'));
        }
    }
    if let Some(Value::Object(texts)) = secret.remove("stringData") {
        for (key, text) in texts {
            if let Value::String(text) = text {
                data.insert(key, Value::String(base64::encode(text.as_bytes())));
            }
        }
    }
    if !data.is_empty() {
        secret.insert("data".to_owned(), Value::Object(data));
    }
}
