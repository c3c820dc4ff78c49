//! The load against a server, in one process.

mod scripted;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use scripted::Scripted;
use stunner_load::{
    BurstMode, Direction, Failure, FailureKind, Far, Generator, Load, Outcome, Pace, PeerPlace,
    Protocol, Swarm, Target, Traffic, Transport,
};

const LOCALHOST: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
/// Long enough for everything that comes at all.
const PATIENCE: Duration = Duration::from_secs(30);
const PLENTY: usize = 10_000;
const TRAFFIC: Traffic = Traffic {
    payload: 100,
    burst: 1,
    mode: BurstMode::Mmsg,
    direction: Direction::Both,
};

fn target(server: &Scripted) -> Target {
    Target {
        address: server.address,
        protocol: Protocol::Turn(Transport::Udp),
        username: "user".to_owned(),
        password: "open-sesame".to_owned(),
    }
}

fn load(server: &Scripted, sessions: usize) -> Load {
    Load {
        target: target(server),
        peer: Far::Here(LOCALHOST),
        sessions,
        traffic: TRAFFIC,
        rate: Some(50.0),
        window: 8,
        ramp: Duration::ZERO,
        duration: Duration::from_millis(300),
        threads: 1,
        patience: PATIENCE,
    }
}

/// What all samples come to.
#[derive(Default)]
struct Told {
    measured: Outcome,
    /// Sessions of each thread that carried traffic at last.
    ready: Vec<usize>,
    failures: Vec<Failure>,
}

impl Told {
    /// Follows the load to its end.
    fn by(swarm: Swarm, threads: usize) -> Told {
        let mut told = Told {
            ready: vec![0; threads],
            ..Told::default()
        };
        while let Some(sample) = swarm.next() {
            told.ready[sample.worker] = sample.ready;
            told.failures.extend(sample.failures);
            if sample.is_measured {
                told.measured.merge(&sample.outcome);
            }
        }
        told
    }

    fn failed(&self, kind: FailureKind) -> usize {
        let of_kind = self.failures.iter().filter(|failure| failure.kind == kind);
        of_kind.map(|failure| failure.sessions).sum()
    }
}

#[test]
fn packets_pass_both_ways_and_every_allocation_is_given_back() {
    let server = Scripted::start(PLENTY);
    // More sessions than say goodbye at a time.
    let load = Load {
        threads: 2,
        rate: Some(5.0),
        ..load(&server, 600)
    };
    let told = Told::by(Swarm::start(&load).expect("a load"), 2);
    assert_eq!(told.failures, []);
    assert_eq!(told.ready, [300, 300]);
    for flow in [told.measured.to_peer, told.measured.to_client] {
        assert!(0 < flow.received && flow.received <= flow.sent, "{flow:?}");
    }
    let received = told.measured.total().received;
    assert_eq!(told.measured.latencies.count(), received);
    assert_eq!(server.allocations(), 0);
}

#[test]
fn a_server_that_has_fallen_silent_fails_its_sessions_and_does_not_hold_up_the_end() {
    let server = Scripted::start(PLENTY);
    let load = Load {
        duration: Duration::from_secs(3600),
        ..load(&server, 100)
    };
    let swarm = Swarm::start(&load).expect("a load");
    let is_measuring = std::iter::from_fn(|| swarm.next()).any(|sample| sample.is_measured);
    assert!(is_measuring);
    server.fall_silent();
    swarm.stopper().store(true, Ordering::Relaxed);
    let silent_since = Instant::now();
    let told = Told::by(swarm, 1);
    let took = silent_since.elapsed();
    assert!(
        took < PATIENCE,
        "it takes as long as one session does: {took:?}"
    );
    assert_eq!(told.failed(FailureKind::Lost), 100, "{:?}", told.failures);
    assert_eq!(told.failures.len(), 1, "for one reason");
    assert_eq!(server.allocations(), 100, "it was really silent");
}

#[test]
fn a_server_that_answers_a_goodbye_late_fails_nobody() {
    let server = Scripted::start(PLENTY);
    server.overhear_first_goodbyes();
    let told = Told::by(Swarm::start(&load(&server, 8)).expect("a load"), 1);
    assert_eq!(told.failures, []);
    assert_eq!(server.allocations(), 0);
}

#[test]
fn sessions_that_are_refused_or_get_no_answer_are_counted_by_reason() {
    let server = Scripted::start(3);
    let told = Told::by(Swarm::start(&load(&server, 8)).expect("a load"), 1);
    assert_eq!(told.ready, [3]);
    assert_eq!(
        told.failed(FailureKind::Refused(486)),
        5,
        "{:?}",
        told.failures
    );
    server.fall_silent();
    let load = Load {
        patience: Duration::from_millis(300),
        ..load(&server, 8)
    };
    let told = Told::by(Swarm::start(&load).expect("a load"), 1);
    assert_eq!(told.ready, [0]);
    assert_eq!(told.failed(FailureKind::Silence), 8, "{:?}", told.failures);
    assert_eq!(told.measured.total().sent, 0);
}

#[test]
fn a_load_that_is_stopped_before_its_sessions_are_there_has_measured_nothing() {
    let server = Scripted::start(PLENTY);
    let load = Load {
        ramp: Duration::from_secs(3600),
        ..load(&server, 8)
    };
    let swarm = Swarm::start(&load).expect("a load");
    let is_ready = std::iter::from_fn(|| swarm.next()).any(|sample| sample.ready > 0);
    assert!(is_ready);
    swarm.stopper().store(true, Ordering::Relaxed);
    let told = Told::by(swarm, 1);
    assert_eq!(told.failures, []);
    assert_eq!(told.measured.total().sent, 0);
    assert_eq!(server.allocations(), 0);
}

#[test]
fn one_generator_runs_again_and_again() {
    let server = Scripted::start(PLENTY);
    let peer = PeerPlace::here(SocketAddr::new(LOCALHOST, 0), false).expect("a peer");
    let mut generator = Generator::open(target(&server), peer, 4, false).expect("sessions");
    assert_eq!(server.allocations(), 4);
    for pace in [Pace::Rate(500), Pace::Window(16)] {
        let outcome = generator
            .run(&TRAFFIC, pace, Duration::from_millis(200))
            .expect("a run");
        let total = outcome.total();
        assert!(
            0 < total.received && total.received <= total.sent,
            "{outcome:?}"
        );
    }
    generator.close();
    assert_eq!(server.allocations(), 0);
}
