//! What is told waits here for whoever reads it, so that nobody else does: a terminal that is stopped (Ctrl-S) or a stuck
//! log shipper takes nothing for as long as it pleases, and the gateway serves on meanwhile.

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Bytes that may wait: many thousands of events, and not more than a process can spare.
const CAPACITY: usize = 16 << 20;

/// Where a text goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stream {
    Out,
    /// Where compilers complain.
    Err,
}

/// The way to the thread that writes. Texts come out in the order in which they went in, whichever their stream; when
/// too much waits, the oldest are lost, and how many is told in their place.
#[derive(Clone)]
pub(super) struct Queue {
    shared: Arc<Shared>,
    capacity: usize,
}

#[derive(Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    more: Condvar,
    done: Condvar,
}

#[derive(Default)]
struct Waiting {
    texts: VecDeque<(Stream, String)>,
    bytes: usize,
    /// Texts that were dropped and not yet told of.
    lost: u64,
    is_writing: bool,
}

impl Queue {
    /// `told` says on standard output that so many texts were lost.
    pub(super) fn start(
        out: impl Write + Send + 'static,
        err: impl Write + Send + 'static,
        told: fn(u64) -> String,
    ) -> io::Result<Self> {
        Self::with_capacity(CAPACITY, out, err, told)
    }

    fn with_capacity(
        capacity: usize,
        mut out: impl Write + Send + 'static,
        mut err: impl Write + Send + 'static,
        told: fn(u64) -> String,
    ) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let queue = Arc::clone(&shared);
        thread::Builder::new()
            .name("output".to_owned())
            .spawn(move || {
                loop {
                    let (lost, stream, text) = queue.next();
                    if lost > 0 {
                        write(&mut out, &told(lost));
                    }
                    match stream {
                        Stream::Out => write(&mut out, &text),
                        Stream::Err => write(&mut err, &text),
                    }
                }
            })?;
        Ok(Queue { shared, capacity })
    }

    /// Never waits.
    pub(super) fn send(&self, stream: Stream, text: String) {
        let mut waiting = self.shared.lock();
        waiting.bytes += text.len();
        waiting.texts.push_back((stream, text));
        // The newest stays, however long it is.
        while waiting.bytes > self.capacity && waiting.texts.len() > 1 {
            let dropped = waiting.texts.pop_front();
            waiting.bytes -= dropped.map_or(0, |(_, text)| text.len());
            waiting.lost += 1;
        }
        self.shared.more.notify_one();
    }

    /// Waits until all is written, but not for a reader that is not there.
    pub(super) fn flush(&self, at_most: Duration) {
        let waits = |waiting: &mut Waiting| waiting.is_writing || !waiting.texts.is_empty();
        let waiting = self.shared.lock();
        let flushed = self.shared.done.wait_timeout_while(waiting, at_most, waits);
        drop(flushed);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next text, once there is one, and how many before it were lost.
    fn next(&self) -> (u64, Stream, String) {
        let mut waiting = self.lock();
        waiting.is_writing = false;
        loop {
            if let Some((stream, text)) = waiting.texts.pop_front() {
                waiting.bytes -= text.len();
                waiting.is_writing = true;
                return (std::mem::take(&mut waiting.lost), stream, text);
            }
            self.done.notify_all();
            waiting = self
                .more
                .wait(waiting)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// In one piece, so that a reader never sees half of an event. Nobody has to be there.
fn write(stream: &mut impl Write, text: &str) {
    let _ = stream
        .write_all(text.as_bytes())
        .and_then(|()| stream.flush());
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

    use super::*;

    const FOREVER: Duration = Duration::from_secs(600);

    /// Takes a text when it is let to, and tells when it begins.
    struct Gate {
        began: SyncSender<()>,
        go: Receiver<()>,
        out: io::PipeWriter,
    }

    impl Write for Gate {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _ = self.began.send(());
            let _ = self.go.recv();
            self.out.write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn lost(count: u64) -> String {
        format!("({count} lost)")
    }

    #[test]
    fn both_streams_come_out_in_the_order_of_what_was_said() {
        let (mut read, out) = io::pipe().unwrap();
        let err = out.try_clone().unwrap();
        let queue = Queue::start(out, err, lost).unwrap();
        for number in 0..1000 {
            let stream = [Stream::Out, Stream::Err][number % 2];
            queue.send(stream, format!("{number:03}\n"));
        }
        let mut told = vec![0; 4000];
        read.read_exact(&mut told).unwrap();
        let expected: String = (0..1000).map(|number| format!("{number:03}\n")).collect();
        assert_eq!(String::from_utf8(told).unwrap(), expected);
        queue.flush(FOREVER);
    }

    #[test]
    fn nobody_waits_for_a_reader_and_the_oldest_are_lost() {
        let (mut read, out) = io::pipe().unwrap();
        let (began, begins) = sync_channel(0);
        let (goes, go) = sync_channel(0);
        let gate = Gate { began, go, out };
        let queue = Queue::with_capacity(12, gate, io::sink(), lost).unwrap();
        queue.send(Stream::Out, "first".to_owned());
        begins.recv().unwrap();
        for number in 0..10 {
            queue.send(Stream::Out, format!("text{number}"));
        }
        // It is stuck, which the end waits for only so long.
        queue.flush(Duration::from_millis(1));
        goes.send(()).unwrap();
        for _ in 0..3 {
            begins.recv().unwrap();
            goes.send(()).unwrap();
        }
        queue.flush(FOREVER);
        let mut told = [0; 64];
        let length = read.read(&mut told).unwrap();
        assert_eq!(&told[..length], b"first(8 lost)text8text9");
    }

    #[test]
    fn a_text_that_is_too_long_to_wait_is_told_all_the_same() {
        let (mut read, out) = io::pipe().unwrap();
        let queue = Queue::with_capacity(1, out, io::sink(), lost).unwrap();
        queue.send(Stream::Out, "stopped".to_owned());
        queue.flush(FOREVER);
        let mut told = [0; 64];
        let length = read.read(&mut told).unwrap();
        assert_eq!(&told[..length], b"stopped");
    }
}
