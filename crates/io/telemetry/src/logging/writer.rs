use std::fmt;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender, TrySendError};
use std::thread;
use std::time::{Duration, Instant};

use tracing::Level;

use super::Format;
use super::limit::{Limiter, Limits};
use super::line::{self, Head};

/// Lines that may wait for the output; some megabytes at the length of a usual line.
const CAPACITY: usize = 8192;
/// How often held-back and lost lines are reported.
const REPORT_EVERY: Duration = Duration::from_secs(1);

/// The way to the thread that writes. Never blocks the sender: a line that finds the queue full is lost and counted.
#[derive(Clone)]
pub(super) struct Queue {
    sender: SyncSender<Item>,
    shared: Arc<Shared>,
}

struct Shared {
    lost: AtomicU64,
    limiter: Limiter,
}

enum Item {
    Line(String),
    /// Answered when everything before it is written.
    Flush(SyncSender<()>),
}

impl Queue {
    pub(super) fn start(
        format: Format,
        limits: Limits,
        output: impl Write + Send + 'static,
    ) -> Self {
        let (sender, receiver) = mpsc::sync_channel(CAPACITY);
        let shared = Arc::new(Shared {
            lost: AtomicU64::new(0),
            limiter: Limiter::new(limits),
        });
        let writer = Writer {
            format,
            output,
            shared: Arc::clone(&shared),
            reported_lost: 0,
        };
        // Without the thread every line counts as lost; there is nowhere to complain to.
        let _ = thread::Builder::new()
            .name("log".into())
            .spawn(move || writer.run(&receiver));
        Queue { sender, shared }
    }

    /// What it holds back, the writer reports.
    pub(super) fn limiter(&self) -> &Limiter {
        &self.shared.limiter
    }

    pub(super) fn send(&self, line: String) {
        if self.sender.try_send(Item::Line(line)).is_err() {
            self.shared.lost.fetch_add(1, Relaxed);
        }
    }

    pub(super) fn lost(&self) -> u64 {
        self.shared.lost.load(Relaxed)
    }

    pub(super) fn flush(&self, at_most: Duration) {
        let deadline = Instant::now() + at_most;
        let (done, written) = mpsc::sync_channel(1);
        let mut item = Item::Flush(done);
        loop {
            match self.sender.try_send(item) {
                Ok(()) => break,
                Err(TrySendError::Full(back)) if Instant::now() < deadline => {
                    item = back;
                    thread::sleep(Duration::from_millis(1));
                }
                Err(_) => return,
            }
        }
        let _ = written.recv_timeout(deadline.saturating_duration_since(Instant::now()));
    }
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue").field("lost", &self.lost()).finish()
    }
}

struct Writer<W> {
    format: Format,
    output: W,
    shared: Arc<Shared>,
    reported_lost: u64,
}

impl<W: Write> Writer<W> {
    fn run(mut self, items: &Receiver<Item>) {
        let mut next_report = Instant::now() + REPORT_EVERY;
        let mut batch = String::new();
        loop {
            match items.recv_timeout(next_report.saturating_duration_since(Instant::now())) {
                Ok(Item::Line(line)) => {
                    batch.push_str(&line);
                    // Take what is waiting too: one write for many lines.
                    while batch.len() < 64 * 1024 {
                        match items.try_recv() {
                            Ok(Item::Line(line)) => batch.push_str(&line),
                            Ok(Item::Flush(done)) => {
                                self.finish(&mut batch, &done);
                                break;
                            }
                            Err(_) => break,
                        }
                    }
                    self.write(&mut batch);
                }
                Ok(Item::Flush(done)) => self.finish(&mut batch, &done),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    self.report(&mut batch);
                    return self.write(&mut batch);
                }
            }
            if Instant::now() >= next_report {
                self.report(&mut batch);
                self.write(&mut batch);
                next_report = Instant::now() + REPORT_EVERY;
            }
        }
    }

    fn finish(&mut self, batch: &mut String, done: &SyncSender<()>) {
        self.report(batch);
        self.write(batch);
        let _ = done.try_send(());
    }

    fn write(&mut self, batch: &mut String) {
        if !batch.is_empty() {
            // Standard output may be closed; a server goes on without it.
            let _ = self
                .output
                .write_all(batch.as_bytes())
                .and_then(|()| self.output.flush());
            batch.clear();
        }
    }

    fn report(&mut self, batch: &mut String) {
        for held in self.shared.limiter.take_held_back() {
            let head = Head::now(held.metadata, &held.scope);
            let message = format!(
                "suppressed {} more lines from here: logged too often",
                held.count
            );
            batch.push_str(&line::of_message(self.format, &head, &message));
        }
        let lost = self.shared.lost.load(Relaxed);
        if lost > self.reported_lost {
            let head = Head::at_place(Level::WARN, file!(), line!(), "stunnerd");
            let message = format!(
                "lost {} log lines: the output is too slow",
                lost - self.reported_lost
            );
            batch.push_str(&line::of_message(self.format, &head, &message));
            self.reported_lost = lost;
        }
    }
}
