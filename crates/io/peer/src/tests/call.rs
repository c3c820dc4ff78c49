//! A call without a relay between the two ends.

use std::time::{Duration, Instant};

use super::PATIENCE;
use crate::*;

async fn gathered() -> Gathered {
    let gather = Gather {
        loopback: true,
        ..Gather::default()
    };
    gather.candidates().await.expect("candidates")
}

async fn connected() -> (Call, Session) {
    let (offer, offered) = Caller::default().offer(gathered().await).expect("an offer");
    assert!(has_loopback(&offer), "{offer}");
    let answered = EchoPeer::default().answer_from(&offer, gathered().await, Limits::default());
    let (answer, session) = answered.expect("an answer");
    assert!(!answer.contains("a=ice-lite"), "{answer}");
    let call = offered.accept(&answer, PATIENCE).await.expect("a call");
    (call, session)
}

/// Probes, each time in a new call, until a report is as it should be: a machine under load may stand still for longer
/// than packets are waited for, but not every time.
async fn probed(probe: &Probe, is_good: impl Fn(&Report) -> bool) -> Report {
    let until = Instant::now() + 3 * PATIENCE;
    loop {
        let (mut call, session) = connected().await;
        let mut told = 0;
        let report = call.probe(probe, |_| told += 1).await.expect("a report");
        call.close().await;
        session.close().await;
        assert!(told > 0);
        if is_good(&report) {
            return report;
        }
        assert!(Instant::now() < until, "{report:?}");
    }
}

#[tokio::test]
async fn every_packet_comes_back_and_the_pair_is_known() {
    let probe = Probe {
        duration: Duration::from_millis(500),
        ..Probe::default()
    };
    let is_whole = |report: &Report| {
        // One at the start and then one every 20 ms; those that are late are made up for, and never more.
        assert!(report.sent <= 25, "{report:?}");
        report.sent >= 20 && report.lost() == 0
    };
    let report = probed(&probe, is_whole).await;
    assert_eq!(report.loss(), 0.0);
    let times = report.round_trips.expect("times");
    assert!(times.min <= times.median && times.p99 <= times.max);
    let pair = report.selected.expect("a pair");
    assert!(report.local.iter().any(|it| it.address == pair.local));
    assert!(report.remote.iter().any(|it| it.address == pair.remote));
}

#[tokio::test]
async fn a_flood_is_measured_and_not_queued() {
    let probe = Probe {
        rate: 0,
        duration: Duration::from_millis(500),
        size: 100,
    };
    // Twice what a usual probe sends.
    probed(&probe, |report| report.rate() > 100.0).await;
}

#[tokio::test]
async fn the_caller_notices_that_the_other_side_hung_up() {
    let (mut call, session) = connected().await;
    session.close().await;
    let started = Instant::now();
    let ended = call.probe(&Probe::default(), |_| {}).await;
    assert!(matches!(ended, Err(CallError::Closed)), "{ended:?}");
    assert!(started.elapsed() < Duration::from_secs(15));
}

#[tokio::test]
async fn a_peer_that_does_not_answer_is_told_by_its_stage() {
    let (offer, offered) = Caller::default().offer(gathered().await).expect("an offer");
    let answered = EchoPeer::default().answer_from(&offer, gathered().await, Limits::default());
    let (answer, session) = answered.expect("an answer");
    session.close().await;
    let timeout = Duration::from_millis(300);
    let error = offered.accept(&answer, timeout).await.expect_err("no call");
    let stage = match &error {
        CallError::Timeout { stage, .. } => *stage,
        other => panic!("{other}"),
    };
    assert_eq!(stage, Stage::Checks);
    assert!(!error.is_refusal());
    assert!(!error.hint().is_empty());
}

#[tokio::test]
async fn an_answer_that_is_none_is_refused() {
    for answer in ["", "hello", "v=0\r\n"] {
        let (_, offered) = Caller::default().offer(gathered().await).expect("an offer");
        let error = offered.accept(answer, PATIENCE).await.expect_err("refused");
        assert!(matches!(error, CallError::Answer(_)), "{error}");
    }
}

#[tokio::test]
async fn servers_that_give_no_relay_are_named_without_their_credentials() {
    let server = |url: &str| IceServer {
        urls: vec![url.to_owned()],
        username: "user".to_owned(),
        credential: "hidden".to_owned(),
    };
    let gather = Gather {
        servers: vec![
            server("turn:127.0.0.1:1?transport=tcp"),
            server("turn://user:hidden@127.0.0.1:nonsense"),
            server("stun:127.0.0.1:1"),
        ],
        timeout: Duration::from_secs(2),
        ..Gather::default()
    };
    let gathered = gather.candidates().await.expect("addresses of the host");
    assert_eq!(gathered.failures.len(), 2, "{:?}", gathered.failures);
    let relay = Gather {
        policy: TransportPolicy::Relay,
        ..gather
    };
    let error = relay.candidates().await.expect_err("no relay");
    for text in [
        error.to_string(),
        error.hint(),
        format!("{gathered:?} {relay:?}"),
    ] {
        assert!(!text.contains("hidden"), "{text}");
    }
    assert!(
        error.to_string().contains("turn:127.0.0.1:1?transport=tcp"),
        "{error}"
    );
    let nobody = Gather {
        servers: Vec::new(),
        ..relay
    };
    let error = nobody.candidates().await.expect_err("no server");
    assert_eq!(error, GatherError::NoServer);
}
