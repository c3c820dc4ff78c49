//! From text to [`Config`]: every problem is collected, with its place and the fix.

mod admin;
mod auth;
mod cluster;
mod expand;
mod fields;
mod listener;
mod pem;

use crate::model::{ApiVersion, Config};
use crate::problem::{Problem, Severity};

use stunner_document::{Keys, Limits, Place, read_first};

use fields::{Fields, Text};

/// A configuration that can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parsed {
    pub config: Config,
    /// What is odd about the text; all of them have [`Severity::Warning`].
    pub warnings: Vec<Problem>,
    /// The schema version of the text.
    pub version: ApiVersion,
}

/// Who reads, and what therefore counts as a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParseOptions {
    /// Replace `$NAME` and `${NAME}`. Off for text that has been through it, such as a cached config.
    pub expand_env: bool,
    /// Refuse listeners that could not be served: certificate and key missing or not PEM, a relay address that is no
    /// address, two of them on one port. Programs that only show configs leave this to the dataplane.
    pub judge_listeners: bool,
}

impl Default for ParseOptions {
    fn default() -> Self {
        ParseOptions {
            expand_env: true,
            judge_listeners: true,
        }
    }
}

/// Reads a configuration as the dataplane does. `env` looks up environment variables.
pub fn parse(text: &str, env: &dyn Fn(&str) -> Option<String>) -> Result<Parsed, Vec<Problem>> {
    parse_with(text, env, ParseOptions::default())
}

/// Reads a configuration. The error holds every problem found, warnings too, in the order of the text.
pub fn parse_with(
    text: &str,
    env: &dyn Fn(&str) -> Option<String>,
    options: ParseOptions,
) -> Result<Parsed, Vec<Problem>> {
    let mut reader = Reader {
        env,
        options,
        problems: Vec::new(),
        dropped: 0,
        routes: Vec::new(),
    };
    let parsed = reader.document(text);
    let problems = reader.finish();
    match parsed {
        Some((config, version)) if !problems.iter().any(Problem::is_error) => Ok(Parsed {
            config,
            warnings: problems,
            version,
        }),
        _ => Err(problems),
    }
}

/// The text comes from files and from the network. The schema needs six levels and a dozen keys; a bound on keys
/// keeps the search for repeated ones cheap.
const LIMITS: Limits = Limits {
    what: "the configuration",
    bytes: 16 * 1024 * 1024,
    nodes: 250_000,
    depth: 64,
    keys_per_mapping: 1000,
    keys: Keys::AnyCase,
};

/// A place in the document, for problems.
#[derive(Debug, Clone)]
struct At {
    path: String,
    place: Option<Place>,
}

/// Most problems that are kept: a text of nothing but mistakes shall not become a larger list of complaints.
const MAX_PROBLEMS: usize = 200;

struct Reader<'e> {
    env: &'e dyn Fn(&str) -> Option<String>,
    options: ParseOptions,
    problems: Vec<Problem>,
    dropped: usize,
    /// Routes of all listeners, to be looked up once the clusters are known.
    routes: Vec<Text>,
}

impl Reader<'_> {
    fn document(&mut self, text: &str) -> Option<(Config, ApiVersion)> {
        let document = match read_first(text, &LIMITS) {
            Ok(document) => document,
            Err(error) => {
                let at = At {
                    path: String::new(),
                    place: error.place,
                };
                self.report(Severity::Error, &at, error.message, error.hint);
                return None;
            }
        };
        if let Some(place) = document.second {
            let at = At {
                path: String::new(),
                place: Some(place),
            };
            self.warn(
                &at,
                "only the first document is read, this one is ignored",
                "remove it or put it into its own file",
            );
        }

        let Some(root) = document.root else {
            let start = At {
                path: String::new(),
                place: Some(Place::START),
            };
            let hint = "write at least `version: v1` and an `auth` section";
            self.error(&start, "the configuration is empty", hint);
            return None;
        };
        let at = At {
            path: String::new(),
            place: Some(root.place),
        };
        let fields = Fields::of(self, &root, at, ROOT_KEYS)?;
        let version = self.version(&fields);
        let admin = self.admin(&fields);
        let auth = self.auth(&fields, version);
        let listeners = self.listeners(&fields);
        let clusters = self.clusters(&fields);
        self.dangling_routes(&clusters);
        Some((
            Config {
                admin,
                auth,
                listeners,
                clusters,
            },
            version,
        ))
    }

    fn version(&mut self, fields: &Fields<'_>) -> ApiVersion {
        let hint = "write `version: v1`";
        match fields.text(self, "version") {
            None => {
                // Present but of the wrong kind is reported already.
                if fields.node("version").is_none() {
                    let hint = "add `version: v1` as the first line";
                    self.error(fields.at(), "no `version`", hint);
                }
                ApiVersion::V1
            }
            Some(text) => match text.value.to_ascii_lowercase().as_str() {
                "v1" => ApiVersion::V1,
                "v1alpha1" => ApiVersion::V1Alpha1,
                _ => {
                    self.error(
                        &text.at,
                        format!("unsupported version {}", text.shown()),
                        hint,
                    );
                    ApiVersion::V1
                }
            },
        }
    }

    fn error(&mut self, at: &At, message: impl Into<String>, hint: impl Into<String>) {
        self.report(Severity::Error, at, message.into(), Some(hint.into()));
    }

    fn warn(&mut self, at: &At, message: impl Into<String>, hint: impl Into<String>) {
        self.report(Severity::Warning, at, message.into(), Some(hint.into()));
    }

    fn report(&mut self, severity: Severity, at: &At, message: String, hint: Option<String>) {
        if self.problems.len() >= MAX_PROBLEMS {
            // An error must not get lost among warnings: it takes the place of the last one.
            let has_error = self.problems.iter().any(Problem::is_error);
            if has_error || severity == Severity::Warning {
                self.dropped += 1;
                return;
            }
            self.problems.pop();
            self.dropped += 1;
        }
        let (line, column) = at.place.map(|place| (place.line, place.column)).unzip();
        self.problems.push(Problem {
            severity,
            path: at.path.clone(),
            line,
            column,
            message,
            hint,
        });
    }

    fn finish(self) -> Vec<Problem> {
        let mut problems = self.problems;
        problems.sort_by_key(|problem| (problem.line, problem.column));
        if self.dropped > 0 {
            problems.push(Problem {
                severity: Severity::Warning,
                path: String::new(),
                line: None,
                column: None,
                message: format!("{} more problems are not shown", self.dropped),
                hint: Some("fix the ones above first".to_owned()),
            });
        }
        problems
    }
}

const ROOT_KEYS: &[&str] = &["version", "admin", "auth", "listeners", "clusters"];
