//! Handing a batch to the kernel: one call for many messages, and what to do when one of them
//! is refused.

use std::io;
use std::mem;
use std::net::{IpAddr, SocketAddr};
use std::ops::Range;
use std::os::fd::AsRawFd;

use super::control::Control;
use super::gso::GsoState;
use super::report::SendReport;
use super::send::SendBatch;
use super::socket::UdpSocket;
use crate::sockaddr::RawAddr;

/// The kernel takes at most this many messages per call (`UIO_MAXIOV`).
const MAX_MESSAGES: usize = 1024;

const SEND_FLAGS: libc::c_int = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;

fn last_errno() -> i32 {
    io::Error::last_os_error()
        .raw_os_error()
        .unwrap_or(libc::EIO)
}

/// A piece of a message.
#[repr(transparent)]
#[derive(Debug, Clone, Copy)]
pub(super) struct Gathered(pub(super) libc::iovec);

// SAFETY: the pointer is followed only inside `flush`, while the borrow that `push` took still
// holds; between batches it is a dead value.
unsafe impl Send for Gathered {}

#[repr(transparent)]
#[derive(Clone, Copy)]
struct Header(libc::mmsghdr);

impl std::fmt::Debug for Header {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Header").field(&self.0.msg_len).finish()
    }
}

// SAFETY: as for `Gathered`; every pointer is written anew before a system call reads it.
unsafe impl Send for Header {}

/// The kernel's view of a run of messages.
#[derive(Debug, Default)]
pub(super) struct Wire {
    headers: Vec<Header>,
    names: Vec<RawAddr>,
    controls: Vec<Control>,
}

/// One message to be: where to, from where, cut into segments of what size, made of which pieces.
struct Message {
    to: SocketAddr,
    source: Option<IpAddr>,
    segment: Option<u16>,
    pieces: Range<usize>,
}

impl Wire {
    fn clear(&mut self) {
        self.headers.clear();
        self.names.clear();
        self.controls.clear();
    }

    #[inline]
    fn add(&mut self, message: &Message) {
        let (name, name_len) = RawAddr::encode(&message.to);
        let mut control = Control::ZERO;
        let control_len = control.write(message.source, message.segment);
        // SAFETY: `mmsghdr` is integers and pointers, for which zero is valid.
        let mut header: libc::mmsghdr = unsafe { mem::zeroed() };
        header.msg_hdr.msg_namelen = name_len;
        header.msg_hdr.msg_controllen = control_len as _;
        // The start of the pieces is kept here as an index until `connect` knows their address.
        header.msg_len = message.pieces.start as libc::c_uint;
        header.msg_hdr.msg_iovlen = message.pieces.len() as _;
        self.headers.push(Header(header));
        self.names.push(name);
        self.controls.push(control);
    }

    /// Points the headers at names, control bytes and pieces, once those no longer move.
    #[inline]
    fn connect(&mut self, iovecs: &[Gathered]) {
        let names = self.names.as_mut_ptr();
        let controls = self.controls.as_mut_ptr();
        let pieces: *const libc::iovec = iovecs.as_ptr().cast();
        for (index, Header(header)) in self.headers.iter_mut().enumerate() {
            let message = &mut header.msg_hdr;
            message.msg_name = names.wrapping_add(index).cast();
            message.msg_iov = pieces.wrapping_add(header.msg_len as usize).cast_mut();
            if message.msg_controllen > 0 {
                message.msg_control = controls.wrapping_add(index).cast();
            }
        }
    }

    /// Sends the messages from `start` on; how many were taken, or the errno of the first.
    ///
    /// # Safety
    /// The headers were connected, and what they point to is still there.
    #[inline]
    unsafe fn send(
        &mut self,
        socket: &UdpSocket,
        start: usize,
        report: &mut SendReport,
    ) -> Result<usize, i32> {
        let count = (self.headers.len() - start).min(MAX_MESSAGES);
        let first: *mut libc::mmsghdr = self.headers[start..].as_mut_ptr().cast();
        loop {
            report.calls += 1;
            // SAFETY: `count` headers begin at `first`; the caller vouches for their pointers.
            let result = unsafe {
                if count == 1 {
                    // One message needs no vector of them.
                    let sent =
                        libc::sendmsg(socket.as_raw_fd(), &raw const (*first).msg_hdr, SEND_FLAGS);
                    if sent < 0 { -1 } else { 1 }
                } else {
                    libc::sendmmsg(
                        socket.as_raw_fd(),
                        first,
                        count as libc::c_uint,
                        SEND_FLAGS as _,
                    )
                }
            };
            if result > 0 {
                return Ok(result as usize);
            }
            match last_errno() {
                libc::EINTR => {}
                errno => return Err(errno),
            }
        }
    }
}

impl SendBatch {
    /// Sends a batch of one plain datagram in one piece. Measured on loopback, `sendto` costs about
    /// 0.15 µs less than `sendmsg` and 0.2 µs less than `sendmmsg` (of 3 µs); from two messages on
    /// `sendmmsg` is the cheapest. Returns whether this was such a batch.
    #[inline]
    pub(super) fn send_single(&mut self, socket: &UdpSocket, report: &mut SendReport) -> bool {
        let [group] = &self.groups[..] else {
            return false;
        };
        if group.segments != 1 || (group.from.is_some() && socket.fixed_source().is_none()) {
            return false;
        }
        let (piece, len) = match &self.iovecs[..] {
            [] => (std::ptr::NonNull::<u8>::dangling().as_ptr().cast(), 0),
            [Gathered(piece)] => (piece.iov_base, piece.iov_len),
            _ => return false,
        };
        let (name, name_len) = RawAddr::encode(&group.to);
        let mut pending_error_seen = false;
        loop {
            report.calls += 1;
            // SAFETY: the piece is in the arena or borrowed by the batch; `name` is on the stack.
            let sent = unsafe {
                libc::sendto(
                    socket.as_raw_fd(),
                    piece,
                    len,
                    SEND_FLAGS,
                    (&raw const name).cast(),
                    name_len,
                )
            };
            if sent >= 0 {
                report.sent += 1;
                return true;
            }
            match last_errno() {
                libc::EINTR => {}
                libc::ECONNREFUSED if !pending_error_seen => pending_error_seen = true,
                errno => {
                    report.count_error(errno, 1);
                    return true;
                }
            }
        }
    }

    /// Whether group `index` may leave as one message.
    #[inline]
    pub(super) fn goes_whole(&self, socket: &UdpSocket, index: usize) -> bool {
        let group = &self.groups[index];
        group.segments == 1 || socket.gso.allows(group.segment as u16, group.segments)
    }

    /// Sends the groups of `range`, each as one message.
    #[inline]
    pub(super) fn send_whole(
        &mut self,
        socket: &UdpSocket,
        range: Range<usize>,
        report: &mut SendReport,
    ) {
        let fixed = socket.fixed_source().is_some();
        self.wire.clear();
        for group in &self.groups[range.clone()] {
            self.wire.add(&Message {
                to: group.to,
                source: group.from.filter(|_| !fixed),
                segment: (group.segments > 1).then_some(group.segment as u16),
                pieces: group.first_iovec..group.first_iovec + group.iovecs,
            });
        }
        self.wire.connect(&self.iovecs);
        let mut at = 0;
        let mut retried = false;
        while at < range.len() {
            // SAFETY: connected above; the pieces are in the arena or borrowed by the batch.
            let errno = match unsafe { self.wire.send(socket, at, report) } {
                Ok(taken) => {
                    for group in &self.groups[range.start + at..range.start + at + taken] {
                        report.sent += group.segments as u64;
                    }
                    at += taken;
                    retried = false;
                    continue;
                }
                Err(errno) => errno,
            };
            let index = range.start + at;
            let segments = self.groups[index].segments;
            match errno {
                libc::EAGAIN => {
                    // The buffer is full; the rest would meet the same.
                    let rest = self.groups[index..range.end]
                        .iter()
                        .map(|group| group.segments as u64);
                    report.count_error(errno, rest.sum());
                    return;
                }
                // The kernel reports an earlier datagram's ICMP error in place of sending this one.
                libc::ECONNREFUSED if !retried => {
                    retried = true;
                    continue;
                }
                _ if segments > 1 && GsoState::is_refusal(errno) => {
                    socket.gso.refused(errno, self.groups[index].segment as u16);
                    report.fallbacks += 1;
                    self.send_split(socket, index, report);
                }
                _ => report.count_error(errno, segments as u64),
            }
            retried = false;
            at += 1;
        }
    }

    /// Sends the datagrams of group `index` one by one (in one call, as far as it goes).
    #[cold]
    pub(super) fn send_split(&mut self, socket: &UdpSocket, index: usize, report: &mut SendReport) {
        let group = &self.groups[index];
        let source = group.from.filter(|_| socket.fixed_source().is_none());
        let whole = &self.iovecs[group.first_iovec..group.first_iovec + group.iovecs];
        self.split.clear();
        self.split_iovecs.clear();
        let mut cutter = Cutter {
            pieces: whole,
            skip: 0,
        };
        let mut left = group.bytes;
        for _ in 0..group.segments {
            let size = left.min(group.segment);
            let start = self.split_iovecs.len();
            cutter.cut(size, &mut self.split_iovecs);
            left -= size;
            self.split.add(&Message {
                to: group.to,
                source,
                segment: None,
                pieces: start..self.split_iovecs.len(),
            });
        }
        self.split.connect(&self.split_iovecs);
        let mut at = 0;
        while at < group.segments {
            // SAFETY: connected above; the pieces are parts of the group's own.
            match unsafe { self.split.send(socket, at, report) } {
                Ok(taken) => {
                    report.sent += taken as u64;
                    at += taken;
                }
                Err(libc::EAGAIN) => {
                    report.count_error(libc::EAGAIN, (group.segments - at) as u64);
                    return;
                }
                Err(errno) => {
                    report.count_error(errno, 1);
                    at += 1;
                }
            }
        }
    }
}

/// Cuts a list of pieces into shorter lists.
struct Cutter<'a> {
    pieces: &'a [Gathered],
    /// Bytes of the first piece already given away.
    skip: usize,
}

impl Cutter<'_> {
    fn cut(&mut self, mut bytes: usize, out: &mut Vec<Gathered>) {
        while bytes > 0
            && let Some((Gathered(first), rest)) = self.pieces.split_first()
        {
            let take = bytes.min(first.iov_len - self.skip);
            out.push(Gathered(libc::iovec {
                iov_base: first.iov_base.wrapping_byte_add(self.skip),
                iov_len: take,
            }));
            bytes -= take;
            self.skip += take;
            if self.skip == first.iov_len {
                self.pieces = rest;
                self.skip = 0;
            }
        }
    }
}
