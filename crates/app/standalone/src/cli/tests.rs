//! What can be said to `stunner`.

use std::ffi::OsString;
use std::time::Duration;

use stunner_flags::{Flag, Takes, UsageError};

use super::{Command, RunOptions, RunOutput, TranslateOutput, flags, parse};

fn parse_in(line: &str, env: &[(&str, &str)]) -> Result<Command, UsageError> {
    let args = std::iter::once("stunner").chain(line.split_whitespace());
    let env = |name: &str| {
        let found = env.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    parse(args.map(Into::into), &env)
}

fn run_in(line: &str, env: &[(&str, &str)]) -> RunOptions {
    match parse_in(line, env) {
        Ok(Command::Run(options)) => *options,
        other => panic!("{line}: {other:?}"),
    }
}

fn error(line: &str) -> String {
    match parse_in(line, &[]) {
        Err(usage) => usage.report(),
        Ok(command) => panic!("{line}: {command:?}"),
    }
}

#[test]
fn run_has_the_defaults_of_its_help() {
    let options = run_in("run examples/quickstart", &[]);
    assert_eq!(options.sources.paths, ["examples/quickstart"]);
    let address = |text: &str| text.parse().ok();
    assert_eq!(options.health_address, address("127.0.0.1:8086"));
    assert_eq!(options.metrics_address, address("127.0.0.1:8080"));
    assert_eq!(options.console_address, address("127.0.0.1:8090"));
    assert_eq!(options.admin_address, "127.0.0.1:8087".parse().ok());
    assert_eq!(options.drain_timeout, Duration::from_secs(10));
    assert_eq!((options.port_offset, options.output), (0, RunOutput::Text));
    assert!(options.addresses.is_empty());
    assert_eq!(options.log, "all:WARN");
}

#[test]
fn run_takes_files_standard_input_and_every_flag() {
    let options = run_in(
        "run a.yaml - d -R --port-offset -100 --address 192.0.2.1,2001:db8::1 --output json --health-address off \
         --metrics-address OFF --console-address :9 --console-host a.test,b.test --admin-address off \
         --drain-timeout 250ms -u 2 --relay-port-range 50000-50999 --allow-loopback-peers=true --max-handshakes 0",
        &[],
    );
    assert_eq!(options.sources.paths, ["a.yaml", "-", "d"]);
    assert!(options.sources.recursive && options.allow_loopback_peers);
    assert_eq!(options.port_offset, -100);
    let addresses: Vec<String> = options.addresses.iter().map(ToString::to_string).collect();
    assert_eq!(addresses, ["192.0.2.1", "2001:db8::1"]);
    assert_eq!(options.output, RunOutput::Json);
    assert_eq!(
        (options.health_address, options.metrics_address),
        (None, None)
    );
    assert_eq!(options.console_address, ":9".parse().ok());
    assert_eq!(options.console_hosts, ["a.test", "b.test"]);
    assert_eq!(options.admin_address, None);
    assert_eq!(options.relay_port_range, Some((50000, 50999)));
    assert_eq!((options.udp_thread_num, options.max_handshakes), (2, None));
}

#[test]
fn variables_stand_in_for_flags() {
    let env = [
        ("STUNNER_PORT_OFFSET", "7"),
        ("STUNNER_ADDR", "192.0.2.9"),
        ("STUNNER_OUTPUT", "json"),
        ("STUNNER_HEALTH_ADDRESS", "off"),
    ];
    let options = run_in("run d --output text", &env);
    assert_eq!(options.port_offset, 7);
    assert_eq!(
        options.addresses,
        ["192.0.2.9".parse::<std::net::IpAddr>().expect("an address")]
    );
    assert_eq!(options.output, RunOutput::Text);
    assert_eq!(options.health_address, None);
    let env = [
        ("STUNNER_ADDR", "192.0.2.9"),
        ("STUNNER_ADDRESS", "192.0.2.8"),
    ];
    assert_eq!(run_in("run d", &env).addresses[0].to_string(), "192.0.2.8");
    let usage = parse_in("run d", &[("STUNNER_ADDR", "foo")]).expect_err("no address");
    assert_eq!(
        usage.to_string(),
        "invalid value `foo` for the environment variable `STUNNER_ADDR`: it is no IP address"
    );
}

#[test]
fn every_flag_but_help_has_a_variable_of_ours() {
    let all: Vec<&&Flag> = [
        flags::run::ALL,
        flags::translate::ALL,
        flags::check::ALL,
        flags::init::ALL,
    ]
    .into_iter()
    .flatten()
    .collect();
    for flag in all {
        match flag.long {
            "help" => assert_eq!(flag.env, None),
            long => assert!(
                flag.env.is_some_and(|env| env.starts_with("STUNNER_")),
                "--{long}"
            ),
        }
        if flag.takes == Takes::Switch {
            assert_eq!(
                flag.default, "",
                "--{}: a switch is off by default",
                flag.long
            );
        }
    }
}

#[test]
fn the_other_programs_get_their_arguments_as_they_are() {
    match parse_in("operator -zap-log-level debug --no-such", &[]) {
        Ok(Command::Operator(args)) => {
            assert_eq!(args[1..], ["-zap-log-level", "debug", "--no-such"])
        }
        other => panic!("{other:?}"),
    }
    match parse_in("dataplane -w", &[]) {
        Ok(Command::Dataplane(args)) => assert_eq!(args[1..], ["-w"]),
        other => panic!("{other:?}"),
    }
    match parse_in("auth --config x", &[]) {
        Ok(Command::Auth(args)) => assert_eq!(args[1..], ["--config", "x"]),
        other => panic!("{other:?}"),
    }
    assert!(
        matches!(parse_in("help operator", &[]), Ok(Command::Operator(args)) if args[1..] == ["--help"])
    );
}

#[test]
fn a_link_by_the_name_of_another_program_is_that_program() {
    let none = |_: &str| None;
    let args = |line: &str| {
        line.split_whitespace()
            .map(Into::into)
            .collect::<Vec<std::ffi::OsString>>()
    };
    let command = parse(args("/usr/bin/stunnerd -w").into_iter(), &none);
    assert!(matches!(command, Ok(Command::Dataplane(args)) if args[1..] == ["-w"]));
    let command = parse(args("stunner-gateway-operator run").into_iter(), &none);
    assert!(matches!(command, Ok(Command::Operator(args)) if args[1..] == ["run"]));
    let command = parse(args("authd -p 1").into_iter(), &none);
    assert!(matches!(command, Ok(Command::Auth(args)) if args[1..] == ["-p", "1"]));
}

#[test]
fn help_can_be_asked_for_in_every_way() {
    for line in ["help", "--help", "-h", "help version"] {
        match parse_in(line, &[]) {
            Ok(Command::Help(text)) => assert!(text.contains("stunner COMMAND"), "{line}"),
            other => panic!("{line}: {other:?}"),
        }
    }
    for line in [
        "run --help",
        "run -h",
        "help run",
        "run --port-offset x --help",
    ] {
        match parse_in(line, &[]) {
            Ok(Command::Help(text)) => {
                assert!(text.contains("stunner run [FLAGS] PATH..."), "{line}")
            }
            other => panic!("{line}: {other:?}"),
        }
    }
}

#[test]
fn the_outputs_of_translate_are_told_apart() {
    for (line, output) in [
        ("translate d", TranslateOutput::Yaml),
        ("translate d -o json", TranslateOutput::Json),
        ("translate -o=table d", TranslateOutput::Table),
    ] {
        match parse_in(line, &[]) {
            Ok(Command::Translate(options)) => assert_eq!(options.output, output, "{line}"),
            other => panic!("{line}: {other:?}"),
        }
    }
}

#[test]
fn wrong_usage_is_answered_with_what_to_do() {
    for (line, expected) in [
        (
            "",
            "error: `stunner` needs a command\n\
             hint: start with `stunner run PATH` or `stunner init DIR`; `stunner help` lists all commands\n",
        ),
        (
            "trasnlate d",
            "error: unknown command `trasnlate`\nhint: did you mean `stunner translate`? see `stunner help`\n",
        ),
        (
            "frobnicate",
            "error: unknown command `frobnicate`\nhint: see `stunner help`\n",
        ),
        (
            "/tmp",
            "error: unknown command `/tmp`\nhint: did you mean `stunner run /tmp`?\n",
        ),
        (
            "-o json",
            "error: `-o` stands where a command belongs\nhint: see `stunner help`\n",
        ),
        (
            "help nothing",
            "error: unknown command `nothing`\nhint: see `stunner help`\n",
        ),
        (
            "run d --port-ofset 1",
            "error: unknown flag `--port-ofset`\nhint: did you mean `--port-offset`? see `stunner run --help`\n",
        ),
        (
            "run d --port-offset much",
            "error: invalid value `much` for `--port-offset`: it is no number of ports to move by\n\
             hint: give a whole number from -65534 to 65534, such as `10000`\n",
        ),
        (
            "run d --address 0.0.0.0",
            "error: invalid value `0.0.0.0` for `--address`: no client could be told this address\n\
             hint: give an IPv4 address, an IPv6 address, or one of each separated by a comma\n",
        ),
        (
            "run d --address 192.0.2.1,192.0.2.2",
            "error: invalid value `192.0.2.1,192.0.2.2` for `--address`: it has two addresses of one family\n\
             hint: give an IPv4 address, an IPv6 address, or one of each separated by a comma\n",
        ),
        (
            "run d --admin-address 0.0.0.0:8087",
            "error: invalid value `0.0.0.0:8087` for `--admin-address`: it is not a loopback address\n\
             hint: give a loopback address such as `127.0.0.1:8087`, or `off`; a port-forward reaches it from outside\n",
        ),
        (
            "run d --health-address here",
            "error: invalid value `here` for `--health-address`: it is no address to listen at\n\
             hint: give for example `127.0.0.1:8080`, `:8080` or `off`\n",
        ),
        (
            "run d -o yaml",
            "error: invalid value `yaml` for `--output`: there is no such output\nhint: give `text` or `json`\n",
        ),
        (
            "translate d -o xml",
            "error: invalid value `xml` for `--output`: there is no such output\n\
             hint: give `yaml`, `json` or `table`\n",
        ),
        (
            "check d -o yaml",
            "error: invalid value `yaml` for `--output`: there is no such output\nhint: give `text` or `json`\n",
        ),
        (
            "init",
            "error: `init` needs a folder\nhint: for example `stunner init my-gateway`\n",
        ),
        (
            "init a b",
            "error: unexpected argument `b`\nhint: `init` takes one folder\n",
        ),
        (
            "version 2",
            "error: unexpected argument `2`\nhint: `version` takes none\n",
        ),
        (
            "help run check",
            "error: unexpected argument `check`\nhint: `help` takes one command\n",
        ),
    ] {
        assert_eq!(error(line), expected, "{line}");
    }
}

/// What `stunner init "$UNSET"` says. It must not mean the current folder, whatever that holds.
#[test]
fn a_folder_without_a_name_is_none() {
    let args = ["stunner", "init", ""].map(OsString::from);
    let usage = parse(args.into_iter(), &|_: &str| None).expect_err("no folder");
    assert_eq!(
        usage.report(),
        "error: `init` needs a folder\nhint: for example `stunner init my-gateway`\n"
    );
}

#[test]
fn a_comparison_with_nothing_is_not_left_out() {
    let args = ["stunner", "translate", "d", "--diff", ""].map(OsString::from);
    let usage = parse(args.into_iter(), &|_: &str| None).expect_err("no folder");
    assert_eq!(
        usage.report(),
        "error: `--diff` needs a value\nhint: name the file or folder to compare with\n"
    );
    let unset = parse_in("translate d", &[("STUNNER_TRANSLATE_DIFF", "")]);
    assert!(matches!(unset, Ok(Command::Translate(options)) if options.diff.is_none()));
}
