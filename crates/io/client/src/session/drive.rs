//! The task of a connection.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use stunner_stun::Message;
use stunner_turn::client::Event;
use tokio::time::{Instant, sleep_until};

use super::Shared;
use crate::Lost;
use crate::link::{LinkFault, Reader, Weight};

/// Frames to take before others get a turn.
const BATCH: usize = 64;
/// With nothing to do for the machine, look again after this.
const IDLE: Duration = Duration::from_secs(3600);
/// How long ICMP messages must say that our packets do not arrive until we believe that the server is gone: its
/// restart, or a message that somebody else caused, is over sooner.
const DOUBT_MS: u64 = 1_000;

/// After a question that was raised by silence, so many more spans of silence mean that the server is gone.
const SILENT_SPANS: u32 = 3;

/// Whether what we send is answered by anything at all. A server that forgot us, behind a load balancer that found
/// another, says nothing to data: only a request brings it to light.
#[derive(Debug)]
struct Watch {
    next: Instant,
    silent: u32,
}

/// What became of a batch.
struct Batch {
    /// There may be more.
    more: bool,
    heard: bool,
    /// The last error of the socket that need not be the end.
    doubt: Option<LinkFault>,
}

impl Shared {
    pub(super) async fn drive(self: Arc<Self>, mut reader: Reader) {
        let end = self.run(&mut reader).await;
        let mut core = self.core();
        core.writer.close();
        if let Some(fault) = end {
            let lost = match fault {
                LinkFault::Refused => Lost::ServerGone,
                LinkFault::Silent => Lost::Silent,
                LinkFault::Closed | LinkFault::NotTurn | LinkFault::Io(_) => Lost::Closed,
            };
            core.end = Some(fault);
            let allocated = core.allocated;
            core.fail_all(allocated.then_some(&lost));
            self.lose(lost);
        } else {
            core.end = Some(LinkFault::Closed);
            core.fail_all(Some(&Lost::Released));
            self.lose(Lost::Released);
        }
        drop(core);
        self.arrived.notify_waiters();
        self.attempted.notify_waiters();
    }

    /// `None` when we ended it ourselves.
    async fn run(&self, reader: &mut Reader) -> Option<LinkFault> {
        let timer = sleep_until(Instant::now() + IDLE);
        tokio::pin!(timer);
        let mut more = false;
        let mut doubted_since: Option<u64> = None;
        let mut watch = Watch {
            next: self.deadline(),
            silent: 0,
        };
        loop {
            let (due, unsent) = self.next_step()?;
            let due = due.min(watch.next);
            if timer.deadline() != due {
                timer.as_mut().reset(due);
            }
            if more {
                tokio::task::yield_now().await;
            } else {
                tokio::select! {
                    ready = reader.readable() => {
                        if let Err(fault) = ready {
                            return Some(fault);
                        }
                        more = true;
                    }
                    () = &mut timer => {}
                    () = self.kick.notified() => {}
                    _ = self.socket.writable(), if unsent => {}
                }
            }
            if watch.next <= Instant::now()
                && let Err(fault) = self.look_for_silence(&mut watch)
            {
                return Some(fault);
            }
            if let Err(fault) = self.on_time() {
                return Some(fault);
            }
            if !more {
                continue;
            }
            match self.read(reader) {
                Ok(batch) => {
                    more = batch.more;
                    if batch.heard {
                        doubted_since = None;
                    } else if let Some(fault) = batch.doubt {
                        let now = self.now();
                        match doubted_since {
                            Some(since) if now >= since + DOUBT_MS => return Some(gone(fault)),
                            Some(_) => {}
                            None => {
                                doubted_since = Some(now);
                                self.knock(now);
                            }
                        }
                    }
                }
                Err(fault) => return Some(fault),
            }
        }
    }

    /// When to look again without news, and whether something waits to be written; `None` when it is over.
    fn next_step(&self) -> Option<(Instant, bool)> {
        let core = self.core();
        let deadline = core.machine.next_deadline();
        let mut due = match deadline {
            Some(at) => self.started + Duration::from_millis(at),
            None => Instant::now() + IDLE,
        };
        if let Some(closing) = core.closing {
            let released = core.allocated && core.machine.relayed().is_none();
            if released || closing <= Instant::now() {
                return None;
            }
            due = due.min(closing);
        }
        Some((due, core.writer.has_unsent()))
    }

    fn look_for_silence(&self, watch: &mut Watch) -> Result<(), LinkFault> {
        watch.next = self.deadline();
        let mut core = self.core();
        let (sent, heard) = (
            std::mem::take(&mut core.sent),
            std::mem::take(&mut core.heard),
        );
        if heard || core.machine.relayed().is_none() || !sent && watch.silent == 0 {
            watch.silent = 0;
            return Ok(());
        }
        drop(core);
        watch.silent += 1;
        match watch.silent {
            1 => self.knock(self.now()),
            2..=SILENT_SPANS => {}
            _ => return Err(LinkFault::Silent),
        }
        Ok(())
    }

    /// Is the server still there? A request that is repeated gets more than one chance.
    fn knock(&self, now: u64) {
        let mut core = self.core();
        let _ = core.machine.refresh(now, None);
        let _ = core.transmit();
    }

    /// Timers, and what a full socket has not taken yet.
    fn on_time(&self) -> Result<(), LinkFault> {
        let mut core = self.core();
        let now = self.now();
        if core.machine.next_deadline().is_some_and(|at| at <= now) {
            core.machine.on_timeout(now);
            while let Some(event) = core.machine.poll_event() {
                if let Some(lost) = core.on_event(event, true) {
                    self.lose(lost);
                    self.wake_all();
                }
            }
        }
        let sent = core.transmit().and_then(|()| core.writer.flush());
        self.excuse(core.allocated, sent)
    }

    /// A datagram that could not be sent is a lost one, once the server is known to be there.
    fn excuse(&self, allocated: bool, sent: std::io::Result<()>) -> Result<(), LinkFault> {
        match sent {
            Err(_) if allocated && !self.socket.is_stream() => Ok(()),
            other => Ok(other?),
        }
    }

    /// Before there is an allocation, the first bad news is the answer that somebody waits for.
    fn weigh(&self, fault: &LinkFault) -> Weight {
        match self.socket.is_stream() || !self.core().allocated {
            true => Weight::End,
            false => fault.weight(),
        }
    }

    fn wake_all(&self) {
        self.arrived.notify_waiters();
        self.attempted.notify_waiters();
    }

    fn read(&self, reader: &mut Reader) -> Result<Batch, LinkFault> {
        let mut batch = Batch {
            more: true,
            heard: false,
            doubt: None,
        };
        let mut arrived = false;
        let now = self.now();
        for _ in 0..BATCH {
            let frame = match reader.next() {
                Ok(Some(frame)) => frame,
                Ok(None) => {
                    batch.more = false;
                    break;
                }
                Err(fault) => match self.weigh(&fault) {
                    Weight::Nothing => continue,
                    Weight::Doubt => {
                        batch.doubt = Some(fault);
                        continue;
                    }
                    Weight::End => {
                        if arrived {
                            self.arrived.notify_one();
                        }
                        return Err(fault);
                    }
                },
            };
            batch.heard = true;
            let mut core = self.core();
            core.heard = true;
            match core.machine.handle(now, frame) {
                Event::Data { peer, range } => {
                    drop(core);
                    match self.inbox().push(peer, &frame[range]) {
                        true => arrived = true,
                        false => {
                            self.dropped.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                }
                Event::Ignored => {}
                Event::Unreachable {
                    peer,
                    icmp_type,
                    icmp_code,
                } => {
                    drop(core);
                    tracing::debug!(
                        "{peer} cannot be reached: ICMP type {icmp_type}, code {icmp_code}"
                    );
                    self.undeliverable.fetch_add(1, Ordering::Relaxed);
                }
                event => {
                    if let Some(software) = software(frame) {
                        core.software = Some(software);
                    }
                    let attempt = matches!(event, Event::ConnectionAttempt { .. });
                    if let Some(lost) = core.on_event(event, false) {
                        self.lose(lost);
                        self.wake_all();
                    }
                    let sent = core.transmit();
                    let allocated = core.allocated;
                    drop(core);
                    if attempt {
                        self.attempted.notify_one();
                    }
                    self.excuse(allocated, sent)?;
                }
            }
        }
        if arrived {
            self.arrived.notify_one();
        }
        Ok(batch)
    }
}

/// What a doubt that did not go away comes to.
fn gone(fault: LinkFault) -> LinkFault {
    match fault {
        LinkFault::Refused => LinkFault::Refused,
        _ => LinkFault::Silent,
    }
}

fn software(frame: &[u8]) -> Option<String> {
    let message = Message::parse(frame).ok()?;
    message.software()?.ok().map(str::to_owned)
}
