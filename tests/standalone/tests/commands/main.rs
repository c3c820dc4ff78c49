//! Command lines in, terminal text out.
//!
//! Every file in `cases/` is a terminal session in a copy of `input/`: `$` lines are commands (`<FILE` is their standard
//! input), what follows is what they print, `! ` before lines of standard error, and `exit N` unless it is 0. `UPDATE=1`
//! writes the files anew.

mod current_folder;
mod examples;
mod other_programs;
mod session;
mod systemd;
mod unwritable;

use std::path::Path;

use standalone_tests::golden::compare;

fn check(name: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/commands/cases")
        .join(format!("{name}.txt"));
    let written = std::fs::read_to_string(&path).expect("a file of cases");
    if let Err(difference) = compare(&path, &session::replay(&written)) {
        panic!("{difference}");
    }
}

#[test]
fn help_says_what_can_be_done() {
    check("help");
}

#[test]
fn wrong_usage_exits_2_and_says_what_to_do() {
    check("usage");
}

#[test]
fn check_lists_every_problem_with_its_place_and_hint() {
    check("check");
}

#[test]
fn translate_prints_what_the_operator_would_make_of_it() {
    check("translate");
}

#[test]
fn diff_shows_what_an_edit_changes() {
    check("diff");
}

#[test]
fn init_writes_a_folder_that_passes_and_overwrites_nothing() {
    check("init");
}

#[test]
fn paths_are_found_as_kubectl_finds_them() {
    check("paths");
}
