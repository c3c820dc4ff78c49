//! Every request that was recorded from the original service gets the same answer, or one that
//! `docs/compatibility.md` names as different.

use stunner_auth::answer::Gateways;
use stunner_auth::source::documents;
use stunner_credentials::password;

use crate::service::{Answer, NOW, ask, config, service, settings};

const REQUESTS: &str = include_str!("../recorded/requests.txt");
const CONFIGS: &str = include_str!("../recorded/configs.json");
const COMPATIBILITY: &str = include_str!("../../../../../docs/compatibility.md");

/// One request, as the file has it.
#[derive(Debug, Default)]
struct Recording<'t> {
    request: &'t str,
    known: Option<&'t str>,
    public_address: Option<&'t str>,
    header: Option<(&'t str, &'t str)>,
    recorded: &'t str,
    ours: Option<&'t str>,
    because: Option<&'t str>,
}

fn recordings() -> Vec<Recording<'static>> {
    let blocks = REQUESTS.split("\n\n").skip(1);
    blocks
        .map(|block| {
            let mut lines = block.lines();
            let mut recording = Recording {
                request: lines.next().expect("a request"),
                ..Recording::default()
            };
            for line in lines {
                let (key, value) = line.split_once(": ").expect("a key");
                match key {
                    "known" => recording.known = Some(value),
                    "public-address" => recording.public_address = Some(value),
                    "header" => recording.header = value.split_once(": "),
                    "recorded" => recording.recorded = value,
                    "ours" => recording.ours = Some(value),
                    "because" => recording.because = Some(value),
                    _ => panic!("{line}"),
                }
            }
            recording
        })
        .collect()
}

/// The gateways of the recording, or some of them.
fn gateways(known: Option<&str>) -> Gateways {
    let all = documents(CONFIGS);
    let wanted = |name: &str| known.is_none_or(|known| known.split(' ').any(|one| one == name));
    let configs = all.iter().map(|text| config(text));
    configs
        .filter(|config| wanted(&config.admin.name))
        .collect()
}

/// Status and, where it is fine, the body, with times and passwords as the file writes them.
fn shown(answer: &Answer) -> String {
    let status = answer.status.as_u16();
    if status != 200 {
        return status.to_string();
    }
    let mut body = answer.body.trim_end().to_owned();
    let parsed: serde_json::Value = serde_json::from_str(&body).expect("JSON");
    let entries = match &parsed["iceServers"] {
        serde_json::Value::Array(servers) => servers.clone(),
        _ => vec![parsed],
    };
    for entry in entries {
        let username = entry["username"].as_str().expect("a user name");
        if let Some((expiry, user)) = username.split_once(':') {
            let ttl = expiry.parse::<u64>().expect("a time") - NOW;
            body = body.replace(username, &format!("<now+{ttl}>:{user}"));
            body = body.replace(&password("fixture-shared-secret", username), "<password>");
        }
    }
    format!("{status} {body}")
}

async fn answer(recording: &Recording<'_>) -> Answer {
    let settings = settings(recording.public_address);
    let router = service(gateways(recording.known), settings).router();
    let headers: Vec<_> = recording.header.into_iter().collect();
    ask(&router, recording.request, &headers).await
}

#[tokio::test]
async fn recorded_requests_get_the_recorded_answer_or_a_named_other_one() {
    let recordings = recordings();
    assert!(recordings.len() >= 50, "{}", recordings.len());
    for recording in &recordings {
        let answer = shown(&answer(recording).await);
        match recording.ours {
            None => assert_eq!(answer, recording.recorded, "{recording:?}"),
            Some(ours) => {
                assert_eq!(answer, ours, "{recording:?}");
                assert_ne!(
                    answer, recording.recorded,
                    "no longer a difference: {recording:?}"
                );
                let reasons = recording.because.expect("a reason");
                for reason in reasons.split("; ") {
                    let row = format!("| authd: {reason}");
                    assert!(
                        COMPATIBILITY.contains(&row),
                        "not in docs/compatibility.md: {reason}"
                    );
                }
            }
        }
    }
}

#[tokio::test]
async fn bodies_and_headers_are_those_of_the_original_to_the_byte() {
    let router = service(gateways(None), settings(None)).router();
    let udp = ask(
        &router,
        "GET /?service=turn&namespace=stunner&gateway=udp-gateway",
        &[],
    )
    .await;
    assert_eq!(
        udp.header("content-type"),
        Some("application/json; charset=UTF-8")
    );
    // The length that was recorded, newline included.
    assert_eq!(udp.body.len(), 115);
    let refused = ask(&router, "GET /ice", &[]).await;
    assert_eq!(refused.header("x-content-type-options"), Some("nosniff"));
}
