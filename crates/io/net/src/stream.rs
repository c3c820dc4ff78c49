//! TCP sockets: non-blocking listeners, accepted connections and outgoing connections from a
//! chosen local address. Connections are plain [`std::net::TcpStream`]s.

use std::io;
use std::mem;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

use socket2::{Domain, Protocol, SockRef, Socket, TcpKeepalive, Type};

use crate::sockaddr::{RAW_ADDR_LEN, RawAddr};

/// How a listener is opened.
#[derive(Debug, Clone, Copy)]
pub struct ListenOptions {
    /// Share the address with other listeners (one per shard, or the relayed address of an
    /// RFC 6062 allocation that connections also leave from).
    pub reuse_port: bool,
    pub backlog: u16,
}

impl Default for ListenOptions {
    fn default() -> Self {
        Self {
            reuse_port: true,
            backlog: 1024,
        }
    }
}

/// A non-blocking TCP listener of one address family.
#[derive(Debug)]
pub struct Listener {
    socket: Socket,
    local: SocketAddr,
}

/// Opens a listener on `addr`.
pub fn listen(addr: SocketAddr, options: &ListenOptions) -> io::Result<Listener> {
    let socket = new_socket(addr, options.reuse_port)?;
    socket.bind(&addr.into())?;
    socket.listen(i32::from(options.backlog))?;
    let local = local_addr(&socket)?;
    Ok(Listener { socket, local })
}

impl Listener {
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// The next connection, ready for use (non-blocking, no delay, keep-alive), or `None` when no
    /// more wait. Connections that died in the queue are passed over. An error concerns the
    /// listener or the process (`EMFILE`, `ENOMEM`): the caller should pause accepting.
    pub fn accept(&self) -> io::Result<Option<(TcpStream, SocketAddr)>> {
        loop {
            let mut raw = RawAddr::ZERO;
            let mut len = RAW_ADDR_LEN;
            // SAFETY: `raw` has room for `len` bytes.
            let fd = unsafe {
                libc::accept4(
                    self.socket.as_raw_fd(),
                    (&raw mut raw).cast(),
                    &mut len,
                    libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC,
                )
            };
            if fd >= 0 {
                // SAFETY: the kernel just made `fd` for us.
                let stream = TcpStream::from(unsafe { OwnedFd::from_raw_fd(fd) });
                configure(&stream);
                return Ok(Some((stream, raw.decode())));
            }
            let error = io::Error::last_os_error();
            match error.raw_os_error() {
                Some(libc::EAGAIN) => return Ok(None),
                // accept(2) hands over errors of the new connection; those are its own.
                Some(
                    libc::EINTR
                    | libc::ECONNABORTED
                    | libc::EPROTO
                    | libc::ENETDOWN
                    | libc::ENOPROTOOPT
                    | libc::EHOSTDOWN
                    | libc::ENONET
                    | libc::EHOSTUNREACH
                    | libc::EOPNOTSUPP
                    | libc::ENETUNREACH
                    | libc::EPERM,
                ) => {}
                _ => return Err(error),
            }
        }
    }
}

impl AsRawFd for Listener {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Starts a connection from `local` (port 0: any) to `peer`. It is complete, or has failed, when
/// the poller reports it writable: ask [`connect_result`].
///
/// With a `local` that a [`Listener`] holds too (both opened for port sharing), the connection
/// leaves from the listener's own address, as RFC 6062 §5.2 wants of the relayed address.
pub fn connect_from(local: SocketAddr, peer: SocketAddr) -> io::Result<TcpStream> {
    let socket = new_socket(peer, true)?;
    socket.bind(&local.into())?;
    match socket.connect(&peer.into()) {
        Ok(()) => {}
        Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => {}
        Err(error) => return Err(error),
    }
    let stream = TcpStream::from(socket);
    configure(&stream);
    Ok(stream)
}

/// What became of a connection attempt: `Ok(true)` connected, `Ok(false)` still under way.
pub fn connect_result(stream: &impl AsFd) -> io::Result<bool> {
    let socket = SockRef::from(stream);
    if let Some(error) = socket.take_error()? {
        return Err(error);
    }
    match socket.peer_addr() {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(false),
        Err(error) => Err(error),
    }
}

/// Makes dropping `stream` send a reset instead of a graceful close.
pub fn reset_on_close(stream: &impl AsFd) {
    let _ = SockRef::from(stream).set_linger(Some(Duration::ZERO));
}

fn new_socket(addr: SocketAddr, reuse_port: bool) -> io::Result<Socket> {
    let socket = Socket::new(
        Domain::for_address(addr),
        Type::STREAM.nonblocking(),
        Some(Protocol::TCP),
    )?;
    if addr.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(reuse_port)?;
    Ok(socket)
}

fn local_addr(socket: &Socket) -> io::Result<SocketAddr> {
    socket
        .local_addr()?
        .as_socket()
        .ok_or_else(|| io::ErrorKind::Unsupported.into())
}

/// Failures are ignored: a connection reset before we got to it shows at the first read.
fn configure(stream: &TcpStream) {
    let socket = SockRef::from(stream);
    let _ = socket.set_tcp_nodelay(true);
    let keepalive = TcpKeepalive::new()
        .with_time(Duration::from_secs(60))
        .with_interval(Duration::from_secs(20))
        .with_retries(3);
    let _ = socket.set_tcp_keepalive(&keepalive);
}

/// Bytes that the kernel holds of `stream` and the peer has not acknowledged yet.
pub fn unsent_bytes(stream: &impl AsRawFd) -> io::Result<usize> {
    let mut bytes: libc::c_int = 0;
    // SAFETY: SIOCOUTQ (= TIOCOUTQ) writes one int.
    let result = unsafe { libc::ioctl(stream.as_raw_fd(), libc::TIOCOUTQ, &mut bytes) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(usize::try_from(bytes).unwrap_or(0))
}

const _: () = assert!(mem::size_of::<RawAddr>() == 28);
