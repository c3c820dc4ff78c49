//! Comparisons in filters.

use std::cmp::Ordering;

use serde_json::Value;

use super::RenderError;
use crate::template::Comparison;

/// What a value is, in words.
pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// Whether `left comparison right`. Values of different kinds cannot be compared: `"1"` instead of `1` is a mistake to
/// be told, not a filter that never matches.
pub(super) fn holds(
    left: &Value,
    comparison: Comparison,
    right: &Value,
) -> Result<bool, RenderError> {
    let incomparable = RenderError::Incomparable {
        left: kind(left),
        right: kind(right),
    };
    let order = match (left, right) {
        (Value::Number(left), Value::Number(right)) => match (left.as_i128(), right.as_i128()) {
            (Some(left), Some(right)) => Some(left.cmp(&right)),
            _ => left.as_f64().partial_cmp(&right.as_f64()),
        },
        (Value::String(left), Value::String(right)) => Some(left.as_bytes().cmp(right.as_bytes())),
        (Value::Bool(left), Value::Bool(right)) => match comparison {
            Comparison::Equal | Comparison::NotEqual => Some(left.cmp(right)),
            _ => return Err(incomparable),
        },
        // Like a field that is not there.
        (Value::Null, _) | (_, Value::Null) => return Ok(false),
        _ => return Err(incomparable),
    };
    Ok(order.is_some_and(|order| match comparison {
        Comparison::Equal => order == Ordering::Equal,
        Comparison::NotEqual => order != Ordering::Equal,
        Comparison::Less => order == Ordering::Less,
        Comparison::LessOrEqual => order != Ordering::Greater,
        Comparison::Greater => order == Ordering::Greater,
        Comparison::GreaterOrEqual => order != Ordering::Less,
    }))
}
