//! Between `SocketAddr` and the kernel's socket addresses.

use std::mem;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

/// Room for an IPv4 or IPv6 socket address; all-zero bytes are a valid value.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) union RawAddr {
    v4: libc::sockaddr_in,
    v6: libc::sockaddr_in6,
}

impl std::fmt::Debug for RawAddr {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.decode().fmt(f)
    }
}

pub(crate) const RAW_ADDR_LEN: libc::socklen_t = mem::size_of::<RawAddr>() as libc::socklen_t;

impl RawAddr {
    pub(crate) const ZERO: Self = Self {
        v6: libc::sockaddr_in6 {
            sin6_family: 0,
            sin6_port: 0,
            sin6_flowinfo: 0,
            sin6_addr: libc::in6_addr { s6_addr: [0; 16] },
            sin6_scope_id: 0,
        },
    };

    /// The kernel's form of `addr` and the length that goes with it.
    #[inline]
    pub(crate) fn encode(addr: &SocketAddr) -> (Self, libc::socklen_t) {
        match addr {
            SocketAddr::V4(addr) => {
                let mut raw = Self::ZERO;
                raw.v4 = libc::sockaddr_in {
                    sin_family: libc::AF_INET as libc::sa_family_t,
                    sin_port: addr.port().to_be(),
                    sin_addr: in_addr(addr.ip()),
                    sin_zero: [0; 8],
                };
                (raw, mem::size_of::<libc::sockaddr_in>() as libc::socklen_t)
            }
            SocketAddr::V6(addr) => {
                let raw = Self {
                    v6: libc::sockaddr_in6 {
                        sin6_family: libc::AF_INET6 as libc::sa_family_t,
                        sin6_port: addr.port().to_be(),
                        sin6_flowinfo: addr.flowinfo(),
                        sin6_addr: in6_addr(addr.ip()),
                        sin6_scope_id: addr.scope_id(),
                    },
                };
                (raw, mem::size_of::<libc::sockaddr_in6>() as libc::socklen_t)
            }
        }
    }

    /// The address the kernel wrote; `0.0.0.0:0` when it wrote none.
    ///
    /// The flow label is left out: two datagrams of one client may carry different ones, and an
    /// address is what clients are told apart by.
    #[inline]
    pub(crate) fn decode(&self) -> SocketAddr {
        // SAFETY: both variants begin with the family, and any bytes are valid integers.
        let family = libc::c_int::from(unsafe { self.v4.sin_family });
        match family {
            libc::AF_INET => {
                // SAFETY: the family says so; any bytes are a valid `sockaddr_in`.
                let raw = unsafe { self.v4 };
                SocketAddr::V4(SocketAddrV4::new(
                    ipv4(raw.sin_addr),
                    u16::from_be(raw.sin_port),
                ))
            }
            libc::AF_INET6 => {
                // SAFETY: the family says so; any bytes are a valid `sockaddr_in6`.
                let raw = unsafe { self.v6 };
                SocketAddr::V6(SocketAddrV6::new(
                    ipv6(raw.sin6_addr),
                    u16::from_be(raw.sin6_port),
                    0,
                    raw.sin6_scope_id,
                ))
            }
            _ => SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0)),
        }
    }
}

pub(crate) fn in_addr(ip: &Ipv4Addr) -> libc::in_addr {
    libc::in_addr {
        s_addr: u32::from_ne_bytes(ip.octets()),
    }
}

pub(crate) fn in6_addr(ip: &Ipv6Addr) -> libc::in6_addr {
    libc::in6_addr {
        s6_addr: ip.octets(),
    }
}

pub(crate) fn ipv4(raw: libc::in_addr) -> Ipv4Addr {
    Ipv4Addr::from(raw.s_addr.to_ne_bytes())
}

pub(crate) fn ipv6(raw: libc::in6_addr) -> Ipv6Addr {
    Ipv6Addr::from(raw.s6_addr)
}
