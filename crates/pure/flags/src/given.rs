//! What was said on the command line and in the environment, by flag.

use std::ffi::OsString;
use std::fmt;

use clap::builder::{Arg, ArgAction};
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::report::UsageError;
use crate::table::{Flag, Program, Takes};
use crate::values::{self, Wrong};

const POSITIONALS: &str = "ARGS";

/// Answers what a variable is set to.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Words of the command line, and the environment behind them.
pub struct Given<'a> {
    matches: clap::ArgMatches,
    positionals: Vec<String>,
    env: Environment<'a>,
}

/// Values may be passwords: only the number of words is shown.
impl fmt::Debug for Given<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Given")
            .field("positionals", &self.positionals.len())
            .finish_non_exhaustive()
    }
}

/// Where a value was said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    Flag(&'static str),
    Env(&'static str),
}

impl Program {
    /// Reads a command line. `args` begins with the name of the program, as [`std::env::args_os`] does.
    pub fn read<'a>(
        &self,
        args: impl Iterator<Item = OsString>,
        env: Environment<'a>,
    ) -> Result<Given<'a>, UsageError> {
        let mut matches = self
            .command()
            .try_get_matches_from(self.double_dashed(args))
            .map_err(|error| self.explain(error))?;
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

    /// The arguments, with a second dash where a long flag has only one.
    fn double_dashed(&self, args: impl Iterator<Item = OsString>) -> Vec<OsString> {
        let mut over = false;
        args.map(|arg| {
            over |= arg == "--";
            let long = arg.to_str().and_then(|text| {
                let text = text
                    .strip_prefix('-')
                    .filter(|text| !text.starts_with('-'))?;
                let name = text.split('=').next()?;
                // Two letters and more: `-h` stays the short form it is.
                (self.single_dash && !over && name.len() > 1).then(|| format!("--{text}"))
            });
            long.map_or(arg, OsString::from)
        })
        .collect()
    }

    /// Clap splits the words and knows similar ones. Values, defaults and the environment are ours: clap reads the
    /// environment of the process, and cannot leave a variable out because of its value.
    fn command(&self) -> clap::Command {
        let args = self.flags.iter().map(|flag| {
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
                // `--offset -5` says a number, not a flag.
                Takes::Value(_) => arg.allow_negative_numbers(true),
                Takes::Values(_) => arg.action(ArgAction::Append),
            }
        });
        clap::Command::new(self.name)
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
    fn explain(&self, error: clap::Error) -> UsageError {
        let see_help = format!("see `{} --help`", self.name);
        let context = |kind| match error.get(kind) {
            Some(ContextValue::String(text)) => Some(text.clone()),
            Some(ContextValue::Strings(texts)) => texts.first().cloned(),
            _ => None,
        };
        // Such as `--log <SPEC>`; only the name is of interest.
        let named = context(ContextKind::InvalidArg).unwrap_or_default();
        let name = named.split([' ', '[']).next().unwrap_or_default();
        let hint = match context(ContextKind::SuggestedArg) {
            Some(similar) => format!("did you mean `{similar}`? {see_help}"),
            None => see_help.clone(),
        };
        match error.kind() {
            ErrorKind::UnknownArgument => UsageError::new(format!("unknown flag `{name}`"), hint),
            ErrorKind::InvalidValue | ErrorKind::WrongNumberOfValues | ErrorKind::NoEquals => {
                UsageError::new(format!("`{name}` needs a value"), hint)
            }
            ErrorKind::InvalidUtf8 => UsageError::new("an argument is not UTF-8 text", see_help),
            _ => {
                let text = error.to_string();
                let line = text.lines().next().unwrap_or_default();
                UsageError::new(line.trim_start_matches("error: "), hint)
            }
        }
    }
}

impl Given<'_> {
    pub fn positionals(&self) -> &[String] {
        &self.positionals
    }

    /// Whether the flag stands on the command line.
    pub fn on_command_line(&self, flag: &Flag) -> bool {
        self.matches.contains_id(flag.long)
    }

    /// The value of a variable. An empty one counts as unset, and so does a URL in a variable that ends in `PORT`:
    /// Kubernetes makes such variables for every Service of a fitting name.
    pub fn variable(&self, name: &str) -> Option<String> {
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
    pub fn text(&self, flag: &Flag) -> Option<String> {
        self.found(flag)
            .map(|(text, _)| text)
            .filter(|text| !text.is_empty())
    }

    /// Every value of a flag that can be given several times; in a variable they are separated by commas.
    pub fn texts(&self, flag: &Flag) -> Vec<String> {
        if let Some(said) = self.matches.get_many::<String>(flag.long) {
            return said.cloned().collect();
        }
        let listed = flag.env.and_then(|name| self.variable(name));
        listed
            .map(|list| list.split(',').map(str::to_owned).collect())
            .unwrap_or_default()
    }

    /// The value of a flag, read by `read`; `None` where it is not given or empty.
    pub fn value<T>(
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

    pub fn switch(&self, flag: &Flag) -> Result<bool, UsageError> {
        Ok(self.value(flag, values::boolean)?.unwrap_or(false))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{flag, short};

    crate::flags! {
        NAME = flag("S", "name", Takes::Value("X"), "PROGRAM_NAME", "", "a name");
        ON = flag("S", "on", Takes::Switch, "", "", "a switch");
        HELP = short('h', flag("S", "help", Takes::Switch, "", "", "help"));
    }

    const GO_STYLE: Program = Program {
        name: "program",
        flags: ALL,
        head: "",
        foot: "",
        single_dash: true,
    };

    fn read<'a>(line: &str, env: Environment<'a>) -> Result<Given<'a>, UsageError> {
        let words = std::iter::once("program").chain(line.split_whitespace());
        GO_STYLE.read(words.map(OsString::from), env)
    }

    #[test]
    fn one_dash_is_as_good_as_two() {
        let none = |_: &str| None;
        for line in ["-name x -on", "--name=x --on=true", "-name=x -on=1"] {
            let given = read(line, &none).expect(line);
            assert_eq!(given.text(&NAME).as_deref(), Some("x"), "{line}");
            assert_eq!(given.switch(&ON), Ok(true), "{line}");
        }
        let given = read("-h", &none).expect("short flags stay");
        assert_eq!(given.switch(&HELP), Ok(true));
    }

    #[test]
    fn a_value_may_be_a_negative_number() {
        let none = |_: &str| None;
        let given = read("--name -5 --on", &none).expect("a line");
        assert_eq!(given.text(&NAME).as_deref(), Some("-5"));
        assert!(read("--name -x", &none).is_err());
    }

    #[test]
    fn after_two_dashes_alone_words_are_arguments() {
        let none = |_: &str| None;
        let given = read("-on -- -name", &none).expect("a line");
        assert_eq!(given.positionals(), ["-name"]);
    }

    #[test]
    fn mistakes_name_the_flag_and_the_program() {
        let none = |_: &str| None;
        let error = read("-nme x", &none).expect_err("an unknown flag");
        assert_eq!(error.to_string(), "unknown flag `--nme`");
        assert!(
            error.hint().ends_with("see `program --help`"),
            "{}",
            error.hint()
        );
    }

    #[test]
    fn a_variable_stands_in_for_its_flag() {
        let env = |name: &str| (name == "PROGRAM_NAME").then(|| "from the environment".to_owned());
        let given = read("", &env).expect("a line");
        assert_eq!(given.text(&NAME).as_deref(), Some("from the environment"));
        let given = read("--name=flag", &env).expect("a line");
        assert_eq!(given.text(&NAME).as_deref(), Some("flag"));
    }
}
