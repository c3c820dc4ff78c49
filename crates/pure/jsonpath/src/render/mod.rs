//! From a template and a value to text.

mod compare;
mod text;
mod walk;

use serde_json::Value;

use crate::template::Part;
use walk::Walk;

/// Why a template cannot be filled in with a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RenderError {
    #[error("there is no field `{field}`")]
    Missing { field: String },
    #[error("index {index} is outside of a list of {length}")]
    OutOfBounds { index: i64, length: usize },
    #[error("a slice cannot begin at {from} and end at {to}")]
    Backwards { from: i64, to: i64 },
    #[error("the step of a slice must be 1 or more, not {step}")]
    Step { step: i64 },
    #[error("brackets with an index, slice or filter need a list, and this is {kind}")]
    NotAList { kind: &'static str },
    #[error("a filter compares {left} with {right}")]
    Incomparable {
        left: &'static str,
        right: &'static str,
    },
    #[error("a filter can compare only one value at a time")]
    SeveralCompared,
    #[error("the template gives too many results")]
    TooMuch,
}

/// Nested ranges multiply: no template for people or scripts gives so many results.
const MOST_STEPS: usize = 5_000_000;
const LONGEST: usize = 64 << 20;

pub(crate) fn render(parts: &[Part], value: &Value) -> Result<String, RenderError> {
    let mut walk = Walk::new(MOST_STEPS);
    let mut text = String::new();
    fill(parts, value, &mut walk, &mut text)?;
    Ok(text)
}

fn fill(
    parts: &[Part],
    value: &Value,
    walk: &mut Walk,
    text: &mut String,
) -> Result<(), RenderError> {
    for part in parts {
        match part {
            Part::Text(plain) => text.push_str(plain),
            Part::Path(path) => {
                for (number, found) in walk.path(path, vec![value])?.into_iter().enumerate() {
                    text.push_str(if number == 0 { "" } else { " " });
                    text::print(found, text);
                }
            }
            Part::Range(path, body) => {
                for found in walk.path(path, vec![value])? {
                    walk.count(1)?;
                    fill(body, found, walk, text)?;
                }
            }
        }
        if text.len() > LONGEST {
            return Err(RenderError::TooMuch);
        }
    }
    Ok(())
}
