//! An edge-triggered epoll and a waker for other threads.
//!
//! Edge-triggered means: after an event the caller reads or writes until the kernel says
//! `WouldBlock` (or a batch comes back short), or remembers that it did not.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::time::Duration;

/// The caller's own key of a registered file descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Token(pub u64);

/// Which edges a registration reports. Hang-ups and errors are always reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interest {
    Readable,
    Writable,
    Both,
}

impl Interest {
    fn bits(self) -> u32 {
        let edges = match self {
            Self::Readable => libc::EPOLLIN | libc::EPOLLRDHUP,
            Self::Writable => libc::EPOLLOUT,
            Self::Both => libc::EPOLLIN | libc::EPOLLRDHUP | libc::EPOLLOUT,
        };
        (edges | libc::EPOLLET) as u32
    }
}

/// One readiness edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    pub token: Token,
    /// There is something to read: data, the end of the stream, or an error.
    pub readable: bool,
    /// Writing may go on; also set on an error, so that a pending connect is looked at.
    pub writable: bool,
    /// The other side is gone altogether (both directions closed, or an error).
    pub hangup: bool,
}

/// Reusable room for the events of one [`Poller::wait`].
pub struct Events {
    raw: Vec<libc::epoll_event>,
    len: usize,
}

impl std::fmt::Debug for Events {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl Events {
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        Self {
            raw: vec![libc::epoll_event { events: 0, u64: 0 }; capacity.max(1)],
            len: 0,
        }
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub fn iter(&self) -> impl Iterator<Item = Event> + '_ {
        self.raw[..self.len].iter().map(|raw| {
            let (bits, key) = (raw.events, raw.u64);
            let has = |flags: libc::c_int| bits & flags as u32 != 0;
            Event {
                token: Token(key),
                readable: has(libc::EPOLLIN | libc::EPOLLRDHUP | libc::EPOLLHUP | libc::EPOLLERR),
                writable: has(libc::EPOLLOUT | libc::EPOLLHUP | libc::EPOLLERR),
                hangup: has(libc::EPOLLHUP | libc::EPOLLERR),
            }
        })
    }
}

/// An epoll instance.
#[derive(Debug)]
pub struct Poller {
    epoll: OwnedFd,
}

impl Poller {
    pub fn new() -> io::Result<Self> {
        // SAFETY: no memory is involved.
        let fd = check(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
        // SAFETY: `fd` was just created and is owned by nobody else.
        let epoll = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(Self { epoll })
    }

    /// Registers `fd`. If it is ready already, the next [`wait`](Self::wait) says so.
    pub fn add(&self, fd: &impl AsRawFd, token: Token, interest: Interest) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, fd.as_raw_fd(), token, interest)
    }

    /// Changes token and interest; re-arms the edge, so a condition that holds is reported again.
    pub fn modify(&self, fd: &impl AsRawFd, token: Token, interest: Interest) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_MOD, fd.as_raw_fd(), token, interest)
    }

    /// Ends a registration. Closing the last copy of a descriptor does the same.
    pub fn remove(&self, fd: &impl AsRawFd) -> io::Result<()> {
        self.control(
            libc::EPOLL_CTL_DEL,
            fd.as_raw_fd(),
            Token(0),
            Interest::Both,
        )
    }

    fn control(
        &self,
        op: libc::c_int,
        fd: RawFd,
        token: Token,
        interest: Interest,
    ) -> io::Result<()> {
        let mut event = libc::epoll_event {
            events: interest.bits(),
            u64: token.0,
        };
        // SAFETY: `event` lives through the call; a wrong `fd` gives an error.
        check(unsafe { libc::epoll_ctl(self.epoll.as_raw_fd(), op, fd, &mut event) })?;
        Ok(())
    }

    /// Waits for events, at most `timeout` (rounded up to milliseconds; `None` waits for ever).
    /// An interrupting signal ends the wait with no events.
    pub fn wait(&self, events: &mut Events, timeout: Option<Duration>) -> io::Result<usize> {
        let millis = match timeout {
            None => -1,
            Some(timeout) => {
                let millis = timeout.as_nanos().div_ceil(1_000_000);
                libc::c_int::try_from(millis).unwrap_or(libc::c_int::MAX)
            }
        };
        events.len = 0;
        let room = libc::c_int::try_from(events.raw.len()).unwrap_or(libc::c_int::MAX);
        // SAFETY: `raw` has room for `room` events.
        let count = unsafe {
            libc::epoll_wait(
                self.epoll.as_raw_fd(),
                events.raw.as_mut_ptr(),
                room,
                millis,
            )
        };
        match check(count) {
            Ok(count) => events.len = count as usize,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        Ok(events.len)
    }

    /// A waker that makes [`wait`](Self::wait) report `token` as readable.
    pub fn waker(&self, token: Token) -> io::Result<Waker> {
        // SAFETY: no memory is involved.
        let fd = check(unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) })?;
        // SAFETY: `fd` was just created and is owned by nobody else.
        let eventfd = unsafe { OwnedFd::from_raw_fd(fd) };
        self.add(&eventfd, token, Interest::Readable)?;
        Ok(Waker {
            eventfd: Arc::new(eventfd),
        })
    }
}

impl Poller {
    /// A timer that makes [`wait`](Self::wait) report `token` as readable once every `period`, as long as each report
    /// is taken with [`Ticker::take`].
    pub fn ticker(&self, token: Token, period: Duration) -> io::Result<Ticker> {
        let flags = libc::TFD_CLOEXEC | libc::TFD_NONBLOCK;
        // SAFETY: no memory is involved.
        let fd = check(unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, flags) })?;
        // SAFETY: `fd` was just created and is owned by nobody else.
        let timer = unsafe { OwnedFd::from_raw_fd(fd) };
        let period = libc::timespec {
            tv_sec: period.as_secs() as libc::time_t,
            tv_nsec: period.subsec_nanos().into(),
        };
        let setting = libc::itimerspec {
            it_interval: period,
            it_value: period,
        };
        // SAFETY: `setting` lives through the call; the old setting is not wanted.
        check(unsafe {
            libc::timerfd_settime(timer.as_raw_fd(), 0, &setting, std::ptr::null_mut())
        })?;
        self.add(&timer, token, Interest::Readable)?;
        Ok(Ticker { timer })
    }
}

/// A periodic timer. Dropping it ends the ticks.
#[derive(Debug)]
pub struct Ticker {
    timer: OwnedFd,
}

impl Ticker {
    /// Takes the ticks since the last call and returns their number. Linux starts the next period of a timer when its
    /// expiration is read: a tick that is not taken is the last one.
    pub fn take(&self) -> u64 {
        let mut ticks = [0u8; 8];
        // SAFETY: writes at most the eight bytes of `ticks`.
        let read = unsafe {
            libc::read(
                self.timer.as_raw_fd(),
                ticks.as_mut_ptr().cast(),
                ticks.len(),
            )
        };
        match read {
            8 => u64::from_ne_bytes(ticks),
            // Nothing has expired since.
            _ => 0,
        }
    }
}

impl AsFd for Poller {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

impl AsRawFd for Poller {
    fn as_raw_fd(&self) -> RawFd {
        self.epoll.as_raw_fd()
    }
}

/// Wakes a [`Poller`] from any thread. Cheap to clone.
///
/// The counter behind it is never read: with edge triggering each write is an edge of its own, and
/// wakes between two waits fold into one event.
#[derive(Debug, Clone)]
pub struct Waker {
    eventfd: Arc<OwnedFd>,
}

impl Waker {
    /// Cannot fail in a way that matters: a counter at its limit means a wake is pending anyway.
    pub fn wake(&self) {
        let one = 1_u64;
        // SAFETY: eight readable bytes, as eventfd wants.
        unsafe { libc::write(self.eventfd.as_raw_fd(), (&raw const one).cast(), 8) };
    }
}

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticker_ticks_for_as_long_as_its_ticks_are_taken() {
        let poller = Poller::new().expect("poller");
        let ticker = poller
            .ticker(Token(7), Duration::from_millis(5))
            .expect("ticker");
        let mut events = Events::with_capacity(4);
        for _ in 0..10 {
            poller
                .wait(&mut events, Some(Duration::from_secs(5)))
                .expect("wait");
            assert_eq!(events.iter().map(|event| event.token.0).next(), Some(7));
            assert!(ticker.take() >= 1);
        }
    }
}
