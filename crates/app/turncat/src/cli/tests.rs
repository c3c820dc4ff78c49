//! What can be said to `turncat`.

use std::ffi::OsString;
use std::time::Duration;

use stunner_flags::Takes;

use super::{Command, CommandLineError, Options, flags, parse};
use crate::ends::LocalEnd;
use crate::server::{Login, ServerEnd, Target};

const ENDS: &str = "udp://127.0.0.1:10000 turn://u:pa55w0rd@192.0.2.1 udp://10.0.0.1:9000";

fn parse_in(line: &str, env: &[(&str, &str)]) -> Result<Command, CommandLineError> {
    let args = std::iter::once("turncat").chain(line.split_whitespace());
    let env = |name: &str| {
        let found = env.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    parse(args.map(OsString::from), &env)
}

fn options_in(line: &str, env: &[(&str, &str)]) -> Options {
    match parse_in(line, env) {
        Ok(Command::Run(options)) => *options,
        other => panic!("{line}: {other:?}"),
    }
}

fn target(options: &Options) -> Target {
    match &options.server {
        ServerEnd::Uri(uri) => Target::of_uri(uri, options.secret.as_ref()),
        ServerEnd::Gateway(name) => panic!("{name:?}"),
    }
}

#[test]
fn without_flags_it_has_the_defaults_of_its_help() {
    let options = options_in(ENDS, &[]);
    assert_eq!(options.connect_timeout, Duration::from_secs(8));
    assert_eq!(options.idle_timeout, Some(Duration::from_secs(300)));
    assert_eq!(options.reconnect_timeout, Duration::from_secs(60));
    assert_eq!(options.linger, Duration::from_secs(1));
    assert_eq!(
        (options.max_datagram, options.log.as_str()),
        (None, "all:WARN")
    );
    assert!(options.check && !options.insecure && options.sni.is_none());
    let tcp = options_in("- turn://u:p@h?transport=tcp tcp://10.0.0.1:80", &[]);
    assert_eq!(
        (tcp.local, tcp.linger),
        (LocalEnd::Stdio, Duration::from_secs(10))
    );
}

#[test]
fn every_flag_is_understood() {
    let line = format!(
        "-i --sni turn.example --connect-timeout 500ms --no-check --idle-timeout 0 --reconnect-timeout 2m --linger 3 \
         --max-datagram 1200 -n media --cds-server-address 127.0.0.1:13478 -l all:INFO {ENDS}"
    );
    let options = options_in(&line, &[]);
    assert!(options.insecure && !options.check);
    assert_eq!(options.sni.as_deref(), Some("turn.example"));
    assert_eq!(options.connect_timeout, Duration::from_millis(500));
    assert_eq!(options.idle_timeout, None);
    assert_eq!(options.reconnect_timeout, Duration::from_secs(120));
    assert_eq!(options.linger, Duration::from_secs(3));
    assert_eq!(options.max_datagram, Some(1200));
    assert_eq!(options.kubectl.namespace.as_deref(), Some("media"));
    assert_eq!(options.cds.address.as_deref(), Some("127.0.0.1:13478"));
    assert_eq!(options.log, "all:INFO");
}

#[test]
fn every_flag_of_the_original_is_there() {
    let original = "as as-group as-uid as-user-extra cache-dir cds-server-address cds-server-namespace cds-server-port \
                    certificate-authority client-certificate client-key cluster context disable-compression help insecure \
                    insecure-skip-tls-verify kubeconfig log namespace request-timeout server sni tls-server-name token user \
                    verbose";
    for name in original.split_whitespace() {
        assert!(flags::ALL.iter().any(|flag| flag.long == name), "--{name}");
    }
    for (short, long) in [
        ('h', "help"),
        ('i', "insecure"),
        ('l', "log"),
        ('n', "namespace"),
        ('s', "server"),
        ('v', "verbose"),
    ] {
        let flag = flags::ALL.iter().find(|flag| flag.short == Some(short));
        assert_eq!(flag.map(|flag| flag.long), Some(long));
    }
}

#[test]
fn every_flag_but_help_and_version_has_a_variable() {
    for flag in flags::ALL {
        let none = matches!(flag.long, "help" | "version");
        assert_eq!(flag.env.is_none(), none, "--{}", flag.long);
        let off = flag.takes != Takes::Switch || flag.default.is_empty();
        assert!(off, "--{}: a switch is off by default", flag.long);
    }
}

#[test]
fn log_levels_follow_the_nearest_wish() {
    let log = |line: &str, env: &[(&str, &str)]| options_in(&format!("{line} {ENDS}"), env).log;
    assert_eq!(log("-v", &[]), "all:DEBUG");
    assert_eq!(log("-v -l all:TRACE", &[]), "all:TRACE");
    assert_eq!(log("-v", &[("STUNNER_LOG", "all:ERROR")]), "all:DEBUG");
    assert_eq!(log("", &[("STUNNER_LOG", "all:ERROR")]), "all:ERROR");
}

#[test]
fn a_secret_mints_credentials_for_the_user_of_the_uri() {
    let login = |line: &str, env: &[(&str, &str)]| target(&options_in(line, env)).login;
    let ephemeral = |user: Option<&str>| Login::Ephemeral {
        secret: "s3cret".into(),
        user: user.map(str::to_owned),
    };
    let peer = "udp://10.0.0.1:9";
    assert_eq!(
        login(&format!("--secret s3cret - turn://ann@h {peer}"), &[]),
        ephemeral(Some("ann"))
    );
    assert_eq!(
        login(&format!("--secret=s3cret - turn://h {peer}"), &[]),
        ephemeral(None)
    );
    let env = [("STUNNER_SECRET", "s3cret")];
    assert_eq!(login(&format!("- turn:h {peer}"), &env), ephemeral(None));
    assert!(matches!(
        login(&format!("- turn://u:p@h {peer}"), &env),
        Login::Password { .. }
    ));
    assert_eq!(login(&format!("- turn:h {peer}"), &[]), Login::Anonymous);
}

#[test]
fn help_and_version_need_no_arguments() {
    assert!(matches!(parse_in("--help", &[]), Ok(Command::Help)));
    assert!(matches!(parse_in("-h x", &[]), Ok(Command::Help)));
    assert!(matches!(parse_in("--version", &[]), Ok(Command::Version)));
}

#[test]
fn mistakes_are_answered_with_what_to_do() {
    let forms = "hint: write `udp://HOST:PORT`, `tcp://HOST:PORT`, `unix://PATH`, or `-` for standard input and output\n";
    let uri = "hint: write `turn://USER:PASSWORD@HOST:PORT?transport=udp|tcp|tls|dtls`, or \
               `k8s://NAMESPACE/GATEWAY:LISTENER` for a Gateway in a cluster\n";
    let three = "hint: for example `turncat udp://127.0.0.1:9000 turn://USER:PASSWORD@HOST:3478 udp://10.0.0.5:5004`; \
                 see `turncat --help`\n";
    for (line, code, expected) in [
        ("", 2, format!("error: `turncat` takes three arguments, not 0\n{three}")),
        ("udp://127.0.0.1:1", 2, format!("error: `turncat` takes three arguments, not 1\n{three}")),
        ("a b c d", 2, format!("error: `turncat` takes three arguments, not 4\n{three}")),
        (
            "--no-such-flag",
            2,
            "error: unknown flag `--no-such-flag`\nhint: see `turncat --help`\n".to_owned(),
        ),
        (
            "--insecur - turn://u:p@h udp://h:1",
            2,
            "error: unknown flag `--insecur`\nhint: did you mean `--insecure`? see `turncat --help`\n".to_owned(),
        ),
        (
            "--linger soon - turn://u:p@h udp://h:1",
            2,
            "error: invalid value `soon` for `--linger`: ".to_owned(),
        ),
        (
            "--max-datagram 70000 - turn://u:p@h udp://h:1",
            2,
            "error: invalid value `70000` for `--max-datagram`: it is no size of a datagram\n\
             hint: give a number of bytes from 1 to 65507, such as `1200`\n"
                .to_owned(),
        ),
        (
            "--connect-timeout 0 - turn://u:p@h udp://h:1",
            2,
            "error: invalid value `0` for `--connect-timeout`: no server answers in no time\nhint: give a duration such as `8s`\n"
                .to_owned(),
        ),
        (
            "--secret x - turn://u:pa55w0rd@h udp://h:1",
            2,
            "error: the server's URI has a password, and `--secret` is given too\n\
             hint: leave out one of them; with `--secret` the URI may have a user: `turn://USER@HOST:PORT`\n"
                .to_owned(),
        ),
        (
            "xyz://127.0.0.1:1 turn://u:p@h udp://h:1",
            1,
            format!("error: unknown protocol `xyz` of the client end\n{forms}"),
        ),
        (
            "udp://127.0.0.1 turn://u:p@h udp://h:1",
            1,
            format!("error: `udp://127.0.0.1` is no client end: it has no port\n{forms}"),
        ),
        ("- nonsense udp://h:1", 1, format!("error: the server is no URI\n{uri}")),
        ("- u:pa55w0rd@h:3478 udp://h:1", 1, format!("error: the server is no URI\n{uri}")),
        (
            "- http://u:pa55w0rd@h udp://h:1",
            1,
            format!("error: unknown protocol `http` of the server\n{uri}"),
        ),
        (
            "- turn://u:pa55w0rd udp://h:1",
            1,
            format!("error: the server is no TURN URI: expected a port from 1 to 65535 after the host\n{uri}"),
        ),
        (
            "- k8s://stunner udp://h:1",
            1,
            "error: `k8s://stunner` names no listener of a Gateway\n\
             hint: write `k8s://NAMESPACE/GATEWAY:LISTENER`, or `k8s:///GATEWAY:LISTENER` with `--namespace`\n"
                .to_owned(),
        ),
        (
            "- turn://u:p@h sctp://h:1",
            1,
            "error: unknown protocol `sctp` of the peer\nhint: write `udp://HOST:PORT` or `tcp://HOST:PORT`\n".to_owned(),
        ),
    ] {
        let error = parse_in(line, &[]).expect_err(line);
        let report = error.report();
        assert!(report.starts_with(&expected), "{line}: {report}");
        assert_eq!(error.exit_code(), code, "{line}");
        assert!(report.contains("\nhint: ") && !report.contains("pa55w0rd"), "{line}: {report}");
    }
}

#[test]
fn levels_and_names_that_cannot_be_meant_are_wrong_usage() {
    for (flags, said) in [
        ("-l bogus", "`--log`"),
        ("--log all:LOUD", "`--log`"),
        ("--sni bad/name", "`--sni`"),
        ("--sni turn..example", "`--sni`"),
    ] {
        let error = parse_in(&format!("{flags} {ENDS}"), &[]).expect_err(flags);
        assert_eq!(error.exit_code(), 2, "{flags}");
        assert!(error.report().contains(said), "{}", error.report());
    }
    for name in [
        "localhost",
        "turn.example.",
        "_x.example",
        "192.0.2.1",
        "::1",
    ] {
        let options = options_in(&format!("--sni {name} {ENDS}"), &[]);
        assert_eq!(options.sni.as_deref(), Some(name));
    }
}
