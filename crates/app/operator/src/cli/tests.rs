//! Command line in, options or terminal text out.

use std::time::Duration;

use stunner_telemetry::logging::Format;
use stunner_translate::{Mode, ReferenceGrants};

use super::*;

fn parse_in(line: &str, env: &[(&str, &str)]) -> Result<Command, UsageError> {
    let args = std::iter::once("stunner-gateway-operator").chain(line.split_whitespace());
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

fn error(line: &str) -> String {
    match parse_in(line, &[]) {
        Err(error) => error.report(),
        other => panic!("{line}: {other:?}"),
    }
}

#[test]
fn without_flags_everything_has_its_default() {
    let options = options("");
    assert_eq!(options.controller_name, "stunner.l7mp.io/gateway-operator");
    assert_eq!(options.mode, Mode::Managed);
    assert_eq!(options.throttle_timeout, Duration::from_millis(250));
    assert_eq!(options.cds_address.as_deref(), Some(":13478"));
    assert_eq!(options.cds_tls_address.as_deref(), Some(":13479"));
    assert_eq!(
        options.metrics_address.map(|a| a.to_string()).as_deref(),
        Some(":8080")
    );
    assert_eq!(
        options.health_address.map(|a| a.to_string()).as_deref(),
        Some(":8081")
    );
    assert_eq!(
        options.console_address.map(|a| a.to_string()).as_deref(),
        Some("127.0.0.1:8090")
    );
    assert!(options.endpoint_discovery && options.endpoint_slices && options.relay_to_cluster_ip);
    assert!(!options.leader_elect && !options.enable_finalizer && !options.finalizer_delete);
    assert_eq!(options.reference_grants, ReferenceGrants::Allow);
    assert_eq!(options.cluster_domain, "cluster.local");
    assert_eq!(options.label_filter.len(), 6);
    assert_eq!(options.cds_readers, None);
    assert_eq!(options.logs.format, Format::Text);
    assert!(options.warnings.is_empty(), "{:?}", options.warnings);
}

#[test]
fn flags_of_the_original_chart_are_taken_with_one_dash_or_two() {
    for line in [
        "--health-probe-bind-address=:9081 --metrics-bind-address=127.0.0.1:9080 --leader-elect \
         --zap-log-level=info --dataplane-mode=managed --disable-endpontslice-controller",
        "-health-probe-bind-address :9081 -metrics-bind-address 127.0.0.1:9080 -leader-elect=true \
         -zap-log-level info -dataplane-mode managed -disable-endpontslice-controller",
    ] {
        let options = options(line);
        assert!(options.leader_elect && !options.endpoint_slices);
        assert_eq!(options.health_address.map(|a| a.port()), Some(9081));
        assert_eq!(options.metrics_address.map(|a| a.port()), Some(9080));
    }
    assert!(!options("--disable-endpointslice-controller").endpoint_slices);
}

#[test]
fn addresses_are_switched_off_by_off_and_by_0() {
    for off in ["off", "OFF", "0"] {
        let line = format!(
            "--config-discovery-address={off} --config-discovery-tls-address={off} \
             --metrics-bind-address={off} --health-probe-bind-address={off} --pprof-bind-address={off} \
             --console-address={off}"
        );
        let options = options(&line);
        assert_eq!(options.cds_address, None);
        assert_eq!(options.cds_tls_address, None);
        assert_eq!(options.metrics_address, None);
        assert_eq!(options.health_address, None);
        assert_eq!(options.console_address, None);
        assert!(options.warnings.is_empty());
    }
}

#[test]
fn the_mode_of_the_environment_fills_in_for_managed() {
    const MODE: &str = "STUNNER_GATEWAY_OPERATOR_DATAPLANE_MODE";
    for (line, env, mode, warned) in [
        ("", "legacy", Mode::Legacy, false),
        ("--dataplane-mode=managed", "Legacy", Mode::Legacy, false),
        ("--dataplane-mode=legacy", "managed", Mode::Legacy, false),
        ("--dataplane-mode=MANAGED", "managed", Mode::Managed, false),
        ("--dataplane-mode=odd", "managed", Mode::Legacy, true),
        ("", "odd", Mode::Legacy, true),
    ] {
        let options = options_in(line, &[(MODE, env)]);
        assert_eq!(options.mode, mode, "{line} {env}");
        assert_eq!(!options.warnings.is_empty(), warned, "{line} {env}");
    }
}

#[test]
fn an_empty_label_filter_copies_every_label() {
    const FILTER: &str = "STUNNER_GATEWAY_OPERATOR_LABEL_FILTER";
    assert!(options_in("", &[(FILTER, "")]).label_filter.is_empty());
    let filter = options_in("", &[(FILTER, " a, b/c ,")]).label_filter;
    assert_eq!(filter.into_iter().collect::<Vec<_>>(), ["a", "b/c"]);
}

#[test]
fn zap_flags_set_format_and_level() {
    let logs = |line: &str| options(line).logs;
    assert_eq!(logs("--zap-devel=false").format, Format::Json);
    assert_eq!(
        logs("--zap-devel=false --zap-encoder=console").format,
        Format::Text
    );
    assert!(logs("--zap-log-level=1").spec.starts_with("all:DEBUG"));
    assert!(logs("--zap-log-level=5").spec.starts_with("all:TRACE"));
    assert!(logs("--zap-log-level=error").spec.starts_with("all:ERROR"));
    let by_scope = logs("--zap-log-level=all:WARN,watch:DEBUG").spec;
    assert!(by_scope.starts_with("all:WARN,watch:DEBUG"));
    assert_eq!(
        logs("--zap-stacktrace-level=panic --zap-time-encoding=rfc3339").format,
        Format::Text
    );
}

#[test]
fn a_kubeconfig_of_the_environment_is_left_to_the_client() {
    assert_eq!(
        options_in("", &[("KUBECONFIG", "/a:/b")]).kubeconfig,
        None,
        "it may be a list"
    );
    assert_eq!(
        options("--kubeconfig /a").kubeconfig.as_deref(),
        Some(std::path::Path::new("/a"))
    );
}

#[test]
fn mistakes_say_what_to_do() {
    for (line, expected) in [
        (
            "--throttle-timeout=soon",
            "error: invalid value `soon` for `--throttle-timeout`: it is not a number with a unit (ns, us, ms, s, m or h)\n\
             hint: give a duration such as `250ms`, `90s` or `1h30m`; a bare number is seconds\n",
        ),
        (
            "--reference-grants=maybe",
            "error: invalid value `maybe` for `--reference-grants`: there is no such rule\nhint: give `allow` or `enforce`\n",
        ),
        (
            "--config-discovery-readers=name",
            "error: invalid value `name` for `--config-discovery-readers`: `name` is no ServiceAccount\n\
             hint: give NAMESPACE/NAME, several separated by commas\n",
        ),
        (
            "--leader-elect true",
            "error: unexpected argument `true`\n\
             hint: the operator takes flags only; a value may need `=`, as in `--leader-elect=true`\n",
        ),
        (
            "--controler-name=x",
            "error: unknown flag `--controler-name`\n\
             hint: did you mean `--controller-name`? see `stunner-gateway-operator --help`\n",
        ),
    ] {
        assert_eq!(error(line), expected);
    }
}

#[test]
fn every_flag_is_either_for_compatibility_or_has_a_variable() {
    let without = [
        "help",
        "version",
        "zap-stacktrace-level",
        "zap-time-encoding",
        "disable-endpontslice-controller",
    ];
    for flag in flags::ALL {
        assert_eq!(
            flag.env.is_none(),
            without.contains(&flag.long),
            "{}",
            flag.long
        );
    }
}
