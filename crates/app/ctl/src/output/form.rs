//! The forms of results that `-o` chooses.

use serde_json::Value;
use stunner_flags::{Given, UsageError, Wrong};
use stunner_jsonpath::Template;

use super::yaml;
use crate::cli::flags;
use crate::failure::Failure;

/// How results are to be printed.
#[derive(Debug, Clone)]
pub(crate) enum Form {
    /// For people.
    Summary,
    /// For people, on one line each.
    String,
    /// For programs.
    Machine(Machine),
}

#[derive(Debug, Clone)]
pub(crate) enum Machine {
    /// A line per value.
    Json,
    /// A document per value, keys in order.
    Yaml,
    /// A template filled in per value.
    JsonPath(Box<Template>),
}

const HINT: &str = "give `summary`, `string`, `json`, `yaml` or `jsonpath=TEMPLATE`";

impl Form {
    /// What was asked for, with a template checked before anything is fetched. Not every command has more columns to
    /// show by `wide`.
    pub(crate) fn read(given: &Given<'_>, has_wide: bool) -> Result<Form, UsageError> {
        let text = given.text(&flags::OUTPUT);
        // The template is read here and not in `value`, as its mistakes have words of their own.
        if let Some(template) = text
            .as_deref()
            .and_then(|text| text.strip_prefix("jsonpath="))
        {
            return match Template::parse(template) {
                Ok(template) => Ok(Form::Machine(Machine::JsonPath(Box::new(template)))),
                Err(error) => Err(UsageError::new(
                    format!("invalid JSONPath template `{template}`: {error}"),
                    "templates are those of kubectl, for example `-o jsonpath='{.admin.name}'`",
                )),
            };
        }
        let form = given.value(&flags::OUTPUT, |text| match text {
            "summary" => Ok(Form::Summary),
            "wide" if has_wide => Ok(Form::Summary),
            "string" => Ok(Form::String),
            "json" => Ok(Form::Machine(Machine::Json)),
            "yaml" => Ok(Form::Machine(Machine::Yaml)),
            _ => Err(Wrong {
                why: "there is no such output".to_owned(),
                hint: HINT,
            }),
        })?;
        Ok(form.unwrap_or(Form::Summary))
    }
}

impl Machine {
    /// The text of one value, with its line end.
    pub(super) fn render(&self, value: &Value) -> Result<String, Failure> {
        match self {
            Machine::Json => Ok(go_json(value) + "\n"),
            Machine::Yaml => Ok(yaml::document(value)),
            Machine::JsonPath(template) => match template.render(value) {
                Ok(text) => Ok(format!("{text}\n")),
                Err(error) => Err(Failure::new(
                    error,
                    "`-o json` shows the fields that there are",
                )),
            },
        }
    }
}

/// Compact JSON as Go writes it, with what HTML could stumble over escaped: scripts may compare the text.
fn go_json(value: &Value) -> String {
    // Outside of strings none of these can stand.
    value
        .to_string()
        .replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}
