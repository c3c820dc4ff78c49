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
