//! Templates and what they give, most of them from kubectl's documentation. `tests/tools` shows them to kubectl itself.

use serde_json::Value;
use stunner_jsonpath::{ParseError, RenderError, Template};

fn render(template: &str, value: &Value) -> Result<String, String> {
    let template = Template::parse(template).map_err(|error| error.to_string())?;
    template.render(value).map_err(|error| error.to_string())
}

#[test]
fn templates_give_what_the_table_says() {
    let table: Value = serde_json::from_str(include_str!("cases.json")).expect("a table");
    let cases = table["cases"].as_array().expect("cases");
    assert!(cases.len() > 120);
    let mut wrong = Vec::new();
    for case in cases {
        let document = &table["documents"][case["on"].as_str().expect("a document")];
        let template = case["template"].as_str().expect("a template");
        let given = render(template, document);
        let is_right = match case["text"].as_str() {
            Some(text) => given.as_deref() == Ok(text),
            None => given.is_err(),
        };
        if !is_right {
            wrong.push(format!(
                "{template}\n  gives {given:?}\n  not   {}",
                case["text"]
            ));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn the_current_object_is_the_whole_outside_of_ranges() {
    let value = serde_json::json!({"b": [1, null], "a": {"c": "x"}});
    let whole = r#"{"a":{"c":"x"},"b":[1,null]}"#;
    for template in ["{@}", "{$}", "{.}"] {
        assert_eq!(render(template, &value).as_deref(), Ok(whole), "{template}");
    }
}

#[test]
fn mistakes_in_templates_are_told_with_their_place() {
    for (template, at, what) in [
        ("{.kind", 7, "the expression is not closed by `}`"),
        ("x {end}", 3, "there is no `{range}` that this `{end}` ends"),
        ("{end it}", 6, "`end` takes nothing else"),
        ("{.a....b}", 4, "`..` cannot follow `..`"),
        ("{.a[x]}", 5, "`x` is no index, slice or quoted name"),
        ("{.a[0}", 5, "`0}` is no index, slice or quoted name"),
        ("{.a['x'}", 8, "the brackets are not closed by `]`"),
        ("{.a['x}", 5, "the text that begins with ' has no end"),
        ("{.a[?(@.b=1)]}", 10, "`=` compares nothing, `==` does,"),
        ("{.a[?(@.b=<1)]}", 10, "there is no comparison `=<`"),
        (
            "{.a[?(@.b==)]}",
            12,
            "the right side of the comparison is missing",
        ),
        ("{.a[?(@.b)}", 10, "the filter is not closed by `)]`"),
        ("{#}", 2, "`#` means nothing here"),
        (
            "{\"\\q\"}",
            2,
            "there is an escape that means nothing in the text that begins",
        ),
        ("{1.2.3}", 2, "`1.2.3` is no number"),
        ("{{.a}}", 2, "`{` cannot stand inside of an expression"),
        ("{.a\n}", 4, "the line ends before the expression does"),
    ] {
        let what = what.to_owned();
        let expected = ParseError { at, what };
        assert_eq!(Template::parse(template), Err(expected), "{template}");
    }
    let deep = "{range .a}".repeat(100);
    let error = Template::parse(&deep).expect_err("too deep");
    assert_eq!(error.what, "the template is nested too deeply");
}

#[test]
fn what_cannot_be_filled_in_says_why() {
    let value = serde_json::json!({"list": [1, 2], "text": "x", "mixed": [{"v": 1}, {"v": "1"}]});
    for (template, error) in [
        ("{.nosuch}", "there is no field `nosuch`"),
        ("{.list[2]}", "index 2 is outside of a list of 2"),
        ("{.list[-3]}", "index -3 is outside of a list of 2"),
        ("{.list[1:0]}", "a slice cannot begin at 1 and end at 0"),
        (
            "{.list[::0]}",
            "the step of a slice must be 1 or more, not 0",
        ),
        (
            "{.text[0]}",
            "brackets with an index, slice or filter need a list, and this is text",
        ),
        (
            "{.mixed[?(@.v==1)]}",
            "a filter compares text with a number",
        ),
    ] {
        let given = render(template, &value);
        assert_eq!(given, Err(error.to_owned()), "{template}");
    }
}

/// Lists in lists, walked again from each of their places.
#[test]
fn templates_that_multiply_come_to_an_end() {
    let value = (0..100).fold(Value::from(1), |inner, _| Value::Array(vec![inner]));
    let template = Template::parse(&format!("{{{}}}", "..*".repeat(8))).expect("a template");
    assert!(template.render(&value) == Err(RenderError::TooMuch));
    let template = Template::parse(&"{range ..*}".repeat(20)).expect("a template");
    assert!(template.render(&value) == Err(RenderError::TooMuch));
}
