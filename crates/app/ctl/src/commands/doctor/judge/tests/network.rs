//! Faults on the way from here.

use super::*;

#[test]
fn the_network() {
    names(Hop::Dns, "does not resolve", |facts| {
        facts.trials[0].host = "turn.example.test".to_owned();
        facts.trials[0].dns = Asked::Failed("no such name".to_owned());
        facts.trials[0].stun = Tried::Untried;
        facts.trials[0].allocate = Tried::Untried;
    });
    names(Hop::Stun, "is closed", |facts| {
        facts.trials[0].stun = Tried::Closed
    });
    names(Hop::Stun, "UDP is dropped", |facts| {
        facts.trials[0].stun = Tried::Silent
    });
    names(Hop::Stun, "`tcp` at the same address answers", |facts| {
        let mut tcp = trial();
        tcp.listener = "tcp".to_owned();
        tcp.protocol = Protocol::TurnTcp;
        facts.trials[0].stun = Tried::Silent;
        facts.trials.push(tcp);
    });
    names(Hop::Stun, "health check over TCP", |facts| {
        facts.provider = Some(Provider::Aws);
        facts.trials[0].stun = Tried::Silent;
    });
    names(Hop::Allocate, "401", |facts| {
        facts.trials[0].allocate = Tried::Unauthorized
    });
    names(Hop::Allocate, "userQuota", |facts| {
        facts.trials[0].allocate = Tried::Refused {
            code: 486,
            reason: "Quota".to_owned(),
        };
    });
    names(Hop::Peer, "10.0.0.7", |facts| {
        facts.trials[0].peer = Some((
            address("10.0.0.7:0"),
            Tried::Refused {
                code: 403,
                reason: "Forbidden".to_owned(),
            },
        ));
    });
}

fn shown() -> CertificateFacts {
    CertificateFacts {
        subject: "CN=turn".to_owned(),
        names: vec!["turn.example.test".to_owned()],
        not_before: NOW - DAY,
        not_after: NOW + 60 * DAY,
        self_signed: false,
        untrusted: None,
    }
}

fn with_certificate(facts: &mut Facts, change: impl FnOnce(&mut CertificateFacts)) {
    let mut certificate = shown();
    change(&mut certificate);
    facts.trials[0].host = "turn.example.test".to_owned();
    facts.trials[0].protocol = Protocol::TurnTls;
    facts.trials[0].certificate = Tried::Done(certificate);
}

#[test]
fn certificates() {
    names(Hop::Certificate, "expired 3 days ago", |facts| {
        with_certificate(facts, |it| it.not_after = NOW - 3 * DAY);
    });
    names(Hop::Certificate, "not valid yet", |facts| {
        with_certificate(facts, |it| it.not_before = NOW + 1);
    });
    names(Hop::Certificate, "made out to other.test", |facts| {
        with_certificate(facts, |it| it.names = vec!["other.test".to_owned()]);
    });
    type Change = fn(&mut CertificateFacts);
    let warned: [(Change, &str); 3] = [
        (|it| it.not_after = NOW + 5 * DAY, "expires in 5 days"),
        (|it| it.untrusted = Some("no".to_owned()), "does not trust"),
        (
            |it| {
                it.untrusted = Some("no".to_owned());
                it.self_signed = true;
            },
            "self-signed",
        ),
    ];
    let mut facts = healthy();
    with_certificate(&mut facts, |it| {
        it.untrusted = Some("no".to_owned());
        it.self_signed = true;
        it.not_after = NOW + 3 * DAY;
    });
    let said: Vec<String> = judge(&facts)
        .into_iter()
        .filter(|finding| finding.hop == Hop::Certificate)
        .map(|finding| finding.what)
        .collect();
    assert!(
        matches!(said.as_slice(), [one, two] if one.contains("self-signed") && two.contains("expires in 3 days")),
        "{said:?}"
    );
    for (change, word) in warned {
        let mut facts = healthy();
        with_certificate(&mut facts, change);
        let findings = judge(&facts);
        let found = findings
            .iter()
            .find(|finding| finding.hop == Hop::Certificate);
        let found = found.expect("a line");
        assert_eq!(found.verdict, Verdict::Warn, "{found:?}");
        assert!(found.what.contains(word), "{found:?}");
    }
}

#[test]
fn without_the_network_nothing_of_it_is_judged() {
    let mut facts = healthy();
    facts.no_network = true;
    facts.trials.clear();
    let findings = judge(&facts);
    assert_eq!(first_dead(&findings), None);
    assert_eq!(
        findings.last().map(|finding| finding.verdict),
        Some(Verdict::Skipped)
    );
}

#[test]
fn a_server_that_accepts_and_says_nothing_is_told_from_one_behind_a_firewall() {
    names(
        Hop::Stun,
        "accepts the connection and does not answer",
        |facts| {
            facts.trials[0].protocol = Protocol::TurnTcp;
            facts.trials[0].stun = Tried::Mute;
        },
    );
}

#[test]
fn a_server_that_drains_is_to_be_waited_for() {
    let mut facts = healthy();
    facts.trials[0].allocate = Tried::Refused {
        code: 508,
        reason: "Draining, try another server".to_owned(),
    };
    let findings = judge(&facts);
    let found = findings.iter().find(|it| it.hop == Hop::Allocate);
    let hint = found.and_then(|it| it.hint.clone()).expect("a hint");
    assert!(
        hint.contains("rollout") && !hint.contains("port range"),
        "{hint}"
    );
}
