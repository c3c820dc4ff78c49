//! The program as its help describes it.

use stunner_flags::Program;

use super::flags;

const HEAD: &str = "\
STUN/TURN server that takes its configuration live

Usage:
  stunnerd [FLAGS]                 serve the config at an origin
  stunnerd [FLAGS] TURN-URI        serve one listener, such as turn://user:pass@127.0.0.1:3478
  stunnerd check [FLAGS] ORIGIN    print every problem of a config; ORIGIN may be a TURN URI
";

const FOOT: &str = "
Durations are written as in Go (250ms, 1h30m); a bare number is seconds. Flags that take no value
also take =true or =false. A flag beats its environment variable.
Exit codes: 0 fine, 1 problem, 2 wrong usage.
";

pub(super) static PROGRAM: Program = Program {
    name: "stunnerd",
    flags: flags::ALL,
    head: HEAD,
    foot: FOOT,
    single_dash: false,
};

/// The text that `--help` prints.
pub fn help() -> String {
    PROGRAM.help()
}

/// The manual page.
pub fn man() -> String {
    PROGRAM.man(
        env!("CARGO_PKG_VERSION"),
        &["stunner", "stunnerctl", "turncat"],
    )
}
