//! Command lines as our programs take them.
//!
//! **What it is.** A program describes its flags in one table of [`Flag`]s, made with [`flags!`]; those that stand in the
//! tables of several programs are made with [`shared_flags!`]. From the table come
//! the words that are understood ([`Program::read`]), the variables that stand in for flags, the help text, from
//! which the reference pages are made, manual pages ([`Manual`]) and the scripts with which shells complete words
//! ([`completion`]). What was said is asked for by flag ([`Given`]); a mistake is a [`UsageError`]
//! that says what to do instead.
//!
//! **What it is not.** It reads no environment and no arguments of its own accord, and prints nothing.

#![forbid(unsafe_code)]

pub mod completion;
mod duration;
mod given;
mod help;
mod man;
mod report;
mod table;
pub mod values;

pub use duration::{DurationError, parse_duration};
pub use given::{Environment, Given};
pub use man::Manual;
pub use report::{UsageError, report};
pub use table::{Flag, Program, Takes, flag, join, short, under};
pub use values::Wrong;

/// Exit codes.
pub const EXIT_OK: u8 = 0;
/// Something is wrong with what was to be done.
pub const EXIT_PROBLEM: u8 = 1;
/// Something is wrong with the command line.
pub const EXIT_USAGE: u8 = 2;
