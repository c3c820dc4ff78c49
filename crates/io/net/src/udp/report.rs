//! What became of a batch.

use std::ops::AddAssign;

/// Counts of datagrams by fate. One datagram's failure never takes others with it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SendReport {
    /// Handed to the kernel.
    pub sent: u64,
    /// Dropped because the socket's send buffer was full (`EAGAIN`).
    pub would_block: u64,
    /// Dropped because the kernel had no memory for them (`ENOBUFS`, `ENOMEM`).
    pub no_buffers: u64,
    /// Larger than the path or the socket takes (`EMSGSIZE`).
    pub too_big: u64,
    /// No way to the destination (`EHOSTUNREACH`, `ENETUNREACH`, ...).
    pub unreachable: u64,
    /// A local rule forbids the destination (`EPERM`, `EACCES`).
    pub forbidden: u64,
    /// Anything else, such as a source address that is not ours.
    pub failed: u64,
    /// Segmented messages that the kernel refused and that went out datagram by datagram.
    pub fallbacks: u64,
    /// System calls made.
    pub calls: u64,
    /// The last error seen, for a log line.
    pub last_errno: Option<i32>,
}

impl SendReport {
    /// Datagrams that did not leave.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.would_block
            + self.no_buffers
            + self.too_big
            + self.unreachable
            + self.forbidden
            + self.failed
    }

    pub(super) fn count_error(&mut self, errno: i32, datagrams: u64) {
        self.last_errno = Some(errno);
        *match errno {
            libc::EAGAIN => &mut self.would_block,
            libc::ENOBUFS | libc::ENOMEM => &mut self.no_buffers,
            libc::EMSGSIZE => &mut self.too_big,
            libc::ECONNREFUSED
            | libc::EHOSTUNREACH
            | libc::ENETUNREACH
            | libc::EHOSTDOWN
            | libc::ENETDOWN
            | libc::EADDRNOTAVAIL => &mut self.unreachable,
            libc::EPERM | libc::EACCES => &mut self.forbidden,
            _ => &mut self.failed,
        } += datagrams;
    }
}

impl AddAssign for SendReport {
    fn add_assign(&mut self, other: Self) {
        self.sent += other.sent;
        self.would_block += other.would_block;
        self.no_buffers += other.no_buffers;
        self.too_big += other.too_big;
        self.unreachable += other.unreachable;
        self.forbidden += other.forbidden;
        self.failed += other.failed;
        self.fallbacks += other.fallbacks;
        self.calls += other.calls;
        self.last_errno = other.last_errno.or(self.last_errno);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_is_counted_once_under_its_reason() {
        let mut report = SendReport::default();
        for errno in [
            libc::EAGAIN,
            libc::ENOBUFS,
            libc::EMSGSIZE,
            libc::ENETUNREACH,
            libc::EPERM,
            libc::EINVAL,
        ] {
            report.count_error(errno, 2);
        }
        let counts = (report.would_block, report.no_buffers, report.too_big);
        assert_eq!(counts, (2, 2, 2));
        let counts = (report.unreachable, report.forbidden, report.failed);
        assert_eq!(counts, (2, 2, 2));
        let mut sum = report;
        sum += report;
        assert_eq!((report.dropped(), sum.dropped()), (12, 24));
        assert_eq!(sum.last_errno, Some(libc::EINVAL));
    }
}
