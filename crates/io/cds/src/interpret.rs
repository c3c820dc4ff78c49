//! From a text to a configuration that may be used, with everything said about it in the log.

use stunner_config::{Config, Problem};

use crate::options::Options;

/// Log scopes, named as users of the Go program know them.
pub(crate) const CDS_SCOPE: &str = "cds-client";
pub(crate) const FILE_SCOPE: &str = "config-file-client";

/// A configuration that parses and that the judge admits, with the warnings about it.
pub(crate) fn interpret(
    text: &str,
    options: &Options,
) -> Result<(Config, Vec<Problem>), Vec<Problem>> {
    let parsed = stunner_config::parse_with(text, &|name| (options.env)(name), options.parse)?;
    let mut problems = parsed.warnings;
    if let Some(judge) = &options.judge {
        problems.extend(judge(&parsed.config));
    }
    match problems.iter().any(Problem::is_error) {
        true => Err(problems),
        false => Ok((parsed.config, problems)),
    }
}

/// All problems on one line, each with its place, so that a rate limit on log lines cannot hide half of them.
pub(crate) fn on_one_line(place: &str, problems: &[Problem]) -> String {
    let lines: Vec<String> = problems
        .iter()
        .map(|problem| {
            let text = problem.to_string().replace("\n  hint: ", " (hint: ");
            let close = if problem.hint.is_some() { ")" } else { "" };
            match problem.line {
                Some(_) => format!("{place}:{text}{close}"),
                None => format!("{place}: {text}{close}"),
            }
        })
        .collect();
    lines.join("; ")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn options() -> Options {
        Options {
            env: Arc::new(|_| None),
            ..Options::default()
        }
    }

    #[test]
    fn all_problems_are_told_on_one_line_with_place_and_hint_and_without_secrets() {
        let text = "version: v1\nauth: {type: static, credentials: {username: u, password: pa55}}\n\
                    listeners:\n  - {name: a, protocol: nonsense, port: 1}\n\
                    clusters:\n  - {name: c, endpoints: [10.0.0.0/99]}\n";
        let problems = interpret(text, &options()).expect_err("two errors");
        let line = on_one_line("c.yaml", &problems);
        assert!(!line.contains('\n') && !line.contains("pa55"), "{line}");
        assert!(line.starts_with("c.yaml:4:"), "{line}");
        assert!(line.contains("; c.yaml:6:"), "{line}");
        assert!(line.contains(" (hint: ") && line.ends_with(')'), "{line}");
    }

    #[test]
    fn the_judge_can_refuse_and_can_warn() {
        let text = "{version: v1, auth: {type: none}}";
        let mut options = options();
        for (severity, refused) in [
            (stunner_config::Severity::Error, true),
            (stunner_config::Severity::Warning, false),
        ] {
            options.judge = Some(Arc::new(move |_| {
                vec![Problem {
                    severity,
                    path: String::new(),
                    line: None,
                    column: None,
                    message: "odd".into(),
                    hint: None,
                }]
            }));
            assert_eq!(interpret(text, &options).is_err(), refused);
        }
    }
}
