//! Receiving: many datagrams, or groups of them, per system call.

use std::io;
use std::mem;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::AsRawFd;

use super::control::{CONTROL_LEN, Control};
use super::socket::UdpSocket;
use crate::mapping::Mapping;
use crate::sockaddr::{RAW_ADDR_LEN, RawAddr};

/// Bytes a slot can take: the largest datagram, and the largest group of datagrams.
pub const SLOT_SIZE: usize = 65_536;
/// Distance of two slots. With a power of two all slots would begin in the same cache set; an odd
/// number of cache lines more spreads them over all sets.
const STRIDE: usize = SLOT_SIZE + 5 * 64;

/// One received datagram, or a run of datagrams of one sender that the kernel handed over
/// together (GRO): all of `segment` bytes, the last possibly shorter.
#[derive(Debug, Clone, Copy)]
pub struct Received<'a> {
    pub from: SocketAddr,
    /// The local address it was sent to; only with [`packet_info`](super::UdpOptions).
    pub local_ip: Option<IpAddr>,
    pub data: &'a [u8],
    /// Size of each datagram in `data`; the length of `data` when there is one.
    pub segment: usize,
    /// Bytes were cut off. Does not happen: a slot takes anything UDP carries.
    pub truncated: bool,
}

impl<'a> Received<'a> {
    /// The datagrams one by one; an empty datagram counts as one.
    pub fn datagrams(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let (data, segment) = (self.data, self.segment.max(1));
        let count = data.len().div_ceil(segment).max(1);
        (0..count).map(move |index| {
            let start = index * segment;
            &data[start..data.len().min(start + segment)]
        })
    }

    /// How many datagrams [`datagrams`](Self::datagrams) gives.
    #[must_use]
    pub fn datagram_count(&self) -> usize {
        self.data.len().div_ceil(self.segment.max(1)).max(1)
    }
}

#[derive(Debug, Clone, Copy)]
struct Meta {
    from: SocketAddr,
    local_ip: Option<IpAddr>,
    len: u32,
    segment: u32,
    truncated: bool,
}

impl Meta {
    const NONE: Self = Self {
        from: SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0),
        local_ip: None,
        len: 0,
        segment: 0,
        truncated: false,
    };
}

/// Receive slots of a shard, allocated once. Pages are touched only as datagrams fill them.
#[derive(Debug)]
pub struct RecvBatch {
    /// Headers, iovecs, names and control bytes, then the slots. Only reached by raw pointers,
    /// since the headers point at the rest.
    memory: Mapping,
    layout: Layout,
    meta: Box<[Meta]>,
}

#[derive(Debug, Clone, Copy)]
struct Layout {
    slots: usize,
    iovecs: usize,
    names: usize,
    controls: usize,
    data: usize,
    len: usize,
}

impl Layout {
    fn new(slots: usize) -> Self {
        let iovecs = slots * mem::size_of::<libc::mmsghdr>();
        let names = iovecs + slots * mem::size_of::<libc::iovec>();
        let controls = (names + slots * mem::size_of::<RawAddr>()).next_multiple_of(64);
        let data = (controls + slots * mem::size_of::<Control>()).next_multiple_of(4096);
        Self {
            slots,
            iovecs,
            names,
            controls,
            data,
            len: data + slots * STRIDE,
        }
    }
}

impl RecvBatch {
    pub fn new(slots: usize) -> io::Result<Self> {
        let layout = Layout::new(slots.max(1));
        let memory = Mapping::new(layout.len)?;
        let batch = Self {
            meta: vec![Meta::NONE; layout.slots].into_boxed_slice(),
            memory,
            layout,
        };
        for slot in 0..layout.slots {
            // SAFETY: `slot` is below `slots`, so every pointer is inside its own part of the
            // mapping, aligned, and exclusively ours.
            unsafe {
                *batch.iovec(slot) = libc::iovec {
                    iov_base: batch.data(slot).cast(),
                    iov_len: SLOT_SIZE,
                };
                let header = &mut (*batch.header(slot)).msg_hdr;
                header.msg_name = batch.name(slot).cast();
                header.msg_namelen = RAW_ADDR_LEN;
                header.msg_iov = batch.iovec(slot);
                header.msg_iovlen = 1;
                header.msg_control = batch.control(slot).cast();
                header.msg_controllen = CONTROL_LEN as _;
            }
        }
        Ok(batch)
    }

    #[must_use]
    pub fn slots(&self) -> usize {
        self.layout.slots
    }

    /// Receives up to `max` datagrams (groups) into the slots from `first_slot` on and returns how
    /// many; 0 when none wait. Fewer than asked for means that the socket was drained.
    /// Slots outside the range keep what they hold, so that several sockets can be read in a row.
    #[inline]
    pub fn recv(&mut self, socket: &UdpSocket, first_slot: usize, max: usize) -> io::Result<usize> {
        let room = self.layout.slots.saturating_sub(first_slot).min(max);
        if room == 0 {
            return Ok(0);
        }
        let count = loop {
            // SAFETY: `room` headers from `first_slot` on lie in the mapping; each was set up by
            // `new` and restored by `settle`, and points to memory that only `&mut self` reaches.
            let count = unsafe {
                libc::recvmmsg(
                    socket.as_raw_fd(),
                    self.header(first_slot),
                    room as libc::c_uint,
                    libc::MSG_DONTWAIT as _,
                    std::ptr::null_mut(),
                )
            };
            if count >= 0 {
                break count as usize;
            }
            let error = io::Error::last_os_error();
            match error.raw_os_error() {
                Some(libc::EAGAIN) => return Ok(0),
                // ICMP errors of earlier sends are reported here on some sockets; they concern
                // no datagram that waits.
                Some(libc::EINTR | libc::ECONNREFUSED | libc::EHOSTUNREACH | libc::ENETUNREACH) => {
                }
                _ => return Err(error),
            }
        };
        for slot in first_slot..first_slot + count {
            self.settle(slot);
        }
        Ok(count)
    }

    /// Takes over what the kernel wrote about `slot` and makes its header ready for reuse.
    #[inline]
    fn settle(&mut self, slot: usize) {
        // SAFETY: `slot` is one of ours; header, name and control bytes are initialised (the
        // mapping begins zeroed) and not shared.
        let (header, name, control) = unsafe {
            (
                &mut *self.header(slot),
                &*self.name(slot),
                &*self.control(slot),
            )
        };
        #[allow(
            clippy::unnecessary_cast,
            reason = "the field is narrower on other targets"
        )]
        let told = control.read(header.msg_hdr.msg_controllen as usize);
        let len = header.msg_len.min(SLOT_SIZE as u32);
        self.meta[slot] = Meta {
            from: name.decode(),
            local_ip: told.local_ip,
            len,
            segment: told.segment.map_or(len, |size| len.min(size as u32)),
            truncated: header.msg_hdr.msg_flags & libc::MSG_TRUNC != 0,
        };
        header.msg_hdr.msg_namelen = RAW_ADDR_LEN;
        header.msg_hdr.msg_controllen = CONTROL_LEN as _;
    }

    /// What the last [`recv`](Self::recv) into `slot` left there; empty if there was none.
    ///
    /// # Panics
    /// When `slot` is not below [`slots`](Self::slots).
    #[inline]
    #[must_use]
    pub fn get(&self, slot: usize) -> Received<'_> {
        let meta = &self.meta[slot];
        Received {
            from: meta.from,
            local_ip: meta.local_ip,
            // SAFETY: `len` is at most SLOT_SIZE, the slot lies in the mapping, its bytes are
            // initialised, and the kernel writes to it only under `&mut self`.
            data: unsafe { std::slice::from_raw_parts(self.data(slot), meta.len as usize) },
            segment: meta.segment as usize,
            truncated: meta.truncated,
        }
    }

    fn header(&self, slot: usize) -> *mut libc::mmsghdr {
        self.memory.at(slot * mem::size_of::<libc::mmsghdr>())
    }

    fn iovec(&self, slot: usize) -> *mut libc::iovec {
        self.memory
            .at(self.layout.iovecs + slot * mem::size_of::<libc::iovec>())
    }

    fn name(&self, slot: usize) -> *mut RawAddr {
        self.memory
            .at(self.layout.names + slot * mem::size_of::<RawAddr>())
    }

    fn control(&self, slot: usize) -> *mut Control {
        self.memory
            .at(self.layout.controls + slot * mem::size_of::<Control>())
    }

    fn data(&self, slot: usize) -> *mut u8 {
        self.memory.at(self.layout.data + slot * STRIDE)
    }
}
