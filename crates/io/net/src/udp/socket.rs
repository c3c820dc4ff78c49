//! The socket and its options.

use std::io;
use std::mem;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

use socket2::{Domain, Protocol, Socket, Type};

use super::gso::GsoState;
use crate::sockaddr::RawAddr;

/// Offset of the drop counter in the array `SO_MEMINFO` gives (`SK_MEMINFO_DROPS`).
const SK_MEMINFO_DROPS: usize = 8;
const SK_MEMINFO_VARS: usize = 9;
/// `SO_MEMINFO` of `asm-generic/socket.h`, which libc does not name on every target.
const SO_MEMINFO: libc::c_int = 55;

/// How a socket is opened.
#[derive(Debug, Clone, Copy)]
pub struct UdpOptions {
    /// Share the address with the sockets of other shards (`SO_REUSEPORT`).
    pub reuse_port: bool,
    /// Report the local address of each datagram, and allow to choose the source of replies.
    pub packet_info: bool,
    /// Let the kernel hand over runs of datagrams of one sender as one group.
    pub gro: bool,
    /// Bytes of kernel buffer for received datagrams; the kernel may grant less.
    pub recv_buffer: Option<usize>,
    /// Bytes of kernel buffer for datagrams being sent.
    pub send_buffer: Option<usize>,
}

impl UdpOptions {
    /// For a socket that clients send to: shared port, packet info, 4 MiB of buffer.
    #[must_use]
    pub const fn listener() -> Self {
        Self {
            reuse_port: true,
            packet_info: true,
            gro: true,
            recv_buffer: Some(4 << 20),
            send_buffer: Some(4 << 20),
        }
    }

    /// For the socket of one allocation: a port of its own on one address.
    #[must_use]
    pub const fn relay() -> Self {
        Self {
            reuse_port: false,
            packet_info: false,
            gro: true,
            recv_buffer: None,
            send_buffer: None,
        }
    }
}

impl Default for UdpOptions {
    fn default() -> Self {
        Self::listener()
    }
}

/// A non-blocking UDP socket of one address family; IPv4-mapped addresses never appear.
#[derive(Debug)]
pub struct UdpSocket {
    socket: Socket,
    local: SocketAddr,
    /// What is known about segmentation offload on this socket's paths.
    pub(super) gso: GsoState,
}

impl UdpSocket {
    /// Binds `addr`. Datagrams leave without the don't-fragment bit.
    pub fn bind(addr: SocketAddr, options: &UdpOptions) -> io::Result<Self> {
        let socket = Socket::new(
            Domain::for_address(addr),
            Type::DGRAM.nonblocking(),
            Some(Protocol::UDP),
        )?;
        if addr.is_ipv6() {
            socket.set_only_v6(true)?;
        }
        if options.reuse_port {
            socket.set_reuse_port(true)?;
        }
        if let Some(bytes) = options.recv_buffer {
            grow_buffer(&socket, libc::SO_RCVBUF, libc::SO_RCVBUFFORCE, bytes);
        }
        if let Some(bytes) = options.send_buffer {
            grow_buffer(&socket, libc::SO_SNDBUF, libc::SO_SNDBUFFORCE, bytes);
        }
        if options.packet_info {
            let (level, name) = if addr.is_ipv6() {
                (libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO)
            } else {
                (libc::IPPROTO_IP, libc::IP_PKTINFO)
            };
            set_option(&socket, level, name, 1)?;
        }
        if options.gro {
            // Kernels before 5.0 have no UDP_GRO; single datagrams are the fallback.
            let _ = set_option(&socket, libc::SOL_UDP, libc::UDP_GRO, 1);
        }
        set_fragmentation(&socket, addr.is_ipv6(), Fragmentation::Allowed)?;
        socket.bind(&addr.into())?;
        let local = socket
            .local_addr()?
            .as_socket()
            .ok_or(io::ErrorKind::Unsupported)?;
        Ok(Self {
            socket,
            local,
            gso: GsoState::default(),
        })
    }

    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// The bound address when it is a specific one; every datagram then leaves from it anyway.
    pub(super) fn fixed_source(&self) -> Option<IpAddr> {
        Some(self.local.ip()).filter(|ip| !ip.is_unspecified())
    }

    /// Turns merging of datagrams into segmentation offload on or off (on at first).
    pub fn set_segmentation(&self, enabled: bool) {
        self.gso.set_enabled(enabled);
    }

    /// Datagrams the kernel dropped on this socket since it was opened, mostly for want of buffer.
    /// Wraps at 2^32, as the kernel's counter does.
    pub fn kernel_drops(&self) -> io::Result<u32> {
        let mut info = [0_u32; SK_MEMINFO_VARS];
        let mut len = mem::size_of_val(&info) as libc::socklen_t;
        // SAFETY: `info` has room for `len` bytes.
        let result = unsafe {
            libc::getsockopt(
                self.as_raw_fd(),
                libc::SOL_SOCKET,
                SO_MEMINFO,
                info.as_mut_ptr().cast(),
                &mut len,
            )
        };
        if result < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(info[SK_MEMINFO_DROPS])
    }

    /// Bytes of receive buffer the kernel granted (it counts bookkeeping, so twice the request).
    pub fn recv_buffer(&self) -> io::Result<usize> {
        self.socket.recv_buffer_size()
    }

    /// Sends one datagram with the don't-fragment bit set (RFC 8656 §12, DONT-FRAGMENT). A
    /// datagram beyond the path MTU fails with `EMSGSIZE`.
    pub fn send_dont_fragment(&self, to: SocketAddr, payload: &[u8]) -> io::Result<()> {
        let v6 = self.local.is_ipv6();
        set_fragmentation(&self.socket, v6, Fragmentation::Forbidden)?;
        let sent = self.send_to(to, payload);
        set_fragmentation(&self.socket, v6, Fragmentation::Allowed)?;
        sent
    }

    /// Sends one datagram. Prefer a [`SendBatch`](super::SendBatch) where there may be several.
    pub fn send_to(&self, to: SocketAddr, payload: &[u8]) -> io::Result<()> {
        let (raw, len) = RawAddr::encode(&to);
        // SAFETY: payload and address are readable for the lengths given.
        let sent = unsafe {
            libc::sendto(
                self.as_raw_fd(),
                payload.as_ptr().cast(),
                payload.len(),
                libc::MSG_NOSIGNAL,
                (&raw const raw).cast(),
                len,
            )
        };
        if sent < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }
}

impl AsRawFd for UdpSocket {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

impl AsFd for UdpSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[derive(Clone, Copy)]
enum Fragmentation {
    Allowed,
    Forbidden,
}

fn set_fragmentation(socket: &Socket, v6: bool, how: Fragmentation) -> io::Result<()> {
    let (level, name, value) = match (v6, how) {
        (false, Fragmentation::Allowed) => (
            libc::IPPROTO_IP,
            libc::IP_MTU_DISCOVER,
            libc::IP_PMTUDISC_DONT,
        ),
        (false, Fragmentation::Forbidden) => (
            libc::IPPROTO_IP,
            libc::IP_MTU_DISCOVER,
            libc::IP_PMTUDISC_DO,
        ),
        (true, Fragmentation::Allowed) => (
            libc::IPPROTO_IPV6,
            libc::IPV6_MTU_DISCOVER,
            libc::IPV6_PMTUDISC_DONT,
        ),
        (true, Fragmentation::Forbidden) => (
            libc::IPPROTO_IPV6,
            libc::IPV6_MTU_DISCOVER,
            libc::IPV6_PMTUDISC_DO,
        ),
    };
    set_option(socket, level, name, value)
}

/// Asks beyond the system's limit first (needs CAP_NET_ADMIN), then within it.
fn grow_buffer(socket: &Socket, name: libc::c_int, force: libc::c_int, bytes: usize) {
    let bytes = libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX);
    if set_option(socket, libc::SOL_SOCKET, force, bytes).is_err() {
        let _ = set_option(socket, libc::SOL_SOCKET, name, bytes);
    }
}

fn set_option(
    socket: &Socket,
    level: libc::c_int,
    name: libc::c_int,
    value: libc::c_int,
) -> io::Result<()> {
    // SAFETY: the option value is one readable int.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            (&raw const value).cast(),
            mem::size_of_val(&value) as libc::socklen_t,
        )
    };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
