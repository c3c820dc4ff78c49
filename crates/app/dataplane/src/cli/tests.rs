//! Command line in, terminal text or options out.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use stunner_flags::Takes;

use super::flags::ALL;
use super::*;

/// Parses a command line, with an environment of `NAME=value` words.
fn parse_in(line: &[&str], env: &[&str]) -> Result<Command, UsageError> {
    let args = std::iter::once("stunnerd")
        .chain(line.iter().copied())
        .map(OsString::from);
    parse(args, &|name| {
        env.iter()
            .filter_map(|word| word.split_once('='))
            .find(|(key, _)| *key == name)
            .map(|(_, value)| value.to_owned())
    })
}

fn options_in(line: &[&str], env: &[&str]) -> Options {
    match parse_in(line, env) {
        Ok(Command::Run(options)) => *options,
        other => panic!("{line:?} {env:?}: {other:?}"),
    }
}

fn options(line: &str) -> Options {
    options_in(&line.split_whitespace().collect::<Vec<_>>(), &[])
}

fn error_in(line: &str, env: &[&str]) -> String {
    match parse_in(&line.split_whitespace().collect::<Vec<_>>(), env) {
        Err(error) => error.report(),
        other => panic!("{line}: {other:?}"),
    }
}

#[test]
fn without_flags_everything_has_its_default() {
    let options = options_in(&[], &["STUNNER_NAMESPACE=ns", "STUNNER_NAME=gw"]);
    let expected = Options {
        turn_uri: None,
        origin: ":13478".into(),
        watch: false,
        id: "ns/gw".into(),
        node: None,
        config_cache: None,
        cds_token_file: None,
        cds_ca_file: None,
        dry_run: false,
        udp_thread_num: 0,
        relay_port_range: None,
        allow_loopback_peers: false,
        credential_grace: Duration::ZERO,
        max_ephemeral_lifetime: None,
        unauth_rate_limit: Some(1000),
        max_connections_per_source: Some(4096),
        max_handshakes: Some(100),
        admin_address: Some("127.0.0.1:8087".parse().expect("address")),
        drain_timeout: Duration::from_secs(3600),
        stale_allocation_timeout: Duration::from_secs(60),
        alternate_server: None,
        ready_while_draining: false,
        force_ready_status: false,
        log: None,
        log_format: LogFormat::Text,
        cds_server_address: None,
        cds_server_namespace: None,
        cds_server_port: 13478,
        kubernetes: KubernetesFlags::default(),
        warnings: Vec::new(),
    };
    assert!(options == expected, "{options:?}");
}

#[test]
fn the_command_line_of_the_operators_deployment_is_read() {
    let options = options_in(
        &["-w", "--udp-thread-num=16"],
        &[
            "STUNNER_CONFIG_ORIGIN=http://10.244.0.5:13478",
            "STUNNER_NAME=udp-gateway",
            "STUNNER_NAMESPACE=stunner",
            "STUNNER_NODENAME=node-a",
            "STUNNER_ADDR=10.244.1.7",
            "STUNNER_PORT=tcp://10.96.0.20:3478",
            "STUNNER_CDS_TOKEN_FILE=/var/run/secrets/stunner.l7mp.io/token",
            "STUNNER_CDS_CA_FILE=/var/run/secrets/stunner.l7mp.io/ca.crt",
        ],
    );
    let cds = options.cds_options();
    let file = |name| Some(Path::new("/var/run/secrets/stunner.l7mp.io").join(name));
    assert_eq!(
        (cds.token_file, cds.ca_file),
        (file("token"), file("ca.crt"))
    );
    assert!(options.watch);
    assert_eq!(options.udp_thread_num, 16);
    assert_eq!(options.origin, "http://10.244.0.5:13478");
    assert_eq!(options.id, "stunner/udp-gateway");
    assert_eq!(options.node.as_deref(), Some("node-a"));
}

#[test]
fn every_flag_of_the_go_program_is_accepted() {
    let line = "--as u --as-group g --as-group h --as-uid 7 --as-user-extra k=v --cache-dir /c \
         --cds-server-address 10.0.0.1:1 --cds-server-namespace n --cds-server-port 2 \
         --certificate-authority ca --client-certificate cc --client-key ck --cluster cl -c /x \
         --context ctx --disable-compression -d --force-ready-status -i a/b \
         --insecure-skip-tls-verify --kubeconfig kc -l all:WARN --log-format json -n ns \
         --request-timeout 5s -s https://s --tls-server-name tsn --token t -u 3 --user us -v -w";
    let options = options(line);
    let kubernetes = &options.kubernetes;
    assert_eq!(kubernetes.impersonate_groups, ["g", "h"]);
    assert_eq!(kubernetes.impersonate_extra, ["k=v"]);
    assert_eq!(kubernetes.request_timeout, Some(Duration::from_secs(5)));
    assert_eq!(kubernetes.server.as_deref(), Some("https://s"));
    assert_eq!(kubernetes.namespace.as_deref(), Some("ns"));
    assert!(kubernetes.insecure_skip_tls_verify && kubernetes.disable_compression);
    assert_eq!(options.cds_server_address.as_deref(), Some("10.0.0.1:1"));
    assert_eq!(options.cds_server_port, 2);
    assert_eq!(options.log_format, LogFormat::Json);
    assert_eq!(
        (options.origin.as_str(), options.id.as_str()),
        ("/x", "a/b")
    );
    assert!(options.dry_run && options.watch && options.force_ready_status);
}

#[test]
fn new_flags_are_typed() {
    let options = options(
        "--relay-port-range 50000-50999 --drain-timeout 1h30m --stale-allocation-timeout 250ms \
         --alternate-server [2001:db8::1]:3478 --config-cache /var/cache/s --allow-loopback-peers \
         --unauth-rate-limit 5 --max-connections-per-source 0 --max-handshakes 7 \
         --max-ephemeral-lifetime 86400 --credential-grace 5m --ready-while-draining \
         --admin-address [::1]:9",
    );
    assert_eq!(options.relay_port_range, Some((50000, 50999)));
    assert_eq!(options.drain_timeout, Duration::from_secs(5400));
    assert_eq!(options.stale_allocation_timeout, Duration::from_millis(250));
    let address = |text: &str| text.parse::<SocketAddr>().ok();
    assert_eq!(options.alternate_server, address("[2001:db8::1]:3478"));
    assert_eq!(options.admin_address, address("[::1]:9"));
    assert_eq!(
        options.config_cache.as_deref(),
        Some("/var/cache/s".as_ref())
    );
    assert!(options.allow_loopback_peers && options.ready_while_draining);
    assert_eq!(options.unauth_rate_limit, Some(5));
    assert_eq!(options.max_connections_per_source, None);
    assert_eq!(options.max_handshakes, Some(7));
    let day = Duration::from_secs(86400);
    assert_eq!(options.max_ephemeral_lifetime, Some(day));
    assert_eq!(options.credential_grace, Duration::from_secs(300));
}

#[test]
fn off_switches_every_address_off() {
    let options = options("--admin-address off --alternate-server OFF --cds-server-address off");
    assert_eq!(options.admin_address, None);
    assert_eq!(options.alternate_server, None);
    assert_eq!(options.cds_server_address, None);
}

#[test]
fn switches_take_true_and_false_and_short_flags_can_be_joined() {
    assert!(options("-wd").watch && options("-wd").dry_run);
    assert!(options("--watch=true").watch && options("-w=1").watch);
    assert!(!options("--watch=false").watch && !options("-w -w=F").watch);
    assert_eq!(options("-wu16").udp_thread_num, 16);
    assert_eq!(options("-u 1 -u 2").udp_thread_num, 2);
}

#[test]
fn log_beats_verbose_and_the_command_line_beats_the_environment() {
    let log = |line: &[&str], env: &[&str]| options_in(line, env).log;
    assert_eq!(log(&[], &[]), None);
    assert_eq!(log(&["-v"], &[]).as_deref(), Some("all:DEBUG"));
    assert_eq!(
        log(&["-v", "-l", "all:WARN"], &[]).as_deref(),
        Some("all:WARN")
    );
    let env = ["STUNNER_LOG=all:ERROR", "STUNNER_VERBOSE=true"];
    assert_eq!(log(&[], &env).as_deref(), Some("all:ERROR"));
    assert_eq!(log(&["-v"], &env).as_deref(), Some("all:DEBUG"));
    assert_eq!(log(&["-v=false"], &env).as_deref(), Some("all:ERROR"));
    assert_eq!(
        log(&["-l", "turn:TRACE"], &env).as_deref(),
        Some("turn:TRACE")
    );
}

#[test]
fn an_unknown_log_format_means_text_with_a_warning() {
    let options = options("--log-format jsno");
    assert_eq!(options.log_format, LogFormat::Text);
    assert_eq!(
        options.warnings,
        ["unknown log format `jsno`, writing text; the formats are text and json"]
    );
}

#[test]
fn every_flag_has_a_variable_except_those_the_go_program_names_otherwise() {
    let without: Vec<&str> = ALL
        .iter()
        .filter(|flag| flag.env.is_none())
        .map(|flag| flag.long)
        .collect();
    assert_eq!(without, ["id", "help", "version"]);
    let mut variables: Vec<_> = ALL.iter().filter_map(|flag| flag.env).collect();
    let count = variables.len();
    variables.sort_unstable();
    variables.dedup();
    assert_eq!(variables.len(), count, "no variable is used twice");
    for flag in ALL.iter().filter(|flag| flag.takes == Takes::Switch) {
        assert_eq!(
            flag.default, "",
            "--{}: a switch is off by default",
            flag.long
        );
    }
}

#[test]
fn variables_stand_in_for_flags_and_flags_beat_them() {
    let env = [
        "STUNNER_CONFIG_ORIGIN=/from/env",
        "STUNNER_WATCH=true",
        "STUNNER_RELAY_PORT_RANGE=1000-2000",
        "STUNNER_ADMIN_ADDRESS=off",
        "STUNNER_READY_WHILE_DRAINING=1",
        "STUNNER_DRAIN_TIMEOUT=10",
        "STUNNER_UDP_THREAD_NUM=4",
        "STUNNER_KUBE_AS_GROUP=a,b",
        "CDS_SERVER_ADDR=10.0.0.9",
        "CDS_SERVER_PORT=14000",
        "KUBECONFIG=/kc",
    ];
    let options = options_in(&[], &env);
    assert_eq!(options.origin, "/from/env");
    assert!(options.watch && options.ready_while_draining);
    assert_eq!(options.relay_port_range, Some((1000, 2000)));
    assert_eq!(options.admin_address, None);
    assert_eq!(options.drain_timeout, Duration::from_secs(10));
    assert_eq!(options.udp_thread_num, 4);
    assert_eq!(options.kubernetes.impersonate_groups, ["a", "b"]);
    assert_eq!(
        options.kubernetes.kubeconfig.as_deref(),
        Some("/kc".as_ref())
    );
    assert_eq!(options.cds_server_address.as_deref(), Some("10.0.0.9"));
    assert_eq!(options.cds_server_port, 14000);

    let options = options_in(&["-c", "/x", "-w=false", "-u2"], &env);
    assert_eq!(options.origin, "/x");
    assert!(!options.watch);
    assert_eq!(options.udp_thread_num, 2);
}

#[test]
fn empty_variables_and_service_links_of_kubernetes_are_ignored() {
    let env = [
        "STUNNER_WATCH=",
        "STUNNER_CONFIG_ORIGIN=",
        "CDS_SERVER_PORT=tcp://10.96.0.1:13478",
        "STUNNER_NODENAME=",
    ];
    let options = options_in(&[], &env);
    assert_eq!(options.cds_server_port, 13478);
    assert_eq!(options.origin, ":13478");
    assert_eq!(options.node, None);
    assert!(!options.watch);
}

#[test]
fn one_argument_is_a_turn_uri_and_is_never_shown() {
    let options = options("turn://user:pa55@127.0.0.1:3478 -c /x");
    assert_eq!(
        options.turn_uri.as_deref(),
        Some("turn://user:pa55@127.0.0.1:3478")
    );
    assert!(!format!("{options:?}").contains("pa55"));
    assert_eq!(
        options.warnings,
        ["--config is ignored, because a TURN URI is given"]
    );
    let two = error_in(
        "turn://user:pa55@127.0.0.1:3478 turn://user:pa55@127.0.0.1:3479",
        &[],
    );
    assert!(!two.contains("pa55"));
}

#[test]
fn a_server_given_by_address_stands_in_for_discovery() {
    let origin = |line| {
        options(line)
            .config_origin()
            .map(|origin| origin.to_string())
    };
    let line = "-c k8s --cds-server-address 10.0.0.1 --cds-server-port 14000";
    assert_eq!(origin(line).as_deref(), Ok("http://10.0.0.1:14000"));
    assert_eq!(origin("-c k8s").as_deref(), Ok("k8s"));
    assert_eq!(
        origin("-c /x --cds-server-address 10.0.0.1").as_deref(),
        Ok("/x")
    );
    assert!(origin("-c ftp://x").is_err());
}

#[test]
fn tokens_are_never_shown() {
    let options = options("--token pa55");
    assert!(!format!("{options:?} {:?}", options.kubernetes).contains("pa55"));
}

#[test]
fn check_takes_one_origin_and_any_flags() {
    match parse_in(
        &["-i", "a/b", "check", "--cds-server-port", "1", "k8s"],
        &[],
    ) {
        Ok(Command::Check { origin, options }) => {
            assert_eq!(origin, "k8s");
            assert_eq!((options.id.as_str(), options.cds_server_port), ("a/b", 1));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn help_and_version_win_over_everything_that_can_be_read() {
    assert!(matches!(
        parse_in(&["--version"], &[]),
        Ok(Command::Version)
    ));
    assert!(matches!(
        parse_in(&["-h", "--relay-port-range", "x", "a", "b"], &[]),
        Ok(Command::Help(_))
    ));
}

#[test]
fn wrong_usage_is_answered_with_what_is_wrong_and_what_to_do() {
    for (line, expected) in [
        (
            "--no-such-flag",
            "error: unknown flag `--no-such-flag`\nhint: see `stunnerd --help`\n",
        ),
        (
            "--dry-rum",
            "error: unknown flag `--dry-rum`\nhint: did you mean `--dry-run`? see `stunnerd --help`\n",
        ),
        (
            "-x",
            "error: unknown flag `-x`\nhint: see `stunnerd --help`\n",
        ),
        (
            "--log",
            "error: `--log` needs a value\nhint: see `stunnerd --help`\n",
        ),
        (
            "-c",
            "error: `--config` needs a value\nhint: see `stunnerd --help`\n",
        ),
        (
            "--watch=maybe",
            "error: invalid value `maybe` for `--watch`: it is neither true nor false\n\
             hint: give `true` or `false`\n",
        ),
        (
            "-u many",
            "error: invalid value `many` for `--udp-thread-num`: it is not a count\n\
             hint: give a whole number from 0\n",
        ),
        (
            "--cds-server-port 70000",
            "error: invalid value `70000` for `--cds-server-port`: it is not a port\n\
             hint: give a number from 1 to 65535\n",
        ),
        (
            "--relay-port-range 50999-50000",
            "error: invalid value `50999-50000` for `--relay-port-range`: the range ends below its beginning\n\
             hint: give LO-HI with ports from 1 to 65535, such as `50000-50999`\n",
        ),
        (
            "--relay-port-range 0-5",
            "error: invalid value `0-5` for `--relay-port-range`: it is not a range of ports\n\
             hint: give LO-HI with ports from 1 to 65535, such as `50000-50999`\n",
        ),
        (
            "--drain-timeout 5d",
            "error: invalid value `5d` for `--drain-timeout`: it is not a number with a unit (ns, us, ms, s, m or h)\n\
             hint: give a duration such as `250ms`, `90s` or `1h30m`; a bare number is seconds\n",
        ),
        (
            "--admin-address 0.0.0.0:8087",
            "error: invalid value `0.0.0.0:8087` for `--admin-address`: it is not a loopback address\n\
             hint: give a loopback address such as `127.0.0.1:8087`, or `off`; a port-forward reaches it from outside\n",
        ),
        (
            "--alternate-server example.com:3478",
            "error: invalid value `example.com:3478` for `--alternate-server`: it is not an IP address with a port\n\
             hint: give for example `203.0.113.1:3478` or `[2001:db8::1]:3478`, or `off`\n",
        ),
        (
            "check",
            "error: `check` needs a config origin\nhint: for example `stunnerd check /etc/stunnerd/stunnerd.yaml`\n",
        ),
        (
            "check a b",
            "error: unexpected argument `b`\nhint: `check` takes one config origin\n",
        ),
        (
            "turn://a turn://b",
            "error: more than one argument\n\
             hint: give one TURN URI, or `check` and a config origin; see `stunnerd --help`\n",
        ),
    ] {
        assert_eq!(error_in(line, &[]), expected, "{line}");
    }
    assert_eq!(
        error_in("", &["STUNNER_DRAIN_TIMEOUT=soon"]),
        "error: invalid value `soon` for the environment variable `STUNNER_DRAIN_TIMEOUT`: \
         it is not a number with a unit (ns, us, ms, s, m or h)\n\
         hint: give a duration such as `250ms`, `90s` or `1h30m`; a bare number is seconds\n"
    );
}

#[test]
fn admin_addresses_are_loopback_in_every_spelling() {
    for good in [
        "127.0.0.1:1",
        "127.9.9.9:1",
        "[::1]:1",
        "localhost:1",
        "[::ffff:127.0.0.1]:1",
    ] {
        assert!(
            options_in(&["--admin-address", good], &[])
                .admin_address
                .is_some(),
            "{good}"
        );
    }
    for bad in [
        ":8087",
        "10.0.0.1:8087",
        "[::]:8087",
        "localhost",
        "127.0.0.1",
        "example.com:1",
    ] {
        assert!(parse_in(&["--admin-address", bad], &[]).is_err(), "{bad}");
    }
}

#[test]
fn the_help_names_every_flag_with_its_default_and_variable() {
    let help = help();
    assert!(help.starts_with(
        "STUN/TURN server that takes its configuration live\n\
         \n\
         Usage:\n  \
           stunnerd [FLAGS]                 serve the config at an origin\n  \
           stunnerd [FLAGS] TURN-URI        serve one listener, such as turn://user:pass@127.0.0.1:3478\n  \
           stunnerd check [FLAGS] ORIGIN    print every problem of a config; ORIGIN may be a TURN URI\n\
         \n\
         Configuration:\n  \
           -c, --config ORIGIN\n          \
                   Where the config comes from: a path or file:// URL, HOST:PORT or an http, https, ws or wss\n          \
                   URL of a config discovery service (CDS), or `k8s`\n          \
                   [default: :13478] [env: STUNNER_CONFIG_ORIGIN]\n  \
           -w, --watch\n          \
                   Follow the origin and apply every change; without it the config is loaded once\n          \
                   [env: STUNNER_WATCH]\n"
    ), "{help}");
    for flag in ALL {
        assert!(
            help.contains(&format!("--{}", flag.long)),
            "--{}",
            flag.long
        );
    }
    assert!(
        help.lines().all(|line| line.chars().count() <= 100),
        "{help}"
    );
    assert!(help.ends_with("Exit codes: 0 fine, 1 problem, 2 wrong usage.\n"));
}
