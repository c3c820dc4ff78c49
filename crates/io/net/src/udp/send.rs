//! Sending: queue datagrams without copying their payload, then hand all of them to the kernel.

use std::marker::PhantomData;
use std::net::{IpAddr, SocketAddr};

use super::arena::Arena;
use super::flush::{Gathered, Wire};
use super::gso::{MAX_GROUP, MAX_SEGMENTS};
use super::report::SendReport;
use super::socket::UdpSocket;

/// The largest UDP payload over IPv4, which is what a relay promises for both families.
pub const MAX_DATAGRAM: usize = 65_507;

/// A datagram exceeds [`MAX_DATAGRAM`]; it was not queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a datagram of `{0}` bytes is more than UDP carries")]
pub struct TooBig(pub usize);

static ZEROS: [u8; 3] = [0; 3];

/// Datagrams to one destination that may leave as one segmented message: all of `segment` bytes,
/// the last possibly shorter.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) to: SocketAddr,
    pub(super) from: Option<IpAddr>,
    pub(super) first_iovec: usize,
    pub(super) iovecs: usize,
    pub(super) segments: usize,
    pub(super) segment: usize,
    pub(super) bytes: usize,
    /// Closed by a datagram shorter than the others: none may follow it.
    open: bool,
}

/// The reusable arrays behind [`Outgoing`]; owned by a shard and allocated once.
#[derive(Debug, Default)]
pub struct SendBatch {
    pub(super) groups: Vec<Group>,
    pub(super) iovecs: Vec<Gathered>,
    arena: Arena,
    pub(super) wire: Wire,
    /// For messages that must be cut up again after the kernel refused them whole.
    pub(super) split: Wire,
    pub(super) split_iovecs: Vec<Gathered>,
}

impl SendBatch {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Starts a batch. Payloads pushed to it stay borrowed until it is dropped.
    pub fn begin<'p>(&mut self) -> Outgoing<'_, 'p> {
        self.clear();
        Outgoing {
            batch: self,
            payloads: PhantomData,
        }
    }

    fn clear(&mut self) {
        self.groups.clear();
        self.iovecs.clear();
        self.arena.clear();
    }
}

/// A batch being filled. Dropping it without [`flush`](Self::flush) sends nothing.
#[derive(Debug)]
pub struct Outgoing<'s, 'p> {
    batch: &'s mut SendBatch,
    payloads: PhantomData<&'p [u8]>,
}

impl<'p> Outgoing<'_, 'p> {
    /// Queues the datagram `prefix ++ payload ++ pad zero bytes` to `to`. The prefix is copied, the
    /// payload stays where it is; `pad` is 0 to 3.
    ///
    /// `from` chooses the source address on a socket bound to a wildcard (pass what
    /// [`Received::local_ip`](super::Received) said); elsewhere it is not looked at.
    #[inline]
    pub fn push(
        &mut self,
        to: SocketAddr,
        from: Option<IpAddr>,
        prefix: &[u8],
        payload: &'p [u8],
        pad: usize,
    ) -> Result<(), TooBig> {
        debug_assert!(pad <= ZEROS.len());
        let pad = &ZEROS[..pad.min(ZEROS.len())];
        let size = prefix.len() + payload.len() + pad.len();
        if size > MAX_DATAGRAM {
            return Err(TooBig(size));
        }
        let batch = &mut *self.batch;
        let Ok(copied) = batch.arena.put(prefix) else {
            // Out of address space; nothing a caller could do but lose the datagram.
            return Err(TooBig(size));
        };
        let joined = batch.groups.last_mut().is_some_and(|group| {
            let fits = group.open
                && size != 0
                && size <= group.segment
                && group.segments < MAX_SEGMENTS
                && group.bytes + size <= MAX_GROUP
                && group.to == to
                && group.from == from;
            if fits {
                group.segments += 1;
                group.bytes += size;
                group.open = size == group.segment;
            }
            fits
        });
        if !joined {
            batch.groups.push(Group {
                to,
                from,
                first_iovec: batch.iovecs.len(),
                iovecs: 0,
                segments: 1,
                segment: size,
                bytes: size,
                open: true,
            });
        }
        let first = batch.groups.last().map_or(0, |group| group.first_iovec);
        gather(&mut batch.iovecs, first, copied, prefix.len());
        gather(&mut batch.iovecs, first, payload.as_ptr(), payload.len());
        gather(&mut batch.iovecs, first, pad.as_ptr(), pad.len());
        if let Some(group) = batch.groups.last_mut() {
            group.iovecs = batch.iovecs.len() - first;
        }
        Ok(())
    }

    /// Queues a datagram that is copied whole, such as an answer written to scratch memory.
    #[inline]
    pub fn push_copy(
        &mut self,
        to: SocketAddr,
        from: Option<IpAddr>,
        bytes: &[u8],
    ) -> Result<(), TooBig> {
        self.push(to, from, bytes, &[], 0)
    }

    /// Whether nothing is queued.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.batch.groups.is_empty()
    }

    /// Datagrams queued.
    #[must_use]
    pub fn len(&self) -> usize {
        self.batch.groups.iter().map(|group| group.segments).sum()
    }

    /// Sends what is queued and empties the batch, which can then be filled again. Never blocks:
    /// what the kernel does not take now is dropped and counted.
    pub fn flush(&mut self, socket: &UdpSocket) -> SendReport {
        let mut report = SendReport::default();
        let count = self.batch.groups.len();
        let mut at = 0;
        if self.batch.send_single(socket, &mut report) {
            at = count;
        }
        while at < count {
            at = if self.batch.goes_whole(socket, at) {
                let mut end = at + 1;
                while end < count && self.batch.goes_whole(socket, end) {
                    end += 1;
                }
                self.batch.send_whole(socket, at..end, &mut report);
                end
            } else {
                self.batch.send_split(socket, at, &mut report);
                at + 1
            };
        }
        self.batch.clear();
        report
    }
}

/// Appends `len` bytes at `base`, extending the last piece when they follow it in memory.
#[inline]
fn gather(iovecs: &mut Vec<Gathered>, first: usize, base: *const u8, len: usize) {
    if len == 0 {
        return;
    }
    if iovecs.len() > first
        && let Some(Gathered(last)) = iovecs.last_mut()
        && last.iov_base.wrapping_byte_add(last.iov_len).cast_const() == base.cast()
    {
        last.iov_len += len;
        return;
    }
    iovecs.push(Gathered(libc::iovec {
        iov_base: base.cast_mut().cast(),
        iov_len: len,
    }));
}
