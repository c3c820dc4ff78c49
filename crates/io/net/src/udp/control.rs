//! Control messages: packet info, GRO and GSO sizes. Read and written by hand, because the
//! layout is fixed and the generic walk is the slowest part of receiving a datagram.

use std::mem;
use std::net::IpAddr;
use std::ptr;

use crate::sockaddr::{in_addr, in6_addr, ipv4, ipv6};

const ALIGN: usize = mem::align_of::<libc::cmsghdr>();
const HEADER: usize = align(mem::size_of::<libc::cmsghdr>());

const fn align(len: usize) -> usize {
    len.next_multiple_of(ALIGN)
}

const fn space<T>() -> usize {
    HEADER + align(mem::size_of::<T>())
}

/// Room for packet info (the IPv6 form is the larger) and a segment size.
const ROOM: usize = space::<libc::in6_pktinfo>() + space::<libc::c_int>();

/// Control bytes of one message, aligned as the kernel's headers need.
#[repr(C, align(8))]
#[derive(Debug, Clone, Copy)]
pub(super) struct Control([u8; ROOM]);

pub(super) const CONTROL_LEN: usize = ROOM;

/// What the control messages of a received datagram say.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Told {
    pub(super) local_ip: Option<IpAddr>,
    pub(super) segment: Option<usize>,
}

impl Control {
    pub(super) const ZERO: Self = Self([0; ROOM]);

    /// Reads the first `len` bytes, as the kernel filled them.
    #[inline]
    pub(super) fn read(&self, len: usize) -> Told {
        let bytes = &self.0[..len.min(ROOM)];
        let mut told = Told::default();
        let mut at = 0;
        while at + HEADER <= bytes.len() {
            // SAFETY: a header's bytes are inside `bytes`; any bytes are a valid `cmsghdr`.
            let header: libc::cmsghdr = unsafe { ptr::read_unaligned(bytes[at..].as_ptr().cast()) };
            let total = header.cmsg_len as usize;
            if total < HEADER || at + total > bytes.len() {
                break;
            }
            let data = &bytes[at + HEADER..at + total];
            match (header.cmsg_level, header.cmsg_type) {
                (libc::IPPROTO_IP, libc::IP_PKTINFO) => {
                    // The "specific destination" is a usable source address even when the
                    // datagram was sent to a broadcast address.
                    told.local_ip = read::<libc::in_pktinfo>(data)
                        .map(|info| IpAddr::V4(ipv4(info.ipi_spec_dst)));
                }
                (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO) => {
                    told.local_ip = read::<libc::in6_pktinfo>(data)
                        .map(|info| IpAddr::V6(ipv6(info.ipi6_addr)));
                }
                (libc::SOL_UDP, libc::UDP_GRO) => {
                    told.segment = read::<libc::c_int>(data)
                        .and_then(|size| usize::try_from(size).ok())
                        .filter(|size| *size > 0);
                }
                _ => {}
            }
            at += align(total);
        }
        told
    }

    /// Writes the source address and the segment size to send with; returns the bytes used.
    #[inline]
    pub(super) fn write(&mut self, source: Option<IpAddr>, segment: Option<u16>) -> usize {
        let mut at = 0;
        match source {
            None => {}
            Some(IpAddr::V4(ip)) => {
                let info = libc::in_pktinfo {
                    ipi_ifindex: 0,
                    ipi_spec_dst: in_addr(&ip),
                    ipi_addr: libc::in_addr { s_addr: 0 },
                };
                at += self.put(at, libc::IPPROTO_IP, libc::IP_PKTINFO, info);
            }
            Some(IpAddr::V6(ip)) => {
                let info = libc::in6_pktinfo {
                    ipi6_addr: in6_addr(&ip),
                    ipi6_ifindex: 0,
                };
                at += self.put(at, libc::IPPROTO_IPV6, libc::IPV6_PKTINFO, info);
            }
        }
        if let Some(size) = segment {
            at += self.put(at, libc::SOL_UDP, libc::UDP_SEGMENT, size);
        }
        at
    }

    #[inline]
    fn put<T: Copy>(
        &mut self,
        at: usize,
        level: libc::c_int,
        kind: libc::c_int,
        value: T,
    ) -> usize {
        let room = &mut self.0[at..at + space::<T>()];
        // SAFETY: `cmsghdr` is plain integers, for which zero is valid.
        let mut header: libc::cmsghdr = unsafe { mem::zeroed() };
        header.cmsg_len = (HEADER + mem::size_of::<T>()) as _;
        header.cmsg_level = level;
        header.cmsg_type = kind;
        // SAFETY: `room` holds a header and a value of `T`; writes are unaligned-safe.
        unsafe {
            ptr::write_unaligned(room.as_mut_ptr().cast(), header);
            ptr::write_unaligned(room[HEADER..].as_mut_ptr().cast(), value);
        }
        space::<T>()
    }
}

#[inline]
fn read<T: Copy>(data: &[u8]) -> Option<T> {
    // SAFETY: the length is checked, and `T` is one of the kernel's plain integer structures.
    (data.len() >= mem::size_of::<T>())
        .then(|| unsafe { ptr::read_unaligned(data.as_ptr().cast()) })
}
