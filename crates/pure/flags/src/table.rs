//! How a program describes its flags.

/// What a flag takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// Nothing, or `=true` or `=false`.
    Switch,
    /// One value; the last one given counts.
    Value(&'static str),
    /// A value each time it is given.
    Values(&'static str),
}

#[derive(Debug)]
pub struct Flag {
    pub long: &'static str,
    pub short: Option<char>,
    pub takes: Takes,
    /// The variable that stands in when the flag is not given.
    pub env: Option<&'static str>,
    /// As shown in the help; empty for "none".
    pub default: &'static str,
    pub section: &'static str,
    pub help: &'static str,
}

/// A flag without a short form; an empty `env` or `default` is none.
pub const fn flag(
    section: &'static str,
    long: &'static str,
    takes: Takes,
    env: &'static str,
    default: &'static str,
    help: &'static str,
) -> Flag {
    Flag {
        long,
        short: None,
        takes,
        env: if env.is_empty() { None } else { Some(env) },
        default,
        section,
        help,
    }
}

/// The flag with a short form beside its long one.
pub const fn short(short: char, flag: Flag) -> Flag {
    Flag {
        short: Some(short),
        ..flag
    }
}

/// The flag in another section of the help.
pub const fn under(section: &'static str, flag: Flag) -> Flag {
    Flag { section, ..flag }
}

/// Makes a static of every flag, and the list `ALL` in the order of the help.
#[macro_export]
macro_rules! flags {
    ($($name:ident = $flag:expr;)*) => {
        $(pub(crate) static $name: $crate::Flag = $flag;)*
        /// All flags, in the order of the help.
        pub(crate) static ALL: &[&$crate::Flag] = &[$(&$name),*];
    };
}

/// Makes a constant of every flag, to stand in the tables of several programs.
#[macro_export]
macro_rules! shared_flags {
    ($($name:ident = $flag:expr;)*) => {
        $(pub const $name: $crate::Flag = $flag;)*
    };
}

/// `first` followed by `second`, which are `N` together; see [`joined!`].
pub const fn join<const N: usize>(
    first: &'static [&'static Flag],
    second: &'static [&'static Flag],
) -> [&'static Flag; N] {
    let some = if first.is_empty() {
        second[0]
    } else {
        first[0]
    };
    let mut all = [some; N];
    let mut at = 0;
    while at < N {
        all[at] = if at < first.len() {
            first[at]
        } else {
            second[at - first.len()]
        };
        at += 1;
    }
    all
}

/// Two tables as one, as for a command that takes flags of its own and those of every command.
#[macro_export]
macro_rules! joined {
    ($first:expr, $second:expr) => {{
        static JOINED: [&$crate::Flag; $first.len() + $second.len()] =
            $crate::join($first, $second);
        &JOINED
    }};
}

/// A program and what can be said to it.
#[derive(Debug)]
pub struct Program {
    pub name: &'static str,
    pub flags: &'static [&'static Flag],
    /// What stands above the flags in the help: purpose and usage.
    pub head: &'static str,
    /// What stands below the flags in the help.
    pub foot: &'static str,
    /// `-long` is read as `--long`, as Go's own flag package does.
    pub single_dash: bool,
}
