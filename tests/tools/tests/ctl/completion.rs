//! The completion scripts in the shells they are for.

use std::process::Command;

use interop_tests::ended::{Ended, run_to_end};
use interop_tests::skip::{Missing, find_in_path, report};

use crate::run;

fn script(shell: &str, folder: &tempfile::TempDir) -> String {
    let done = run(&["completion", shell]);
    assert_eq!(done.code, Some(0), "{done:?}");
    let path = folder.path().join(format!("script.{shell}"));
    std::fs::write(&path, done.stdout).expect("a file");
    path.display().to_string()
}

/// What the shell says to `program`, which finds the script in `$0`.
fn in_shell(shell: &str, arguments: &[&str], folder: &tempfile::TempDir) -> Option<Ended> {
    if find_in_path(shell).is_none() {
        report("completion", &Missing::new(shell, "it is not installed"));
        return None;
    }
    let mut command = Command::new(shell);
    command.args(arguments).env("SCRIPT", script(shell, folder));
    command.env("HOME", folder.path());
    Some(run_to_end(&mut command, ""))
}

const WORDS: [(&str, &str); 9] = [
    ("con", "config"),
    ("-n stunner con", "config"),
    // The value of a flag is no command.
    ("-n config st", "status"),
    ("--context=x sta", "status"),
    ("config --wa", "--watch"),
    ("stunner-config --wa", "--watch"),
    ("config -o ya", "yaml"),
    ("completion zs", "zsh"),
    ("icetest dt", "dtls"),
];

#[test]
fn bash_completes_commands_flags_and_values() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = r#"source "$SCRIPT"
        while read -r -a line; do
            COMP_WORDS=(stunnerctl "${line[@]}"); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMPREPLY=()
            _stunnerctl; echo "${COMPREPLY[*]}"
        done <<< "$LINES_TO_COMPLETE""#;
    if find_in_path("bash").is_none() {
        return;
    }
    let lines: Vec<&str> = WORDS.iter().map(|(line, _)| *line).collect();
    let mut command = Command::new("bash");
    command.args(["--norc", "-c", program]);
    command.env("SCRIPT", script("bash", &folder));
    // Bash takes `--context=x` apart, which `read` does not.
    let lines = lines.join("\n").replace("--context=x", "--context = x");
    command.env("LINES_TO_COMPLETE", lines);
    let done = run_to_end(&mut command, "");
    let offered: Vec<&str> = done.stdout.lines().collect();
    let wanted: Vec<&str> = WORDS.iter().map(|(_, word)| *word).collect();
    assert_eq!(offered, wanted, "{done:?}");
}

#[test]
fn fish_completes_commands_flags_and_values() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut program = String::from("source $SCRIPT\n");
    for (line, _) in WORDS {
        program.push_str(&format!(
            "echo (complete -C 'stunnerctl {line}' | string replace -r '\\t.*' '')\n"
        ));
    }
    let Some(done) = in_shell("fish", &["--no-config", "-c", &program], &folder) else {
        return;
    };
    let offered: Vec<&str> = done.stdout.lines().collect();
    let wanted: Vec<&str> = WORDS.iter().map(|(_, word)| *word).collect();
    assert_eq!(offered, wanted, "{done:?}");
}

#[test]
fn zsh_takes_the_script() {
    let folder = tempfile::tempdir().expect("a folder");
    let program = r#"autoload -U compinit; compinit -u -D; source "$SCRIPT"; print -r -- $_comps[stunnerctl]"#;
    let Some(done) = in_shell("zsh", &["-f", "-c", program], &folder) else {
        return;
    };
    assert_eq!(
        (done.stdout.as_str(), done.stderr.as_str()),
        ("_stunnerctl\n", "")
    );
}
