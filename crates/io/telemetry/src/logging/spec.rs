use std::collections::BTreeMap;
use std::fmt;

use tracing::Level;
use tracing::level_filters::LevelFilter;

/// The most detailed level that a scope logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    Disable,
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

const LEVELS: [(LogLevel, &str); 6] = [
    (LogLevel::Disable, "DISABLE"),
    (LogLevel::Error, "ERROR"),
    (LogLevel::Warn, "WARN"),
    (LogLevel::Info, "INFO"),
    (LogLevel::Debug, "DEBUG"),
    (LogLevel::Trace, "TRACE"),
];

impl LogLevel {
    fn parse(text: &str) -> Option<Self> {
        LEVELS
            .iter()
            .find(|(_, name)| name.eq_ignore_ascii_case(text))
            .map(|(level, _)| *level)
    }

    pub fn as_str(self) -> &'static str {
        LEVELS[self as usize].1
    }

    pub fn shows(self, level: &Level) -> bool {
        *level <= self.filter()
    }

    pub(super) fn filter(self) -> LevelFilter {
        match self {
            LogLevel::Disable => LevelFilter::OFF,
            LogLevel::Error => LevelFilter::ERROR,
            LogLevel::Warn => LevelFilter::WARN,
            LogLevel::Info => LevelFilter::INFO,
            LogLevel::Debug => LevelFilter::DEBUG,
            LogLevel::Trace => LevelFilter::TRACE,
        }
    }
}

/// Which scopes log how much: `scope:LEVEL` items separated by commas, applied from left to right.
///
/// `all` (in any case) sets the default and forgets what was said of single scopes before it, so it belongs first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogSpec {
    default: LogLevel,
    level_by_scope: BTreeMap<Box<str>, LogLevel>,
}

/// An item of a spec that was skipped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpecProblem {
    #[error("`{item}` is not of the form scope:LEVEL and was skipped")]
    NotAPair { item: String },
    #[error("`{item}` was skipped: the levels are DISABLE, ERROR, WARN, INFO, DEBUG and TRACE")]
    UnknownLevel { item: String },
}

impl LogSpec {
    pub fn parse(text: &str) -> (Self, Vec<SpecProblem>) {
        let mut spec = LogSpec {
            default: LogLevel::Info,
            level_by_scope: BTreeMap::new(),
        };
        let mut problems = Vec::new();
        for item in text
            .split(',')
            .map(str::trim)
            .filter(|item| !item.is_empty())
        {
            // A scope may hold colons of its own, a level never does.
            let Some((scope, level)) = item
                .rsplit_once(':')
                .filter(|(scope, _)| !scope.trim().is_empty())
            else {
                problems.push(SpecProblem::NotAPair {
                    item: item.to_owned(),
                });
                continue;
            };
            let Some(level) = LogLevel::parse(level.trim()) else {
                problems.push(SpecProblem::UnknownLevel {
                    item: item.to_owned(),
                });
                continue;
            };
            let scope = scope.trim();
            if scope.eq_ignore_ascii_case("all") {
                spec.default = level;
                spec.level_by_scope.clear();
            } else {
                spec.level_by_scope.insert(scope.into(), level);
            }
        }
        (spec, problems)
    }

    pub fn level(&self, scope: &str) -> LogLevel {
        self.named(scope).unwrap_or(self.default)
    }

    /// The level of a scope that the spec names itself.
    pub(super) fn named(&self, scope: &str) -> Option<LogLevel> {
        self.level_by_scope.get(scope).copied()
    }

    /// The most detailed level of any scope.
    pub(super) fn most_detailed(&self) -> LogLevel {
        self.level_by_scope
            .values()
            .copied()
            .fold(self.default, LogLevel::max)
    }
}

impl fmt::Display for LogSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "all:{}", self.default.as_str())?;
        self.level_by_scope
            .iter()
            .try_for_each(|(scope, level)| write!(f, ",{scope}:{}", level.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> LogSpec {
        let (spec, problems) = LogSpec::parse(text);
        assert_eq!(problems, [], "problems of {text}");
        spec
    }

    #[test]
    fn levels_apply_to_their_scope_and_all_to_the_rest() {
        let spec = parsed("all:warn,turn:DEBUG,listener-ns/gw/udp:Trace");
        assert_eq!(spec.level("turn"), LogLevel::Debug);
        assert_eq!(spec.level("listener-ns/gw/udp"), LogLevel::Trace);
        assert_eq!(spec.level("auth"), LogLevel::Warn);
        assert_eq!(spec.most_detailed(), LogLevel::Trace);
    }

    #[test]
    fn all_resets_what_stands_before_it() {
        assert_eq!(
            parsed("turn:TRACE,ALL:ERROR").level("turn"),
            LogLevel::Error
        );
        assert_eq!(
            parsed("All:ERROR,turn:TRACE").level("turn"),
            LogLevel::Trace
        );
    }

    #[test]
    fn scopes_are_case_sensitive() {
        assert_eq!(parsed("all:INFO,Turn:DEBUG").level("turn"), LogLevel::Info);
    }

    #[test]
    fn an_empty_spec_means_info() {
        assert_eq!(parsed("").to_string(), "all:INFO");
    }

    #[test]
    fn malformed_items_are_skipped_and_named() {
        let (spec, problems) = LogSpec::parse("all:DEBUG, nonsense, turn:LOUD, :INFO, auth:ERROR");
        assert_eq!(spec.to_string(), "all:DEBUG,auth:ERROR");
        let items: Vec<_> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(items.len(), 3);
        assert!(
            items[1].contains("turn:LOUD") && items[1].contains("TRACE"),
            "{items:?}"
        );
    }

    #[test]
    fn disable_shows_nothing() {
        assert!(!parsed("all:DISABLE").level("turn").shows(&Level::ERROR));
        assert!(LogLevel::Warn.shows(&Level::ERROR) && !LogLevel::Warn.shows(&Level::INFO));
    }
}
