//! Whatever is said, nothing breaks.

use proptest::prelude::*;
use serde_json::{Value, json};
use stunner_jsonpath::Template;

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-c<. ]{0,3}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map("[a-c]", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Pieces of templates in any order.
fn template() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "{",
        "}",
        "{range ",
        "{end}",
        ".a",
        ".b",
        "..",
        "..c",
        "[*]",
        "[0]",
        "[-1]",
        "[0:2]",
        "['a','b']",
        "[?(@.a",
        "==",
        "<",
        "'x'",
        "\"\\n\"",
        "1",
        ")]",
        "@",
        "$",
        ".*",
        " ",
        "&&",
        "\\",
        "[",
        "]",
        "text",
    ]);
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused_within_it(text in any::<String>(), pieces in template()) {
        for text in [text, pieces] {
            if let Err(error) = Template::parse(&text) {
                prop_assert!((1..=text.chars().count() + 1).contains(&error.at), "{text:?}: {error:?}");
            }
        }
    }

    #[test]
    fn any_template_is_filled_in_or_refused(template in template(), value in value()) {
        if let Ok(template) = Template::parse(&template) {
            let once = template.render(&value);
            prop_assert_eq!(once, template.render(&value));
        }
    }

    #[test]
    fn a_field_that_is_there_is_found_under_any_name(name in "[^\\x00-\\x1f\\s]{1,12}") {
        let mut template = String::from("{.");
        for c in name.chars().filter(|c| *c != '\\') {
            template.push('\\');
            template.push(c);
        }
        template.push('}');
        let plain: String = name.chars().filter(|c| *c != '\\').collect();
        prop_assume!(!plain.is_empty() && plain != "*");
        let template = Template::parse(&template).expect("a template");
        let rendered = template.render(&json!({plain: "found"}));
        prop_assert_eq!(rendered.as_deref(), Ok("found"));
    }

    #[test]
    fn printed_objects_are_json(value in value()) {
        prop_assume!(value.is_object() || value.is_array());
        let text = Template::parse("{@}").expect("a template").render(&value).expect("text");
        let back: Value = serde_json::from_str(&text).expect("JSON");
        prop_assert_eq!(back.to_string().len() > 1, true);
        prop_assert_eq!(same(&back, &value), true, "{} {}", back, value);
    }
}

/// Equal but for the kind of numbers: `1e30` and `1e+30`, `4.0` and `4`.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        // The JSON reader may miss the last digit of a fraction.
        (Value::Number(left), Value::Number(right)) => {
            let (left, right) = (left.as_f64(), right.as_f64());
            let (left, right) = (left.unwrap_or_default(), right.unwrap_or_default());
            left == right || (left / right - 1.0).abs() < 1e-12
        }
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .zip(right)
                    .all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .all(|(name, left)| right.get(name).is_some_and(|right| same(left, right)))
        }
        (left, right) => left == right,
    }
}
