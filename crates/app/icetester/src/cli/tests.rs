//! Command lines in, options and messages out.

use super::*;

fn read(line: &str, env: &[(&str, &str)]) -> Result<Command, Mistake> {
    let args = std::iter::once("icetester")
        .chain(line.split_whitespace())
        .map(OsString::from);
    let env = |name: &str| {
        let found = env.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    parse(args, &env)
}

fn options(line: &str, env: &[(&str, &str)]) -> Options {
    match read(line, env) {
        Ok(Command::Run(options)) => *options,
        other => panic!("{line}: {other:?}"),
    }
}

#[test]
fn flags_and_variables_of_the_original_are_understood() {
    let plain = options("", &[]);
    assert_eq!(plain.address.to_string(), ":8089");
    assert_eq!(
        (plain.max_sessions, plain.insecure, plain.log.as_str()),
        (64, false, "all:WARN")
    );
    assert_eq!(plain.settings, Settings::default());
    let all = options(
        "-a 127.0.0.1:1 -l all:INFO -v",
        &[("BEARER_TOKEN", "t"), ("ICE_TRANSPORT_POLICY", "relay")],
    );
    assert_eq!(all.address.to_string(), "127.0.0.1:1");
    assert_eq!(all.log, "all:INFO");
    assert_eq!(all.settings.bearer_token, "t");
    assert_eq!(options("--addr=:1 --verbose", &[]).log, "all:DEBUG");
}

#[test]
fn mistakes_on_the_command_line_are_usage_and_in_the_environment_problems() {
    for line in [
        "--no-such-flag",
        "extra",
        "--addr nonsense",
        "--max-sessions -1",
        "--max-sessions 0",
    ] {
        assert!(matches!(read(line, &[]), Err(Mistake::Usage(_))), "{line}");
    }
    let env = [("ICE_SERVERS", "nonsense")];
    assert!(matches!(read("", &env), Err(Mistake::Settings(_))));
    assert!(matches!(read("--help", &env), Ok(Command::Print(_))));
    assert!(matches!(read("--version", &env), Ok(Command::Print(_))));
}
