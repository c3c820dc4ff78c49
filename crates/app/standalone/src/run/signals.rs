//! How the process is told to stop.

use std::io;

use tokio::signal::unix::{self, SignalKind};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// Ctrl-C: whoever sits there does not want to wait.
    Interrupt,
    /// A supervisor: sessions may end in peace.
    Terminate,
}

impl Signal {
    pub fn as_str(self) -> &'static str {
        match self {
            Signal::Interrupt => "SIGINT",
            Signal::Terminate => "SIGTERM",
        }
    }
}

#[derive(Debug)]
pub struct Signals {
    interrupt: unix::Signal,
    terminate: unix::Signal,
}

impl Signals {
    pub fn listen() -> io::Result<Self> {
        // Daemons are sent it to read their files again, which happens here anyway. Without a handler it would end the
        // process, and the handler stays when nobody listens.
        drop(unix::signal(SignalKind::hangup())?);
        Ok(Signals {
            interrupt: unix::signal(SignalKind::interrupt())?,
            terminate: unix::signal(SignalKind::terminate())?,
        })
    }

    pub async fn next(&mut self) -> Signal {
        tokio::select! {
            Some(()) = self.interrupt.recv() => Signal::Interrupt,
            Some(()) = self.terminate.recv() => Signal::Terminate,
            else => std::future::pending().await,
        }
    }
}
