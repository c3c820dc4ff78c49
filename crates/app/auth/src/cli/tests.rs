//! Command line in, options or terminal text out.

use stunner_telemetry::logging::Format;

use super::*;
use crate::http::{Accounts, Cors};

fn parse_in(line: &str, env: &[(&str, &str)]) -> Result<Command, UsageError> {
    let args = std::iter::once("authd").chain(line.split_whitespace());
    parse(args.map(OsString::from), &|name| {
        let found = env.iter().find(|(key, _)| *key == name);
        found.map(|(_, value)| (*value).to_owned())
    })
}

fn options_in(line: &str, env: &[(&str, &str)]) -> Options {
    match parse_in(line, env) {
        Ok(Command::Run(options)) => *options,
        other => panic!("{line} {env:?}: {other:?}"),
    }
}

fn options(line: &str) -> Options {
    options_in(line, &[])
}

#[test]
fn without_flags_everything_has_its_default() {
    let options = options("");
    assert_eq!(options.config, None);
    assert_eq!(options.listen.to_string(), ":8088");
    assert_eq!(options.settings.max_ttl, 2_592_000);
    assert_eq!(options.settings.public_address, None);
    assert_eq!(options.token_file, None);
    assert_eq!(options.review, None);
    assert_eq!(options.rate_limit, 0);
    assert_eq!(options.cors, Cors::default());
    assert_eq!(options.cds.port(), 13478);
    assert!(options.log.starts_with("all:INFO"));
    assert_eq!(options.log_format, Format::Text);
}

#[test]
fn flags_of_the_original_and_of_its_chart_are_taken() {
    for line in [
        "-p 9000 -l all:TRACE -v --cds-server-address=10.0.0.1 --cds-server-port=1 --cds-server-namespace ns \
         --log-format json --kubeconfig /k --context c --cluster c --user u -n ns -s https://s --token t \
         --as a --as-group g --as-group h --as-uid 1 --as-user-extra k=v --cache-dir /c \
         --certificate-authority ca --client-certificate c --client-key k --disable-compression \
         --insecure-skip-tls-verify --request-timeout 5s --tls-server-name n",
        "-port=9000 -log=all:TRACE -verbose=true -cds-server-address 10.0.0.1 -cds-server-port 1 \
         -cds-server-namespace=ns -log-format=JSON",
    ] {
        let options = options(line);
        assert_eq!(options.listen.to_string(), ":9000");
        assert_eq!(options.cds.address.as_deref(), Some("10.0.0.1"));
        assert_eq!(options.cds.port(), 1);
        assert_eq!(options.cds.namespace.as_deref(), Some("ns"));
        assert!(options.log.starts_with("all:TRACE"));
        assert_eq!(options.log_format, Format::Json);
    }
}

#[test]
fn the_environment_stands_in_for_flags() {
    let env = [
        ("STUNNER_PUBLIC_ADDR", "203.0.113.1"),
        ("CDS_SERVER_ADDR", "https://cds.example:13479"),
        ("CDS_SERVER_NAMESPACE", "ns"),
        ("CDS_SERVER_PORT", "tcp://10.0.0.1:13478"),
        ("STUNNER_AUTH_PORT", "tcp://10.0.0.2:8088"),
        (
            "STUNNER_AUTH_CORS_ORIGIN",
            "https://a.example, https://b.example",
        ),
        ("STUNNER_AUTH_RATE_LIMIT", "5"),
        ("STUNNER_AUTH_MAX_TTL", "1h"),
    ];
    let options = options_in("", &env);
    let public = options.settings.public_address.as_ref();
    assert_eq!(public.map(|host| host.as_str()), Some("203.0.113.1"));
    assert_eq!(options.settings.max_ttl, 3600);
    assert_eq!(
        options.cds.address.as_deref(),
        Some("https://cds.example:13479")
    );
    // Kubernetes sets such variables for Services named `cds-server` and `stunner-auth`.
    assert_eq!(options.cds.port(), 13478);
    assert_eq!(options.listen.port(), 8088);
    assert_eq!(options.rate_limit, 5);
    assert_eq!(
        options.cors,
        Cors::new(["https://a.example", "https://b.example"]).expect("origins")
    );
    assert_eq!(
        options_in("", &[("STUNNER_PUBLIC_ADDR", "")])
            .settings
            .public_address,
        None
    );
}

#[test]
fn files_are_named_by_path_or_url() {
    for (line, path) in [
        ("--config /a/b.yaml", "/a/b.yaml"),
        ("--config file:///a/b.yaml", "/a/b.yaml"),
        ("--config=configs", "configs"),
    ] {
        assert_eq!(
            options(line).config.as_deref(),
            Some(std::path::Path::new(path))
        );
    }
}

#[test]
fn tokens_are_reviewed_for_those_accounts_and_audiences_that_are_named() {
    let review = |line: &str| options(line).review.expect("a review");
    assert_eq!(
        review("--token-review"),
        Review {
            audiences: vec![],
            accounts: Accounts::Any
        }
    );
    let named = review(
        "--token-review --token-audience a --token-audience b --token-accounts ns/app,ns/web",
    );
    assert_eq!(named.audiences, ["a", "b"]);
    assert!(matches!(named.accounts, Accounts::These(accounts) if accounts.len() == 2));
}

#[test]
fn one_address_may_be_listened_at() {
    assert_eq!(
        options("--address 127.0.0.1 -p 1").listen.to_string(),
        "127.0.0.1:1"
    );
    assert_eq!(options("--address [::1]").listen.to_string(), "[::1]:8088");
}

#[test]
fn mistakes_say_what_to_do() {
    for (line, expected) in [
        (
            "--max-ttl 0",
            "error: invalid value `0` for `--max-ttl`: it is less than a second\nhint: give a duration such as `3600s` or `24h`\n",
        ),
        (
            "--public-address 0.0.0.0",
            "error: invalid value `0.0.0.0` for `--public-address`: clients cannot reach such a host\n\
             hint: give the IP address of one host, not the wildcard or one of many, or a DNS name, without a port\n",
        ),
        (
            "--cors-origin app.example",
            "error: invalid value `app.example` for `--cors-origin`: it is not an origin\n\
             hint: give scheme, host and, where it is not the usual one, port, such as `https://app.example`, or `*`\n",
        ),
        (
            "--token-accounts ns/app",
            "error: `--token-accounts` does nothing without `--token-review`\nhint: add --token-review, or leave it out\n",
        ),
        (
            "--token-audience x",
            "error: `--token-audience` does nothing without `--token-review`\nhint: add --token-review, or leave it out\n",
        ),
        (
            "--log-format xml",
            "error: invalid value `xml` for `--log-format`: there is no such format\nhint: give `text` or `json`\n",
        ),
        (
            "--address localhost",
            "error: invalid value `localhost` for `--address`: it is not an IP address\n\
             hint: give for example `127.0.0.1` or `::1`; the port is given by --port\n",
        ),
        (
            "--address off",
            "error: invalid value `off` for `--address`: a service that listens nowhere serves nobody\n\
             hint: leave it out to listen at all addresses, or give one such as `127.0.0.1`\n",
        ),
        (
            "config.yaml",
            "error: unexpected argument `config.yaml`\nhint: authd takes flags only; a path is given by --config\n",
        ),
        (
            "--rate-limt 5",
            "error: unknown flag `--rate-limt`\nhint: did you mean `--rate-limit`? see `authd --help`\n",
        ),
    ] {
        let error = parse_in(line, &[]).expect_err(line);
        assert_eq!(error.report(), expected);
    }
}

#[test]
fn help_and_version_are_commands() {
    assert!(
        matches!(parse_in("--help", &[]), Ok(Command::Help(text)) if text.contains("authd [FLAGS]"))
    );
    assert!(matches!(parse_in("-h", &[]), Ok(Command::Help(_))));
    assert!(matches!(parse_in("--version", &[]), Ok(Command::Version)));
}

#[test]
fn every_flag_has_a_variable_but_help_and_version() {
    for flag in flags::ALL {
        let is_command = matches!(flag.long, "help" | "version");
        assert_eq!(flag.env.is_none(), is_command, "--{}", flag.long);
    }
}
