//! The program as a shell sees it: exit codes and what is said where.

use std::net::TcpListener;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use cluster_tests::operator_binary;

struct Run {
    code: Option<i32>,
    out: String,
    err: String,
}

/// Runs to its end, in an environment that knows of no cluster.
fn run(args: &[&str], env: &[(&str, &str)]) -> Run {
    let mut child = Command::new(operator_binary())
        .args(args)
        .env_remove("KUBECONFIG")
        .env("HOME", "/nonexistent")
        .envs(env.iter().copied())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the operator starts");
    let deadline = Instant::now() + Duration::from_secs(60);
    while child.try_wait().expect("its state").is_none() {
        if Instant::now() > deadline {
            let _ = child.kill();
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let Output {
        status,
        stdout,
        stderr,
    } = child.wait_with_output().expect("its output");
    Run {
        code: status.code(),
        out: String::from_utf8_lossy(&stdout).into_owned(),
        err: String::from_utf8_lossy(&stderr).into_owned(),
    }
}

const NO_PORTS: [&str; 4] = [
    "--config-discovery-address=off",
    "--config-discovery-tls-address=off",
    "--health-probe-bind-address=off",
    "--metrics-bind-address=0",
];

#[test]
fn help_and_version_go_to_standard_output() {
    for flag in ["--help", "-h", "-help"] {
        let run = run(&[flag], &[]);
        assert_eq!(run.code, Some(0), "{flag}: {}", run.err);
        for name in [
            "--controller-name",
            "--throttle-timeout",
            "--endpoint-discovery",
            "--dataplane-mode",
            "--config-discovery-address",
            "--config-discovery-tls-address",
            "--metrics-bind-address",
            "--health-probe-bind-address",
            "--pprof-bind-address",
            "--disable-endpontslice-controller",
            "--disable-endpointslice-controller",
            "--leader-elect",
            "--enable-finalizer",
            "--finalizer-delete",
            "--zap-log-level",
            "--kubeconfig",
            "--watch-namespaces",
            "--relay-to-cluster-ip",
            "--cluster-domain",
            "--reference-grants",
        ] {
            assert!(run.out.contains(name), "{flag} does not tell of {name}");
        }
    }
    let run = run(&["--version"], &[]);
    assert_eq!(run.code, Some(0));
    assert!(
        run.out.starts_with("stunner-gateway-operator "),
        "{}",
        run.out
    );
}

/// CONTRACT §1: a wrong flag or flag value is usage, 2.
#[test]
fn mistakes_on_the_command_line_are_usage_errors_that_name_the_flag() {
    for (args, named) in [
        (&["--no-such-flag"][..], "--no-such-flag"),
        (&["stray"], "stray"),
        (&["--throttle-timeout=soon"], "--throttle-timeout"),
        (&["--throttle-timeout"], "--throttle-timeout"),
        (
            &["--metrics-bind-address=nowhere"],
            "--metrics-bind-address",
        ),
        (
            &["--health-probe-bind-address=:99999"],
            "--health-probe-bind-address",
        ),
        (&["-leader-elect=maybe"], "--leader-elect"),
        (&["--zap-log-level=loud"], "--zap-log-level"),
        (&["--reference-grants=perhaps"], "--reference-grants"),
        (
            &["--config-discovery-readers=nobody"],
            "--config-discovery-readers",
        ),
    ] {
        let run = run(args, &[]);
        assert_eq!(run.code, Some(2), "{args:?}: {}", run.err);
        assert!(
            run.err.contains(named) && run.err.contains("hint: "),
            "{}",
            run.err
        );
        assert!(run.out.is_empty(), "{args:?}: {}", run.out);
    }
    let run = run(
        &[],
        &[("STUNNER_GATEWAY_OPERATOR_THROTTLE_TIMEOUT", "soon")],
    );
    assert_eq!(run.code, Some(2), "{}", run.err);
    assert!(
        run.err
            .contains("STUNNER_GATEWAY_OPERATOR_THROTTLE_TIMEOUT"),
        "{}",
        run.err
    );
}

/// An address of config discovery that cannot be used is a problem, as it was in the Go system; all others are usage.
#[test]
fn an_unusable_address_of_config_discovery_is_a_problem_that_names_the_flag() {
    for flag in [
        "--config-discovery-address",
        "--config-discovery-tls-address",
    ] {
        for value in ["nowhere", "127.0.0.1:99999"] {
            let run = run(&[&format!("{flag}={value}")], &[]);
            assert_eq!(run.code, Some(1), "{value}: {}", run.err);
            assert!(
                run.err.contains(flag) && run.err.contains("hint: "),
                "{}",
                run.err
            );
        }
    }
}

#[test]
fn a_port_in_use_is_a_problem_that_names_the_flag() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("its address").to_string();
    for (index, flag) in NO_PORTS.iter().enumerate() {
        let (flag, _) = flag.split_once('=').expect("a flag with a value");
        let own = format!("{flag}={address}");
        let mut args = NO_PORTS.to_vec();
        args[index] = &own;
        let run = run(&args, &[]);
        assert_eq!(run.code, Some(1), "{flag}: {}", run.err);
        assert!(
            run.err.contains(flag) && run.err.contains(&address),
            "{}",
            run.err
        );
    }
}

#[test]
fn without_a_cluster_it_says_what_to_do() {
    let none = run(&NO_PORTS, &[]);
    assert_eq!(none.code, Some(1));
    assert!(
        none.err.contains("--kubeconfig") && none.err.contains("KUBECONFIG"),
        "{}",
        none.err
    );
    let mut args = NO_PORTS.to_vec();
    args.push("--kubeconfig=/no/such/file");
    let missing = run(&args, &[]);
    assert_eq!(missing.code, Some(1));
    assert!(missing.err.contains("/no/such/file"), "{}", missing.err);
}

#[test]
fn an_unknown_mode_means_legacy_and_go_style_flags_are_understood() {
    let mut args = NO_PORTS.to_vec();
    args.extend([
        "-dataplane-mode",
        "weird",
        "-leader-elect",
        "--endpoint-discovery=false",
        "-zap-devel=false",
    ]);
    let run = run(&args, &[]);
    assert_eq!(run.code, Some(1), "there is no cluster: {}", run.err);
    assert!(
        run.out.contains("weird") && run.out.contains("legacy"),
        "{}",
        run.out
    );
    assert!(run.out.starts_with('{'), "JSON was asked for: {}", run.out);
}

/// Kubernetes sets such variables in every pod of a namespace with a Service of that name.
#[test]
fn variables_that_kubernetes_makes_of_services_are_ignored() {
    let env = [
        ("STUNNER_PORT", "tcp://10.0.0.1:3478"),
        ("STUNNER_GATEWAY_OPERATOR_PORT", "tcp://10.0.0.1:80"),
        ("STUNNER_CONFIG_DISCOVERY_PORT", "tcp://10.0.0.1:13478"),
        ("STUNNER_SERVICE_HOST", "10.0.0.1"),
    ];
    let run = run(&NO_PORTS, &env);
    assert_eq!(run.code, Some(1), "{}", run.err);
    assert!(run.err.contains("--kubeconfig"), "{}", run.err);
}
