//! Several configurations in one text, as tools write them.

use serde_json::Value;

/// The configurations in a text: YAML documents between `---` lines, JSON objects one after another (`stunnerctl config
/// -o json`), an array of them, or the lists of the discovery service (`items`) and of `stunner translate` (`configs`).
/// What is none of these is one configuration, and whoever reads it will say what is wrong with it.
pub fn documents(text: &str) -> Vec<String> {
    let values: Result<Vec<Value>, _> = serde_json::Deserializer::from_str(text)
        .into_iter()
        .collect();
    match values {
        Ok(values) if !values.is_empty() => values.into_iter().flat_map(configs).collect(),
        _ => yaml_documents(text),
    }
}

fn configs(value: Value) -> Vec<String> {
    let mut value = value;
    for list in ["items", "configs"] {
        if let Some(Value::Array(items)) = value.get_mut(list).map(Value::take) {
            return items.iter().map(Value::to_string).collect();
        }
    }
    match value {
        Value::Array(items) => items.iter().map(Value::to_string).collect(),
        one => vec![one.to_string()],
    }
}

fn yaml_documents(text: &str) -> Vec<String> {
    let mut documents = vec![String::new()];
    for line in text.lines() {
        let line = match after_marker(line) {
            Some(rest) => {
                documents.push(String::new());
                rest
            }
            None => Some(line),
        };
        if let (Some(line), Some(document)) = (line, documents.last_mut()) {
            document.push_str(line);
            document.push('\n');
        }
    }
    let is_blank = |line: &str| line.trim().is_empty() || line.trim_start().starts_with('#');
    documents.retain(|document| !document.lines().all(is_blank));
    documents
}

/// For a line that begins a document, what it has of it. `---` at the beginning of a line does so anywhere, in block
/// scalars too, whose lines are indented (YAML 1.2 §9.1.2); with more than a space behind it, it is text.
fn after_marker(line: &str) -> Option<Option<&str>> {
    let rest = line.strip_prefix("---")?;
    let is_marker = rest.is_empty() || rest.starts_with([' ', '\t']);
    is_marker.then(|| Some(rest).filter(|rest| !rest.trim().is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_in_which_tools_write_configs_is_split() {
        let two = [r#"{"a":1}"#, r#"{"b":2}"#];
        for text in [
            "{\"a\":1}\n{\"b\":2}\n",
            r#"[{"a":1},{"b":2}]"#,
            r#"{"version":"v1","items":[{"a":1},{"b":2}]}"#,
            r#"{"configs":[{"a":1},{"b":2}],"workloads":[]}"#,
        ] {
            assert_eq!(documents(text), two, "{text}");
        }
        assert_eq!(documents("a: 1\n---\nb: 2\n"), ["a: 1\n", "b: 2\n"]);
        assert_eq!(documents("# note\n---\na: 1\n--- \n\n"), ["a: 1\n"]);
        assert_eq!(
            documents("a: 1\n--- # two\nb: 2\n"),
            ["a: 1\n", " # two\nb: 2\n"]
        );
        assert_eq!(documents("a: 1\n--- {b: 2}\n"), ["a: 1\n", " {b: 2}\n"]);
        assert_eq!(documents("a: '---'\n"), ["a: '---'\n"]);
        let pem = "cert: |\n  -----BEGIN CERTIFICATE-----\n  ---\n";
        assert_eq!(documents(pem), [pem]);
        let flush = "cert: \"\n-----BEGIN CERTIFICATE-----\"\n";
        assert_eq!(documents(flush), [flush]);
        assert_eq!(documents("{a: 1}"), ["{a: 1}\n"]);
        assert_eq!(documents(" \n"), Vec::<String>::new());
    }
}
