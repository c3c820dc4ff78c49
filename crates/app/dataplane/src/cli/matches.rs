//! What was said on the command line and in the environment, by flag.

use std::ffi::OsString;

use clap::builder::{Arg, ArgAction};
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::flags::{ALL, Flag, Takes};
use super::report::UsageError;
use super::values::{self, Wrong};

const POSITIONALS: &str = "ARGS";
const SEE_HELP: &str = "see `stunnerd --help`";

/// Words of the command line, and the environment behind them.
pub(super) struct Given<'a> {
    matches: clap::ArgMatches,
    positionals: Vec<String>,
    env: &'a dyn Fn(&str) -> Option<String>,
}

/// Where a value was said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    Flag(&'static str),
    Env(&'static str),
}

impl<'a> Given<'a> {
    pub(super) fn read(
        args: impl Iterator<Item = OsString>,
        env: &'a dyn Fn(&str) -> Option<String>,
    ) -> Result<Given<'a>, UsageError> {
        let mut matches = command().try_get_matches_from(args).map_err(explain)?;
        let positionals = matches
            .remove_many::<String>(POSITIONALS)
            .map(Iterator::collect)
            .unwrap_or_default();
        Ok(Given {
            matches,
            positionals,
            env,
        })
    }

    pub(super) fn positionals(&self) -> &[String] {
        &self.positionals
    }

    /// Whether the flag stands on the command line.
    pub(super) fn on_command_line(&self, flag: &Flag) -> bool {
        self.matches.contains_id(flag.long)
    }

    /// The value of a variable. An empty one counts as unset, and so does a URL in a variable that ends in `PORT`:
    /// Kubernetes makes such variables for every Service of a fitting name.
    pub(super) fn variable(&self, name: &str) -> Option<String> {
        let value = (self.env)(name)?;
        let made_by_kubernetes = name.ends_with("PORT") && value.contains("://");
        (!value.is_empty() && !made_by_kubernetes).then_some(value)
    }

    fn found(&self, flag: &Flag) -> Option<(String, Source)> {
        let said = self.matches.get_many::<String>(flag.long);
        if let Some(said) = said.and_then(|mut values| values.next_back()) {
            return Some((said.clone(), Source::Flag(flag.long)));
        }
        let name = flag.env?;
        Some((self.variable(name)?, Source::Env(name)))
    }

    /// The value of a flag; empty counts as not given.
    pub(super) fn text(&self, flag: &Flag) -> Option<String> {
        self.found(flag)
            .map(|(text, _)| text)
            .filter(|text| !text.is_empty())
    }

    /// Every value of a flag that can be given several times; in a variable they are separated by commas.
    pub(super) fn texts(&self, flag: &Flag) -> Vec<String> {
        if let Some(said) = self.matches.get_many::<String>(flag.long) {
            return said.cloned().collect();
        }
        let listed = flag.env.and_then(|name| self.variable(name));
        listed
            .map(|list| list.split(',').map(str::to_owned).collect())
            .unwrap_or_default()
    }

    /// The value of a flag, read by `read`; `None` where it is not given or empty.
    pub(super) fn value<T>(
        &self,
        flag: &Flag,
        read: impl Fn(&str) -> Result<T, Wrong>,
    ) -> Result<Option<T>, UsageError> {
        let Some((text, source)) = self.found(flag).filter(|(text, _)| !text.is_empty()) else {
            return Ok(None);
        };
        match read(text.trim()) {
            Ok(value) => Ok(Some(value)),
            Err(wrong) => {
                let place = match source {
                    Source::Flag(long) => format!("`--{long}`"),
                    Source::Env(name) => format!("the environment variable `{name}`"),
                };
                Err(UsageError::new(
                    format!("invalid value `{text}` for {place}: {}", wrong.why),
                    wrong.hint,
                ))
            }
        }
    }

    pub(super) fn switch(&self, flag: &Flag) -> Result<bool, UsageError> {
        Ok(self.value(flag, values::boolean)?.unwrap_or(false))
    }
}

/// Clap splits the words and knows similar ones. Values, defaults and the environment are ours: clap reads the
/// environment of the process, and cannot leave a variable out because of its value.
fn command() -> clap::Command {
    let args = ALL.iter().map(|flag| {
        let arg = Arg::new(flag.long)
            .long(flag.long)
            .value_parser(clap::value_parser!(String));
        let arg = match flag.short {
            Some(short) => arg.short(short),
            None => arg,
        };
        match flag.takes {
            Takes::Switch => arg
                .num_args(0..=1)
                .require_equals(true)
                .default_missing_value("true"),
            Takes::Value(_) => arg,
            Takes::Values(_) => arg.action(ArgAction::Append),
        }
    });
    clap::Command::new("stunnerd")
        .disable_help_flag(true)
        .disable_version_flag(true)
        .args_override_self(true)
        .args(args)
        .arg(
            Arg::new(POSITIONALS)
                .num_args(0..)
                .value_parser(clap::value_parser!(String)),
        )
}

/// Clap's errors in our words.
fn explain(error: clap::Error) -> UsageError {
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        Some(ContextValue::Strings(texts)) => texts.first().cloned(),
        _ => None,
    };
    // Such as `--log <SPEC>`; only the name is of interest.
    let named = context(ContextKind::InvalidArg).unwrap_or_default();
    let name = named.split([' ', '[']).next().unwrap_or_default();
    let hint = match context(ContextKind::SuggestedArg) {
        Some(similar) => format!("did you mean `{similar}`? {SEE_HELP}"),
        None => SEE_HELP.to_owned(),
    };
    match error.kind() {
        ErrorKind::UnknownArgument => UsageError::new(format!("unknown flag `{name}`"), hint),
        ErrorKind::InvalidValue | ErrorKind::WrongNumberOfValues | ErrorKind::NoEquals => {
            UsageError::new(format!("`{name}` needs a value"), hint)
        }
        ErrorKind::InvalidUtf8 => UsageError::new("an argument is not UTF-8 text", SEE_HELP),
        _ => {
            let text = error.to_string();
            let line = text.lines().next().unwrap_or_default();
            UsageError::new(line.trim_start_matches("error: "), hint)
        }
    }
}
