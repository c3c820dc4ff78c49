//! `stunnerd check ORIGIN`: everything that is wrong with a config, with its place and what to do about it.

use std::error::Error;

use stunner_cds::{ConfigId, Origin};
use stunner_config::uri::{UriError, default_config, parse_turn_uri};
use stunner_config::{Config, Problem};

use super::options::Options;
use super::{EXIT_OK, EXIT_PROBLEM};

/// What `check` found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckReport {
    /// The lines to print.
    pub text: String,
    pub errors: usize,
    pub warnings: usize,
}

impl CheckReport {
    pub fn exit_code(&self) -> u8 {
        match self.errors {
            0 => EXIT_OK,
            _ => EXIT_PROBLEM,
        }
    }
}

/// Checks the config at `origin`, a TURN URI or anything that `--config` takes.
///
/// `judge` adds what this function cannot know, such as whether certificates and keys are usable and fit.
pub async fn check(
    origin: &str,
    options: &Options,
    cds: &stunner_cds::Options,
    judge: &(dyn Fn(&Config) -> Vec<Problem> + Sync),
) -> CheckReport {
    if is_turn_uri(origin) {
        return check_turn_uri(origin);
    }
    let origin = match options.resolve(origin) {
        Ok(origin) => origin,
        // The place is not what was typed: that may hold a password.
        Err(error) => return failed("config origin", &error, Some(error.hint())),
    };
    let place = place_of(&origin, options);
    let text = match stunner_cds::fetch(&origin, &options.id, options.node.as_deref(), cds).await {
        Ok(text) => text,
        Err(error) => return failed(&place, &error, error.hint().as_deref()),
    };
    match stunner_config::parse(&text, &|name| (cds.env)(name)) {
        Ok(parsed) => {
            let mut problems = parsed.warnings;
            problems.extend(judge(&parsed.config));
            let summary = format!(
                "{}, {}",
                counted(parsed.config.listeners.len(), "listener"),
                counted(parsed.config.clusters.len(), "cluster")
            );
            listed(&place, &problems, &summary)
        }
        Err(problems) => listed(&place, &problems, ""),
    }
}

/// Whether a text is meant as a TURN URI rather than as a config origin.
fn is_turn_uri(text: &str) -> bool {
    let scheme = text.split(':').next().unwrap_or_default();
    scheme.eq_ignore_ascii_case("turn") || scheme.eq_ignore_ascii_case("turns")
}

fn check_turn_uri(text: &str) -> CheckReport {
    // The place is not what was typed: that holds a password.
    const PLACE: &str = "TURN URI";
    let config = parse_turn_uri(text).and_then(|uri| default_config(&uri, None));
    match config {
        // The certificate of a TLS or DTLS listener is made at start.
        Ok(_) | Err(UriError::NoIdentity(_)) => listed(PLACE, &[], "1 listener, 1 cluster"),
        Err(error) => failed(
            PLACE,
            &error,
            Some("write it as `turn://USER:PASSWORD@ADDRESS:PORT?transport=udp|tcp|tls|dtls`"),
        ),
    }
}

/// How the origin is named in front of line and column.
fn place_of(origin: &Origin, options: &Options) -> String {
    match (origin, ConfigId::parse(&options.id)) {
        (Origin::Cds(server), Ok(id)) => {
            let scheme = if server.tls { "https" } else { "http" };
            let target = server.config_target(&id, options.node.as_deref(), false);
            format!("{scheme}://{}{target}", server.authority())
        }
        (origin, _) => origin.to_string(),
    }
}

/// One line per problem, with its hint below, in the order of the text.
fn listed(place: &str, problems: &[Problem], summary: &str) -> CheckReport {
    let mut sorted: Vec<&Problem> = problems.iter().collect();
    sorted.sort_by_key(|problem| (problem.line, problem.column));
    let mut text = String::new();
    for problem in sorted {
        let separator = if problem.line.is_some() { ":" } else { ": " };
        text.push_str(&format!("{place}{separator}{problem}\n"));
    }
    let errors = problems.iter().filter(|problem| problem.is_error()).count();
    let warnings = problems.len() - errors;
    let verdict = match (errors, warnings) {
        (0, 0) => format!("ok ({summary})"),
        (0, warnings) => format!("ok, {} ({summary})", counted(warnings, "warning")),
        (errors, 0) => counted(errors, "error"),
        (errors, warnings) => {
            format!(
                "{}, {}",
                counted(errors, "error"),
                counted(warnings, "warning")
            )
        }
    };
    text.push_str(&format!("{place}: {verdict}\n"));
    CheckReport {
        text,
        errors,
        warnings,
    }
}

/// A config that could not be had at all.
fn failed(place: &str, error: &dyn Error, hint: Option<&str>) -> CheckReport {
    let mut text = format!("{place}: error: {error}");
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text.push('\n');
    if let Some(hint) = hint {
        text.push_str(&format!("  hint: {hint}\n"));
    }
    CheckReport {
        text,
        errors: 1,
        warnings: 0,
    }
}

fn counted(number: usize, noun: &str) -> String {
    match number {
        1 => format!("1 {noun}"),
        number => format!("{number} {noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::sync::Arc;

    use stunner_config::Severity;

    use super::super::{Command, parse};
    use super::*;

    const GOOD: &str = "\
version: v1
auth:
  type: static
  credentials: {username: u, password: p}
listeners:
  - name: udp
    protocol: UDP
    address: $STUNNER_ADDR
    port: 3478
    routes: [media]
clusters:
  - name: media
    endpoints: [10.0.0.0/8]
";

    async fn check_judged(origin: &str, judge: fn(&Config) -> Vec<Problem>) -> CheckReport {
        let args = ["stunnerd", "-i", "ns/gw", "check", origin].map(OsString::from);
        let Ok(Command::Check { origin, options }) = parse(args.into_iter(), &|_| None) else {
            panic!("check {origin} is no check");
        };
        let cds = stunner_cds::Options {
            env: Arc::new(|name| (name == "STUNNER_ADDR").then(|| "10.1.2.3".to_owned())),
            ..stunner_cds::Options::default()
        };
        check(&origin, &options, &cds, &judge).await
    }

    async fn check_text(text: &str, judge: fn(&Config) -> Vec<Problem>) -> (String, u8) {
        let dir = tempfile::tempdir().expect("tempdir");
        let path = dir.path().join("c.yaml");
        std::fs::write(&path, text).expect("write");
        let report = check_judged(&path.display().to_string(), judge).await;
        let folder = format!("{}/", dir.path().display());
        (report.text.replace(&folder, ""), report.exit_code())
    }

    fn no_problem(_: &Config) -> Vec<Problem> {
        Vec::new()
    }

    #[tokio::test]
    async fn a_good_config_is_ok() {
        let (text, code) = check_text(GOOD, no_problem).await;
        assert_eq!(
            (text.as_str(), code),
            ("c.yaml: ok (1 listener, 1 cluster)\n", 0)
        );
    }

    #[tokio::test]
    async fn every_problem_is_told_with_its_place_and_a_hint() {
        let bad = GOOD
            .replace("protocol: UDP", "protocol: nonsense")
            .replace("10.0.0.0/8", "10.0.0.0/99");
        let (text, code) = check_text(&bad, no_problem).await;
        assert_eq!(code, 1);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("c.yaml:7:"), "{text}");
        assert!(
            lines[0].contains(": error: listeners[0].protocol: "),
            "{text}"
        );
        assert!(lines[1].starts_with("  hint: "), "{text}");
        assert!(text.contains("\nc.yaml:13:"), "{text}");
        assert!(text.ends_with("c.yaml: 2 errors\n"), "{text}");
    }

    #[tokio::test]
    async fn warnings_alone_are_no_failure() {
        let odd = GOOD.replace("    port: 3478\n", "    port: 3478\n    prot: 3478\n");
        let (text, code) = check_text(&odd, no_problem).await;
        assert_eq!(code, 0);
        assert!(
            text.starts_with("c.yaml:10:") && text.contains(": warning: "),
            "{text}"
        );
        assert!(
            text.ends_with("c.yaml: ok, 1 warning (1 listener, 1 cluster)\n"),
            "{text}"
        );
    }

    #[tokio::test]
    async fn the_judge_of_certificates_is_heard() {
        let (text, code) = check_text(GOOD, |config| {
            vec![Problem {
                severity: Severity::Error,
                path: format!("listeners[{}].cert", config.listeners.len() - 1),
                line: None,
                column: None,
                message: "the key does not belong to the certificate".into(),
                hint: Some("give the key the certificate was made for".into()),
            }]
        })
        .await;
        assert_eq!(
            text,
            "c.yaml: error: listeners[0].cert: the key does not belong to the certificate\n  \
             hint: give the key the certificate was made for\n\
             c.yaml: 1 error\n"
        );
        assert_eq!(code, 1);
    }

    #[tokio::test]
    async fn what_cannot_be_read_at_all_is_one_error() {
        for (origin, expected) in [
            (
                "/no/such/file",
                "/no/such/file: error: cannot read config file `/no/such/file`: No such file or directory (os error 2)\n  \
                 hint: check the path; a discovery service is given as `HOST:PORT`\n",
            ),
            (
                "http://me:pa55@host:1",
                "config origin: error: the config origin holds a user name or password\n  \
                 hint: take the user name and password out of the URL\n",
            ),
            (
                "k8s",
                "k8s: error: origin `k8s` is not supported by this build: give --cds-server-address or an http:// origin\n  \
                 hint: for example `--cds-server-address 10.0.0.1:13478`, reached by a port-forward or directly\n",
            ),
        ] {
            let report = check_judged(origin, no_problem).await;
            assert_eq!(report.text, expected);
            assert_eq!(report.exit_code(), 1);
        }
        let (text, code) = check_text("", no_problem).await;
        assert!(text.contains(": error: config file"), "{text}");
        assert_eq!(code, 1);
    }

    #[tokio::test]
    async fn turn_uris_are_checked_without_repeating_their_password() {
        for (uri, ok) in [
            ("turn://user:pa55@127.0.0.1:3478", true),
            ("turns://user:pa55@127.0.0.1?transport=udp", true),
            ("turn://127.0.0.1:3478", false),
            ("turn://user:pa55@127.0.0.1:99999", false),
            ("turn://user:pa55@example.com", false),
            ("TURN://user:pa55@127.0.0.1?transport=pa55port", false),
        ] {
            let report = check_judged(uri, no_problem).await;
            assert_eq!(report.exit_code() == 0, ok, "{}", report.text);
            assert!(report.text.starts_with("TURN URI: "), "{}", report.text);
            assert!(!report.text.contains("user:pa55"), "{}", report.text);
        }
    }

    #[tokio::test]
    async fn a_discovery_service_that_is_away_is_named_by_the_url_asked_for() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("bind");
        let address = listener.local_addr().expect("address");
        drop(listener);
        let report = check_judged(&address.to_string(), no_problem).await;
        let place = format!(
            "http://{address}/api/v1/configs/ns/gw: error: cannot connect to `{address}`: "
        );
        assert!(report.text.starts_with(&place), "{}", report.text);
    }
}
