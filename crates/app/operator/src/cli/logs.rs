//! The original system's log flags, as settings of our logs.

use stunner_flags::{Given, UsageError, Wrong};
use stunner_telemetry::logging::{Format, LogSpec};

use super::flags;

/// How to log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Logs {
    pub format: Format,
    /// Levels by scope.
    pub spec: String,
}

impl Logs {
    pub(super) fn from_given(given: &Given<'_>) -> Result<Logs, UsageError> {
        let devel = given
            .value(&flags::ZAP_DEVEL, stunner_flags::values::boolean)?
            .unwrap_or(true);
        let format = given.value(&flags::ZAP_ENCODER, encoder)?;
        given.value(&flags::ZAP_TIME_ENCODING, time_encoding)?;
        let spec = given.value(&flags::ZAP_LOG_LEVEL, level)?;
        Ok(Logs {
            format: format.unwrap_or(if devel { Format::Text } else { Format::Json }),
            spec: spec.unwrap_or_else(|| with_libraries("all:INFO")),
        })
    }
}

fn encoder(text: &str) -> Result<Format, Wrong> {
    match text {
        "json" => Ok(Format::Json),
        "console" => Ok(Format::Text),
        _ => Err(Wrong {
            why: "there is no such encoder".to_owned(),
            hint: "give `console` or `json`",
        }),
    }
}

fn time_encoding(text: &str) -> Result<(), Wrong> {
    match text.to_ascii_lowercase().as_str() {
        "epoch" | "millis" | "nano" | "iso8601" | "rfc3339" | "rfc3339nano" => Ok(()),
        _ => Err(Wrong {
            why: "there is no such encoding".to_owned(),
            hint: "leave it out: it makes no difference here",
        }),
    }
}

fn level(text: &str) -> Result<String, Wrong> {
    if text.contains(':') {
        let (_, problems) = LogSpec::parse(text);
        return match problems.first() {
            None => Ok(with_libraries(text)),
            Some(problem) => Err(Wrong {
                why: problem.to_string(),
                hint: "give scope:LEVEL items such as `all:INFO,watch:DEBUG`",
            }),
        };
    }
    let level = match text.to_ascii_lowercase().as_str() {
        "trace" => "TRACE",
        "debug" => "DEBUG",
        "info" => "INFO",
        "warn" | "warning" => "WARN",
        "error" | "dpanic" | "panic" | "fatal" => "ERROR",
        number => match number.parse::<u32>() {
            Ok(0) => "INFO",
            Ok(1) => "DEBUG",
            Ok(_) => "TRACE",
            Err(_) => {
                return Err(Wrong {
                    why: "there is no such level".to_owned(),
                    hint: "give `error`, `warn`, `info`, `debug`, `trace` or a number from 1",
                });
            }
        },
    };
    Ok(with_libraries(&format!("all:{level}")))
}

/// The client library warns of every failed request; the watches say the same in their own words, once. It also logs
/// answers that it cannot read, and those may hold Secrets: whoever wants that has to name it.
fn with_libraries(spec: &str) -> String {
    let mut spec = spec.to_owned();
    for library in ["kube_runtime", "kube_client"] {
        if !spec.contains(library) {
            spec.push_str(&format!(",{library}:DISABLE"));
        }
    }
    spec
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_client_library_is_quiet_unless_it_is_named() {
        for (said, spec) in [
            (
                "debug",
                "all:DEBUG,kube_runtime:DISABLE,kube_client:DISABLE",
            ),
            (
                "all:TRACE",
                "all:TRACE,kube_runtime:DISABLE,kube_client:DISABLE",
            ),
            (
                "all:INFO,kube_client:DEBUG",
                "all:INFO,kube_client:DEBUG,kube_runtime:DISABLE",
            ),
        ] {
            assert_eq!(level(said).map_err(|wrong| wrong.why), Ok(spec.to_owned()));
        }
    }
}
