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

/// A word that begins with one dash or two.
#[derive(Debug, Clone, Copy)]
struct Dashed<'w> {
    dashes: usize,
    text: &'w str,
}

impl<'w> Dashed<'w> {
    /// One dash alone is a word like any other.
    fn read(word: &'w str) -> Option<Self> {
        let text = word.strip_prefix('-').filter(|text| !text.is_empty())?;
        Some(match text.strip_prefix('-') {
            Some(text) => Dashed { dashes: 2, text },
            None => Dashed { dashes: 1, text },
        })
    }

    /// What stands before the value.
    fn name(self) -> &'w str {
        self.text
            .split_once('=')
            .map_or(self.text, |(name, _)| name)
    }

    /// Two letters and more: `-h` stays the short form it is.
    fn is_long_by_one_dash(self) -> bool {
        self.dashes == 1 && self.name().chars().nth(1).is_some()
    }
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
            .try_get_matches_from(self.spelled_out(args))
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

    /// The words as clap reads them: a second dash where a long flag has only one, and `=` before a value that begins
    /// with a dash, as passwords and negative numbers do. A flag of ours is not taken for the value of the one before.
    fn spelled_out(&self, args: impl Iterator<Item = OsString>) -> Vec<OsString> {
        let mut words: Vec<OsString> = Vec::new();
        let mut is_over = false;
        let mut awaited = false;
        for arg in args {
            let dashed = arg.to_str().and_then(Dashed::read).filter(|_| !is_over);
            let known = dashed.and_then(|word| self.flag(word));
            let takes_next = known.is_some_and(|flag| flag.takes != Takes::Switch)
                && dashed.is_some_and(|word| !word.text.contains('='));
            match (dashed, words.last_mut()) {
                (Some(_), Some(flag)) if awaited && known.is_none() && arg != "--" => {
                    flag.push("=");
                    flag.push(arg);
                    awaited = false;
                    continue;
                }
                (Some(word), _) if self.single_dash && word.is_long_by_one_dash() => {
                    words.push(format!("--{}", word.text).into());
                }
                _ => {
                    is_over |= arg == "--";
                    words.push(arg);
                }
            }
            awaited = takes_next;
        }
        words
    }

    fn flag(&self, word: Dashed<'_>) -> Option<&'static Flag> {
        let name = word.name();
        let is_short =
            |flag: &Flag| (flag.short).is_some_and(|short| name.chars().eq(std::iter::once(short)));
        let is_long = |flag: &Flag| flag.long == name && (word.dashes == 2 || self.single_dash);
        let mut flags = self.flags.iter().copied();
        flags.find(|flag| is_long(flag) || (word.dashes == 1 && is_short(flag)))
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
                Takes::Value(_) => arg,
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
        NAME = short('n', flag("S", "name", Takes::Value("X"), "PROGRAM_NAME", "", "a name"));
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
    fn a_value_may_begin_with_a_dash_unless_it_is_a_flag() {
        let none = |_: &str| None;
        for value in ["-5", "-5s", "-x", "-on1", "--x=y", "-", "-ö"] {
            for name in ["--name", "-name", "-n"] {
                let line = format!("{name} {value} --on");
                let given = read(&line, &none).expect(&line);
                assert_eq!(given.text(&NAME).as_deref(), Some(value), "{line}");
                assert_eq!(given.switch(&ON), Ok(true), "{line}");
            }
        }
        for line in ["--name --on", "-name -on", "-n -h", "-n --", "-n"] {
            let error = read(line, &none).expect_err(line);
            assert_eq!(error.to_string(), "`--name` needs a value", "{line}");
        }
        // Of a switch the next word is no value, whatever it begins with.
        let error = read("--on -5s", &none).expect_err("an unknown flag");
        assert_eq!(error.to_string(), "unknown flag `--5s`");
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
