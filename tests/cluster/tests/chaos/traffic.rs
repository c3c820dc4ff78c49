//! Sessions through the steady Gateway's dataplane, which must not notice anything.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use interop_tests::client::{Credentials, Incoming, TurnClient, wait_readable};
use interop_tests::config::Transport;

const CHANNEL: u16 = 0x4000;
const INTERVAL: Duration = Duration::from_millis(20);
/// Longer than what a session is joined with.
const PAYLOAD: usize = 160;
/// How long packets may still come in after the last was sent.
const QUIET: Duration = Duration::from_secs(10);

pub fn connect(transport: Transport, server: SocketAddr) -> TurnClient {
    TurnClient::connect(transport, server, "")
        .with_credentials(Credentials::new("user", "user-pass"))
}

struct Session {
    client: TurnClient,
    sent: u32,
    came_back: u32,
    last: Instant,
    /// The longest time without a packet coming back.
    gap: Duration,
    cut: Option<String>,
}

/// A thread that sends on every session until it is stopped.
pub struct Traffic {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Report>,
}

#[derive(Debug, Default)]
pub struct Report {
    pub sessions: usize,
    pub sent: u32,
    pub came_back: u32,
    pub gap: Duration,
    pub cut: Vec<String>,
}

impl Traffic {
    /// Joins `count` sessions on each of the listeners, all with a channel to `peer`.
    pub fn start(count: usize, listeners: &[(Transport, SocketAddr)], peer: SocketAddr) -> Self {
        let mut sessions = Vec::new();
        for &(transport, server) in listeners {
            for _ in 0..count {
                let mut client = connect(transport, server);
                client.join(CHANNEL, peer);
                sessions.push(Session {
                    client,
                    sent: 0,
                    came_back: 0,
                    last: Instant::now(),
                    gap: Duration::ZERO,
                    cut: None,
                });
            }
        }
        let stop = Arc::new(AtomicBool::new(false));
        let thread = std::thread::spawn({
            let stop = stop.clone();
            move || run(sessions, &stop)
        });
        Self { stop, thread }
    }

    pub fn finish(self) -> Report {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().expect("the traffic's thread")
    }
}

fn run(mut sessions: Vec<Session>, stop: &AtomicBool) -> Report {
    let mut next = Instant::now();
    let mut stopped = None;
    loop {
        let now = Instant::now();
        if stop.load(Ordering::Relaxed) {
            let at = *stopped.get_or_insert(now);
            let all_back = sessions
                .iter()
                .all(|session| session.came_back == session.sent);
            if all_back || now > at + QUIET {
                break;
            }
        } else if now >= next {
            next += INTERVAL;
            for session in sessions.iter_mut().filter(|session| session.cut.is_none()) {
                session.send();
            }
        }
        let fds = sessions
            .iter()
            .map(|session| session.client.link.fd())
            .collect::<Vec<_>>();
        wait_readable(&fds, Duration::from_millis(2));
        for session in sessions.iter_mut().filter(|session| session.cut.is_none()) {
            session.receive();
        }
    }
    let mut report = Report {
        sessions: sessions.len(),
        ..Report::default()
    };
    for mut session in sessions {
        // Still there after all that?
        if session.cut.is_none()
            && let Err(refusal) = session.client.refresh(600)
        {
            session.cut = Some(format!("refresh: {refusal:?}"));
        }
        report.sent += session.sent;
        report.came_back += session.came_back;
        report.gap = report.gap.max(session.gap);
        report.cut.extend(session.cut);
    }
    report
}

impl Session {
    fn send(&mut self) {
        let mut payload = [0; PAYLOAD];
        payload[..4].copy_from_slice(&self.sent.to_be_bytes());
        match self.client.send_channel(CHANNEL, &payload) {
            Ok(()) => self.sent += 1,
            Err(error) => self.cut = Some(format!("send: {error:?}")),
        }
    }

    fn receive(&mut self) {
        loop {
            match self.client.poll() {
                Ok(Some(Incoming::Channel(CHANNEL, data))) if data.len() == PAYLOAD => {
                    self.came_back += 1;
                    self.gap = self.gap.max(self.last.elapsed());
                    self.last = Instant::now();
                }
                Ok(Some(_)) => {}
                Ok(None) => return,
                Err(error) => {
                    self.cut = Some(format!("receive: {error:?}"));
                    return;
                }
            }
        }
    }
}
