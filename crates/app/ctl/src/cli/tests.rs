//! What can be said to `stunnerctl`.

use std::ffi::OsString;

use stunner_flags::UsageError;

use super::{Globals, Wish, parse};
use crate::commands::{self, Command};
use crate::output::{Form, Machine};

fn parse_in(words: &[&str], env: &[(&str, &str)]) -> Result<Wish, UsageError> {
    let args = std::iter::once("stunnerctl").chain(words.iter().copied());
    let env = |name: &str| {
        let found = env.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    parse(args.map(OsString::from), &env)
}

fn command(words: &[&str]) -> (Command, Globals) {
    match parse_in(words, &[]) {
        Ok(Wish::Command(command, globals)) => (*command, *globals),
        other => panic!("{words:?}: {other:?}"),
    }
}

#[track_caller]
fn error(words: &[&str]) -> String {
    match parse_in(words, &[]) {
        Err(usage) => usage.report(),
        Ok(wish) => panic!("{words:?}: {wish:?}"),
    }
}

#[test]
fn flags_stand_before_the_command_and_after_it() {
    for words in [
        ["-n", "stunner", "config", "gw", "-o", "json", "-a"],
        ["-o", "json", "-a", "-n", "stunner", "config", "gw"],
        ["config", "gw", "-A", "-n", "stunner", "-o", "json"],
        ["config", "-A", "-n", "stunner", "gw", "--output", "json"],
        ["-A", "--output", "json", "config", "-n", "stunner", "gw"],
    ] {
        let (command, globals) = command(&words);
        assert!(matches!(command, Command::Config(_)), "{words:?}");
        assert_eq!(globals.namespace.as_deref(), Some("stunner"), "{words:?}");
        assert!(globals.all_namespaces, "{words:?}");
        assert!(
            matches!(globals.form, Form::Machine(Machine::Json)),
            "{words:?}"
        );
    }
}

#[test]
fn the_value_of_a_flag_is_no_command() {
    let (command, globals) = command(&["-n", "status", "--context=auth", "config"]);
    assert!(matches!(command, Command::Config(_)));
    assert_eq!(globals.namespace.as_deref(), Some("status"));
    assert_eq!(globals.kubectl.context.as_deref(), Some("auth"));
}

#[test]
fn commands_have_the_names_of_older_scripts() {
    for (name, old) in [
        ("config", "stunner-config"),
        ("status", "dataplane-status"),
        ("auth", "get-credential"),
        ("license", "license-status"),
    ] {
        let entry = commands::find(old).expect(old);
        assert_eq!(entry.name, name);
    }
}

#[test]
fn variables_stand_in_for_flags() {
    let env = [
        ("STUNNER_CTL_OUTPUT", "yaml"),
        ("STUNNER_KUBE_NAMESPACE", "media"),
    ];
    match parse_in(&["config"], &env) {
        Ok(Wish::Command(_, globals)) => {
            assert!(matches!(globals.form, Form::Machine(Machine::Yaml)));
            assert_eq!(globals.namespace.as_deref(), Some("media"));
        }
        other => panic!("{other:?}"),
    }
}

/// Clap would end the program at the first use of such a table, in debug builds only.
#[test]
fn no_command_has_two_flags_of_one_name() {
    for entry in commands::ALL {
        let flags = entry.program.flags;
        for (number, flag) in flags.iter().enumerate() {
            let others = &flags[number + 1..];
            let twin = others.iter().find(|other| {
                other.long == flag.long || (other.short.is_some() && other.short == flag.short)
            });
            assert!(
                twin.is_none(),
                "{}: --{} and {twin:?}",
                entry.name,
                flag.long
            );
        }
    }
}

/// What ends sessions is said on the line or not at all.
#[test]
fn every_flag_that_is_not_of_the_moment_has_a_variable() {
    for entry in commands::ALL {
        for flag in entry.program.flags {
            let is_of_the_moment =
                flag.long == "help" || flag.long.starts_with("kill") || flag.long == "yes";
            assert!(flag.env.is_some() || is_of_the_moment, "--{}", flag.long);
        }
    }
}

#[test]
fn help_can_be_asked_for_in_every_way() {
    for words in [&["help"][..], &["--help"], &["-h"], &["-n", "x", "-h"]] {
        match parse_in(words, &[]) {
            Ok(Wish::Print(text)) => assert!(text.contains("stunnerctl COMMAND"), "{words:?}"),
            other => panic!("{words:?}: {other:?}"),
        }
    }
    for words in [
        &["config", "--help"][..],
        &["-h", "config"],
        &["help", "config"],
        &["help", "stunner-config"],
        &["config", "a", "b", "-h"],
    ] {
        match parse_in(words, &[]) {
            Ok(Wish::Print(text)) => assert!(text.contains("stunnerctl config"), "{words:?}"),
            other => panic!("{words:?}: {other:?}"),
        }
    }
    for words in [&["version"][..], &["--version"]] {
        match parse_in(words, &[]) {
            Ok(Wish::Print(text)) => assert!(text.starts_with("stunnerctl "), "{words:?}"),
            other => panic!("{words:?}: {other:?}"),
        }
    }
}

#[test]
fn wrong_usage_is_answered_with_what_to_do() {
    for (words, expected) in [
        (
            &[][..],
            "error: `stunnerctl` needs a command\n\
             hint: start with `stunnerctl config` or `stunnerctl doctor`; `stunnerctl help` lists all commands\n",
        ),
        (
            &["-n", "x"],
            "error: `stunnerctl` needs a command\n\
             hint: start with `stunnerctl config` or `stunnerctl doctor`; `stunnerctl help` lists all commands\n",
        ),
        (
            &["confg"],
            "error: unknown command `confg`\nhint: did you mean `stunnerctl config`? see `stunnerctl help`\n",
        ),
        (
            &["frobnicate"],
            "error: unknown command `frobnicate`\nhint: see `stunnerctl help`\n",
        ),
        (
            &["config", "--wach"],
            "error: unknown flag `--wach`\nhint: did you mean `--watch`? see `stunnerctl config --help`\n",
        ),
        (
            &["config", "a", "b"],
            "error: unexpected argument `b`\n\
             hint: `config` takes one Gateway; without it, it prints all of a namespace\n",
        ),
        (
            &["config", "--node", "node-a"],
            "error: `--node` needs a Gateway\nhint: name it: `stunnerctl config GATEWAY --node NODE`\n",
        ),
        (
            &["config", "-o", "text"],
            "error: invalid value `text` for `--output`: there is no such output\n\
             hint: give `summary`, `string`, `json`, `yaml` or `jsonpath=TEMPLATE`\n",
        ),
        (
            &["config", "-o", "jsonpath={.admin"],
            "error: invalid JSONPath template `{.admin`: the expression is not closed by `}` at character 8\n\
             hint: templates are those of kubectl, for example `-o jsonpath='{.admin.name}'`\n",
        ),
        (
            &["status", "--pod-port", "0"],
            "error: invalid value `0` for `--pod-port`: it is not a port\nhint: give a number from 1 to 65535\n",
        ),
        (
            &["license", "now"],
            "error: unexpected argument `now`\nhint: `license` takes none\n",
        ),
        (
            &["completion"],
            "error: `completion` needs a shell\nhint: give `bash`, `zsh` or `fish`\n",
        ),
        (
            &["completion", "csh"],
            "error: `csh`: there is no completion for this shell\nhint: give `bash`, `zsh` or `fish`\n",
        ),
        (
            &["help", "nothing"],
            "error: unknown command `nothing`\nhint: see `stunnerctl help`\n",
        ),
        (
            &["config", "-n"],
            "error: `--namespace` needs a value\nhint: see `stunnerctl config --help`\n",
        ),
    ] {
        assert_eq!(error(words), expected, "{words:?}");
    }
}

#[test]
fn more_columns_are_for_commands_that_have_them() {
    command(&["sessions", "-o", "wide"]);
    for command in ["config", "status", "doctor", "top", "auth"] {
        let said = error(&[command, "-o", "wide"]);
        assert!(said.contains("`wide`"), "{said}");
    }
}

#[test]
fn log_levels_are_checked_and_the_kubernetes_client_kept_quiet() {
    let said = error(&["config", "-l", "bogus"]);
    assert!(said.contains("SCOPE:LEVEL"), "{said}");
    for (words, levels) in [
        (["config", "-v"].as_slice(), "all:TRACE,kube_client:DISABLE"),
        (
            &["config", "-l", "all:INFO"],
            "all:INFO,kube_client:DISABLE",
        ),
        (&["config", "-l", "kube_client:DEBUG"], "kube_client:DEBUG"),
        (
            &["config", "-v", "-l", "all:WARN"],
            "all:WARN,kube_client:DISABLE",
        ),
    ] {
        assert_eq!(command(words).1.log, levels);
    }
}
