//! Opening the listening socket: all of a server's start that can fail.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};

use socket2::{Domain, Protocol, SockRef, Socket, Type};

use crate::address::BindAddress;
use crate::serve::Running;

/// The start of every HTTP server.
#[derive(Debug)]
pub struct HttpServer;

/// A listening socket that nobody accepts from yet.
#[derive(Debug)]
pub struct Bound {
    pub(crate) listener: std::net::TcpListener,
}

impl Bound {
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

impl HttpServer {
    /// Opens the listening socket.
    pub fn bind(address: &BindAddress) -> io::Result<Bound> {
        listen(address, false).map(|listener| Bound { listener })
    }

    /// Opens the listening socket of a server that will take the place of others, also where their addresses overlap
    /// (`:8086` and `127.0.0.1:8086`). They go on until they are stopped, so a reconcile may still turn back.
    pub fn bind_in_place_of(address: &BindAddress, leaving: &[&Running]) -> io::Result<Bound> {
        let taken = match listen(address, false) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => error,
            result => return result.map(|listener| Bound { listener }),
        };
        let here = |running: &&&Running| {
            let local = running.local_addr();
            local.is_ok_and(|local| local.port() == address.port())
        };
        let leaving: Vec<_> = leaving.iter().filter(here).collect();
        if leaving.is_empty() {
            return Err(taken);
        }
        // Sharing is allowed for the moment of binding only: another process must still find the port taken.
        let share = |allowed| {
            let mut sockets = leaving
                .iter()
                .map(|running| SockRef::from(&*running.listener));
            sockets.try_for_each(|socket| socket.set_reuse_port(allowed))
        };
        share(true)?;
        let result = listen(address, true);
        share(false)?;
        let listener = result?;
        SockRef::from(&listener).set_reuse_port(false)?;
        Ok(Bound { listener })
    }
}

fn listen(address: &BindAddress, share_port: bool) -> io::Result<std::net::TcpListener> {
    match address {
        BindAddress::Any { port } => {
            match listen_at((Ipv6Addr::UNSPECIFIED, *port).into(), share_port) {
                // A host without IPv6 has no such socket or no such address.
                Err(error) if error.kind() != io::ErrorKind::AddrInUse => {
                    listen_at((Ipv4Addr::UNSPECIFIED, *port).into(), share_port).map_err(|_| error)
                }
                result => result,
            }
        }
        BindAddress::Socket(address) => listen_at(*address, share_port),
        BindAddress::Name { host, port } => {
            let mut last =
                io::Error::new(io::ErrorKind::NotFound, format!("`{host}` has no address"));
            for address in (host.as_str(), *port).to_socket_addrs()? {
                match listen_at(address, share_port) {
                    Ok(listener) => return Ok(listener),
                    Err(error) => last = error,
                }
            }
            Err(last)
        }
    }
}

fn listen_at(address: SocketAddr, share_port: bool) -> io::Result<std::net::TcpListener> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::STREAM,
        Some(Protocol::TCP),
    )?;
    if address.is_ipv6() {
        // The wildcard serves both families; a given address serves its own.
        socket.set_only_v6(!address.ip().is_unspecified())?;
    }
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(share_port)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    // Every dataplane of a cluster may come back in the same second after an operator's restart.
    socket.listen(1024)?;
    Ok(socket.into())
}
