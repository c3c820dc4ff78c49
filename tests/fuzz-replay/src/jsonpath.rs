//! Target `jsonpath`: an output template and what it is filled in with.

use serde_json::{Value, json};
use stunner_jsonpath::Template;

/// Takes the text before the first NUL as a template and the text after it as JSON to fill it in with. A mistake lies
/// within the template, and the same gives the same.
pub fn jsonpath(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let (template, value) = text.split_once('\0').unwrap_or((text, ""));
    let value: Value = serde_json::from_str(value).unwrap_or_else(
        |_| json!({"a": [{"b": 1, "c": "x"}, {"b": 2.5, "c": null}, [true, "y"]], "b": {"a": "z"}}),
    );
    match Template::parse(template) {
        Err(error) => {
            let length = template.chars().count();
            assert!((1..=length + 1).contains(&error.at), "{error:?}");
        }
        Ok(template) => {
            let rendered = template.render(&value);
            assert_eq!(rendered, template.render(&value));
        }
    }
}
