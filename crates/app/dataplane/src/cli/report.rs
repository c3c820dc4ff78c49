//! How a config that cannot be loaded is said on the terminal.

use stunner_cds::LoadError;
use stunner_flags::report;

/// A config that could not be loaded: the error, and below it every problem of a config that could be read.
pub fn report_load(error: &LoadError) -> String {
    let mut text = report(error, error.hint().as_deref());
    if let LoadError::Invalid { place, problems } = error {
        for problem in problems {
            let separator = if problem.line.is_some() { ":" } else { ": " };
            text.push_str(&format!("{place}{separator}{problem}\n"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use stunner_config::{Problem, Severity};

    use super::*;

    #[test]
    fn causes_and_hints_have_lines_of_their_own() {
        let error = LoadError::File {
            path: "/no/such/file".into(),
            source: std::io::Error::from(std::io::ErrorKind::NotFound),
        };
        assert_eq!(
            report_load(&error),
            "error: cannot read config file `/no/such/file`\n\
             caused by: entity not found\n\
             hint: check the path; a discovery service is given as `HOST:PORT`\n"
        );
    }

    #[test]
    fn the_problems_of_a_config_follow_the_error() {
        let error = LoadError::Invalid {
            place: "c.yaml".into(),
            problems: vec![Problem {
                severity: Severity::Error,
                path: "auth.type".into(),
                line: Some(2),
                column: Some(9),
                message: "unknown type".into(),
                hint: Some("use `static`".into()),
            }],
        };
        assert_eq!(
            report_load(&error),
            "error: the config from `c.yaml` has 1 error\n\
             c.yaml:2:9: error: auth.type: unknown type\n  hint: use `static`\n"
        );
    }
}
