//! The rules of the service, one case each, from `tests/rules/`: gateways and a request in, what is handed out.

use serde_json::Value;
use stunner_auth::answer::Gateways;
use stunner_credentials::password;

use crate::service::{Answer, NOW, ask, config, service, settings};

const RULES: &str = include_str!("../rules/rules.txt");
const GATEWAYS: &str = include_str!("../rules/gateways.yaml");

#[derive(Debug)]
struct Case {
    rule: &'static str,
    known: &'static str,
    request: &'static str,
    answer: String,
}

fn cases() -> Vec<Case> {
    let is_rule = |block: &&str| !block.trim_start().starts_with('#');
    let blocks = RULES.split("\n\n").filter(is_rule);
    let case = |block: &'static str| {
        let mut lines = block.lines();
        let mut line = |key: &str| {
            let line = lines.next().unwrap_or_else(|| panic!("{block}"));
            line.strip_prefix(key).unwrap_or_else(|| panic!("{block}"))
        };
        let (rule, known, request) = (line(""), line("  known  "), line("  ask    "));
        let first = line("  get    ");
        let more = lines.map(|line| line.strip_prefix("         ").expect("more of the answer"));
        let answer: Vec<&str> = std::iter::once(first).chain(more).collect();
        Case {
            rule,
            known,
            request,
            answer: answer.join("\n"),
        }
    };
    blocks.map(case).collect()
}

/// The gateways of these names.
fn gateways(names: &str) -> Gateways {
    let text = |name: &str| {
        let begin = format!("# {name}\n---\n");
        let (_, rest) = GATEWAYS
            .split_once(&begin)
            .unwrap_or_else(|| panic!("no gateway {name}"));
        rest.split("\n\n").next().unwrap_or_default()
    };
    let names = names.split_whitespace().filter(|name| *name != "nothing");
    names.map(|name| config(text(name))).collect()
}

/// An answer in the form of the file.
fn shown(answer: &Answer) -> String {
    if answer.status != 200 {
        return answer.status.as_u16().to_string();
    }
    let body: Value = serde_json::from_str(&answer.body).expect("JSON");
    match &body["iceServers"] {
        Value::Array(servers) => {
            let mut lines = vec![
                body["iceTransportPolicy"]
                    .as_str()
                    .expect("a policy")
                    .to_owned(),
            ];
            for server in servers {
                lines.push(pair(server, "credential"));
                lines.extend(uris(server, "urls"));
            }
            lines.join("\n")
        }
        _ => {
            let mut lines = vec![format!("{} {}", pair(&body, "password"), body["ttl"])];
            lines.extend(uris(&body, "uris"));
            lines.join("\n")
        }
    }
}

fn pair(entry: &Value, password_key: &str) -> String {
    let text = |key: &str| entry[key].as_str().expect("a text");
    let (username, proof) = (text("username"), text(password_key));
    match username.split_once(':') {
        Some((expiry, user)) if proof == password("hush", username) => {
            format!(
                "+{}:{user} hush*",
                expiry.parse::<u64>().expect("a time") - NOW
            )
        }
        _ => format!("{username} {proof}"),
    }
}

fn uris(entry: &Value, key: &str) -> Vec<String> {
    let uris = entry[key].as_array().expect("a list").iter();
    uris.map(|uri| format!("  {}", uri.as_str().expect("a text")))
        .collect()
}

#[tokio::test]
async fn every_rule_holds() {
    let cases = cases();
    assert!(cases.len() >= 45, "{}", cases.len());
    let mut wrong = Vec::new();
    for Case {
        rule,
        known,
        request,
        answer,
    } in cases
    {
        let router = service(gateways(known), settings(None)).router();
        let got = shown(&ask(&router, request, &[]).await);
        if got != answer {
            wrong.push(format!(
                "{rule}\n{request}\nexpected:\n{answer}\ngot:\n{got}\n"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_rule_has_a_name_of_its_own() {
    let mut names: Vec<&str> = cases().iter().map(|case| case.rule).collect();
    names.sort_unstable();
    let all = names.len();
    names.dedup();
    assert_eq!(names.len(), all);
}

/// What this service was told beats the configuration, and is beaten by the caller.
#[tokio::test]
async fn the_address_of_the_environment_stands_between_caller_and_configuration() {
    let router = service(gateways("fixed pod"), settings(Some("203.0.113.200"))).router();
    let at = |host: &str| {
        let uri = |transport: &str| format!("\n  turn:{host}:3478?transport={transport}");
        format!("ann pw 86400{}{}{}", uri("udp"), uri("udp"), uri("tcp"))
    };
    let told = shown(&ask(&router, "GET /?service=turn", &[]).await);
    assert_eq!(told, at("203.0.113.200"));
    let said = shown(&ask(&router, "GET /?service=turn&public-addr=203.0.113.9", &[]).await);
    assert_eq!(said, at("203.0.113.9"));
}

/// 487 bytes, an expiry of 20 digits and a colon are the 508 bytes that a USERNAME may have.
#[tokio::test]
async fn a_user_name_must_fit_and_be_printable() {
    let router = service(gateways("timed"), settings(None)).router();
    let status = async |user: &str| {
        let line = format!("GET /?service=turn&username={user}");
        ask(&router, &line, &[]).await.status.as_u16()
    };
    assert_eq!(status(&"x".repeat(487)).await, 200);
    assert_eq!(status(&"x".repeat(488)).await, 400);
    assert_eq!(status(&"%C3%A4".repeat(244)).await, 400, "bytes count");
    for control in ["%00", "a%0Ab", "%1B[2J", "%7F", "%C2%85"] {
        assert_eq!(status(control).await, 400, "{control}");
    }
    assert_eq!(status("%C3%A4%F0%9F%98%80").await, 200);
}

#[tokio::test]
async fn credentials_are_not_to_be_stored() {
    let router = service(gateways("fixed"), settings(None)).router();
    for line in ["GET /?service=turn", "GET /ice?service=turn"] {
        let answer = ask(&router, line, &[]).await;
        assert_eq!(answer.header("cache-control"), Some("no-store"));
    }
}

#[tokio::test]
async fn what_is_refused_says_why_and_what_to_do() {
    let router = service(gateways("fixed"), settings(None)).router();
    for (line, error, hint) in [
        (
            "GET /",
            "the parameter `service` is missing",
            "add `service=turn`",
        ),
        (
            "GET /ice?service=x",
            "there is no service `x`",
            "add `service=turn`",
        ),
        (
            "GET /?service=turn&ttl=0",
            "the ttl `0` is not a time to live",
            "give the seconds that the credential is to be good for, from 1",
        ),
        (
            "GET /ice?service=turn&iceTransportPolicy=x",
            "there is no iceTransportPolicy `x`",
            "give `all`, `public` or `relay`",
        ),
        (
            "PUT /",
            "this path answers to GET only",
            "send a GET request",
        ),
        (
            "GET /nowhere",
            "there is nothing at this path",
            "ask for `/?service=turn` or `/ice?service=turn`; `/openapi.json` describes both",
        ),
    ] {
        let answer = ask(&router, line, &[]).await;
        assert_eq!(
            answer.problem(),
            (error.to_owned(), hint.to_owned()),
            "{line}"
        );
        let allow = (answer.status == 405).then_some("GET");
        assert_eq!(answer.header("allow"), allow, "{line}");
    }
}
