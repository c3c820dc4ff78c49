//! What every program of ours shares as a process: how it is told to stop, that its end waits for nothing, and how it
//! speaks to people.
//!
//! What a signal means (drain, give up the lease, stop at once) is each program's own matter; here it is counted.

#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod output;

use std::io;

use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

pub use output::{print, print_only, say};

/// How often the process was asked to stop, by either signal. Counting is a task of its own, so that whatever the
/// process waits for, it can be told to stop waiting.
#[derive(Debug, Clone)]
pub struct Signals {
    count: watch::Receiver<u32>,
}

impl Signals {
    pub fn listen() -> io::Result<Self> {
        let mut term = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let (sender, count) = watch::channel(0);
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    Some(()) = term.recv() => {}
                    Some(()) = interrupt.recv() => {}
                    else => return,
                }
                sender.send_modify(|count| *count += 1);
            }
        });
        Ok(Self { count })
    }

    /// Returns once so many signals have come.
    pub async fn at_least(&self, wanted: u32) {
        let mut count = self.count.clone();
        let came = count.wait_for(|count| *count >= wanted).await.is_ok();
        if !came {
            std::future::pending().await
        }
    }
}

/// Does the work of a program on a runtime of its own. What is under way besides when the work is done, such as a name
/// that is being looked up or a file that hangs, may not be endable, and does not hold up the end.
pub fn block_on<T>(runtime: &mut Builder, work: impl Future<Output = T>) -> io::Result<T> {
    let runtime = runtime.enable_all().build()?;
    let result = runtime.block_on(work);
    runtime.shutdown_background();
    Ok(result)
}
