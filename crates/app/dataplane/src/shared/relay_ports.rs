//! Relay sockets: which port an allocation gets, and which ports are held for later.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsRawFd, RawFd};
use std::sync::{Mutex, MutexGuard, PoisonError};

use stunner_config::{PeerTransport, PortRange};
use stunner_net::stream::{self, ListenOptions};
use stunner_net::udp::{UdpOptions, UdpSocket};

use crate::embed::{Host, LiveRelays};

/// How long a port reserved by EVEN-PORT waits for its RESERVATION-TOKEN (RFC 8656 §7.2: at least 30 s).
const RESERVATION_MILLIS: u64 = 30_000;
/// Open files that allocations leave to others, and the part of a small limit that they leave: without them no health
/// check could be answered, and the process would be restarted for having many clients.
const SPARED_FILES: u64 = 64;
const SPARED_PART: u64 = 4;
/// Too many open files, of the process and of the host.
const OUT_OF_FILES: [i32; 2] = [libc::EMFILE, libc::ENFILE];
/// Where even ports are looked for when no range is configured: the dynamic ports of RFC 6335.
const DYNAMIC_PORTS: PortRange = PortRange {
    first: 49_152,
    last: 65_535,
};

/// All ports of the range, once each, from a random place on.
fn shuffled(range: PortRange) -> impl Iterator<Item = u16> {
    let len = (u32::from(range.last) + 1).saturating_sub(u32::from(range.first));
    let start = if len == 0 {
        0
    } else {
        rand::random_range(0..len)
    };
    (0..len).map(move |step| range.first + ((start + step) % len) as u16)
}

/// A relay socket that was just opened.
#[derive(Debug)]
pub struct OpenedRelay {
    pub socket: UdpSocket,
    /// The token of the next higher port, when the client asked to have it reserved.
    pub reservation: Option<[u8; 8]>,
}

/// Opens the relay sockets of one dataplane. Which relay ports are live, the host knows for all dataplanes of the process;
/// a port that another has is skipped.
#[derive(Debug)]
pub struct RelayPortPool {
    host: Host,
    state: Mutex<State>,
    /// Descriptors from this one on are not for relay sockets. The kernel gives the lowest that is free, so a
    /// socket's own number says how many are taken.
    first_spared: RawFd,
}

#[derive(Debug, Default)]
struct State {
    range: Option<PortRange>,
    /// Ports of this pool, with how many sockets each has: one of each family at most.
    open: HashMap<(PeerTransport, u16), u8>,
    reservations: HashMap<[u8; 8], Reservation>,
}

#[derive(Debug)]
struct Reservation {
    socket: UdpSocket,
    port: u16,
    expires_millis: u64,
}

impl RelayPortPool {
    pub fn new(host: Host) -> Self {
        let open_files = host.open_files();
        let spared = SPARED_FILES.min(open_files / SPARED_PART);
        Self {
            host,
            state: Mutex::default(),
            first_spared: RawFd::try_from(open_files - spared).unwrap_or(RawFd::MAX),
        }
    }

    /// Relay ports of all dataplanes of this process.
    pub fn live(&self) -> &LiveRelays {
        self.host.relays()
    }

    fn bind_udp(&self, address: IpAddr, port: u16) -> io::Result<UdpSocket> {
        self.spare(bind_udp(address, port)?)
    }

    fn bind_tcp(&self, address: IpAddr, port: u16) -> io::Result<stream::Listener> {
        self.spare(bind_tcp(address, port)?)
    }

    fn spare<T: AsRawFd>(&self, socket: T) -> io::Result<T> {
        match socket.as_raw_fd() < self.first_spared {
            true => Ok(socket),
            false => Err(io::Error::from_raw_os_error(libc::EMFILE)),
        }
    }

    /// Restricts ports of allocations made from now on.
    pub fn set_range(&self, range: Option<PortRange>) {
        self.lock().range = range;
    }

    /// Opens a relay socket that advertises `address`.
    pub fn open_udp(
        &self,
        address: IpAddr,
        even: bool,
        reserve_next: bool,
        now_millis: u64,
    ) -> io::Result<OpenedRelay> {
        let mut state = self.lock();
        state.expire(self.live(), now_millis);
        let range = match state.range {
            None if !even => {
                let socket = self.bind_udp(address, 0)?;
                state.opened(self.live(), PeerTransport::Udp, socket.local_addr().port());
                return Ok(OpenedRelay {
                    socket,
                    reservation: None,
                });
            }
            None => DYNAMIC_PORTS,
            Some(range) => range,
        };
        for port in shuffled(range) {
            if even && port % 2 == 1 {
                continue;
            }
            let socket = match self.bind_udp(address, port) {
                Ok(socket) => socket,
                Err(error) if is_out_of_files(&error) => return Err(error),
                Err(_) => continue,
            };
            if !reserve_next {
                state.opened(self.live(), PeerTransport::Udp, port);
                return Ok(OpenedRelay {
                    socket,
                    reservation: None,
                });
            }
            // RFC 8656 §7.2: with the R bit the pair is granted or nothing is.
            if port == range.last {
                continue;
            }
            let Ok(next) = self.bind_udp(address, port + 1) else {
                continue;
            };
            state.opened(self.live(), PeerTransport::Udp, port);
            state.opened(self.live(), PeerTransport::Udp, port + 1);
            let token: [u8; 8] = rand::random();
            state.reservations.insert(
                token,
                Reservation {
                    socket: next,
                    port: port + 1,
                    expires_millis: now_millis + RESERVATION_MILLIS,
                },
            );
            return Ok(OpenedRelay {
                socket,
                reservation: Some(token),
            });
        }
        Err(no_port(range))
    }

    /// Takes the socket that was reserved under `token`, once.
    pub fn take_reservation(&self, token: [u8; 8], now_millis: u64) -> Option<UdpSocket> {
        let mut state = self.lock();
        state.expire(self.live(), now_millis);
        state.reservations.remove(&token).map(|held| held.socket)
    }

    /// Opens the listening socket of an RFC 6062 allocation.
    pub fn open_tcp(&self, address: IpAddr) -> io::Result<stream::Listener> {
        let mut state = self.lock();
        let Some(range) = state.range else {
            let listener = self.bind_tcp(address, 0)?;
            state.opened(
                self.live(),
                PeerTransport::Tcp,
                listener.local_addr().port(),
            );
            return Ok(listener);
        };
        // The kernel would let these sockets share a port with others of this process: with relay sockets, of which
        // none may be opened meanwhile, and with listeners.
        let mut live = self.live().lock();
        let listener = shuffled(range)
            .filter(|port| !live.contains(PeerTransport::Tcp, *port))
            .filter(|port| !self.host.is_listening(PeerTransport::Tcp, *port))
            .map(|port| self.bind_tcp(address, port))
            .find(|result| result.as_ref().err().is_none_or(is_out_of_files))
            .unwrap_or_else(|| Err(no_port(range)))?;
        let port = listener.local_addr().port();
        *state.open.entry((PeerTransport::Tcp, port)).or_insert(0) += 1;
        live.opened(PeerTransport::Tcp, port);
        Ok(listener)
    }

    /// Says that a relay socket on `port` is closed.
    pub fn closed(&self, transport: PeerTransport, port: u16) {
        self.lock().closed(self.live(), transport, port);
    }

    /// Closes reserved sockets whose time is over.
    pub fn expire(&self, now_millis: u64) {
        self.lock().expire(self.live(), now_millis);
    }

    /// Gives everything back, once no shard has a relay socket any more.
    pub fn shut(&self) {
        let mut state = self.lock();
        state.reservations.clear();
        let mut live = self.live().lock();
        for ((transport, port), count) in state.open.drain() {
            (0..count).for_each(|_| live.closed(transport, port));
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn opened(&mut self, live: &LiveRelays, transport: PeerTransport, port: u16) {
        *self.open.entry((transport, port)).or_insert(0) += 1;
        live.lock().opened(transport, port);
    }

    fn closed(&mut self, live: &LiveRelays, transport: PeerTransport, port: u16) {
        let Some(count) = self.open.get_mut(&(transport, port)) else {
            return;
        };
        *count -= 1;
        if *count == 0 {
            self.open.remove(&(transport, port));
        }
        live.lock().closed(transport, port);
    }

    fn expire(&mut self, live: &LiveRelays, now_millis: u64) {
        if self.reservations.is_empty() {
            return;
        }
        let expired: Vec<_> = self
            .reservations
            .iter()
            .filter(|(_, held)| held.expires_millis <= now_millis)
            .map(|(token, held)| (*token, held.port))
            .collect();
        for (token, port) in expired {
            self.reservations.remove(&token);
            self.closed(live, PeerTransport::Udp, port);
        }
    }
}

fn no_port(range: PortRange) -> io::Error {
    io::Error::new(
        io::ErrorKind::AddrInUse,
        format!("no free relay port in {range}"),
    )
}

/// No other port would do better.
fn is_out_of_files(error: &io::Error) -> bool {
    let number = error.raw_os_error();
    number.is_some_and(|number| OUT_OF_FILES.contains(&number))
}

fn bind_udp(address: IpAddr, port: u16) -> io::Result<UdpSocket> {
    here_or_anywhere(address, |ip| {
        UdpSocket::bind(SocketAddr::new(ip, port), &UdpOptions::relay())
    })
}

fn bind_tcp(address: IpAddr, port: u16) -> io::Result<stream::Listener> {
    here_or_anywhere(address, |ip| {
        stream::listen(SocketAddr::new(ip, port), &ListenOptions::default())
    })
}

/// The advertised address is bound where it is ours, so that peers see packets come from it on
/// multi-homed hosts. Behind a NAT it is not, and the wildcard address stands in.
fn here_or_anywhere<T>(address: IpAddr, bind: impl Fn(IpAddr) -> io::Result<T>) -> io::Result<T> {
    match bind(address) {
        Err(error) if error.kind() == io::ErrorKind::AddrNotAvailable => bind(match address {
            IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        }),
        result => result,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use stunner_config::admission::RelayPorts;

    use super::*;

    const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    fn pool() -> (RelayPortPool, Arc<RelayPorts>) {
        let host = Host::with_open_files(u64::MAX);
        let live = Arc::clone(host.relays().ports());
        (RelayPortPool::new(host), live)
    }

    #[test]
    fn the_last_open_files_are_not_for_relay_sockets() {
        for range in [None, Some(free_range(4))] {
            let pool = RelayPortPool::new(Host::with_open_files(1));
            pool.set_range(range);
            let error = pool.open_udp(LOOPBACK, false, false, 0).expect_err("none");
            assert!(is_out_of_files(&error), "{error}");
            assert!(is_out_of_files(&pool.open_tcp(LOOPBACK).expect_err("none")));
        }
        let pool = RelayPortPool::new(Host::with_open_files(100_000));
        assert_eq!(pool.first_spared, 100_000 - 64);
        assert!(pool.open_udp(LOOPBACK, false, false, 0).is_ok());
    }

    /// A small range of ports that are free right now.
    fn free_range(len: u16) -> PortRange {
        loop {
            let low = rand::random_range(20_000u16..30_000) & !1;
            let range = PortRange::new(low, low + len - 1);
            let free = (range.first..=range.last)
                .map(|port| std::net::UdpSocket::bind((LOOPBACK, port)))
                .collect::<Result<Vec<_>, _>>();
            if free.is_ok() {
                return range;
            }
        }
    }

    #[test]
    fn an_exhausted_range_is_an_error_and_a_closed_port_is_given_again() {
        let (pool, live) = pool();
        let range = free_range(4);
        pool.set_range(Some(range));
        let mut relays: Vec<_> = (0..4)
            .map(|_| pool.open_udp(LOOPBACK, false, false, 0).unwrap())
            .collect();
        assert!(pool.open_udp(LOOPBACK, false, false, 0).is_err());
        let port = relays.pop().unwrap().socket.local_addr().port();
        assert!(live.contains(PeerTransport::Udp, port));
        pool.closed(PeerTransport::Udp, port);
        assert!(!live.contains(PeerTransport::Udp, port));
        let again = pool.open_udp(LOOPBACK, false, false, 0).unwrap();
        assert_eq!(again.socket.local_addr().port(), port);
    }

    #[test]
    fn rfc8656_7_2_a_reserved_port_is_really_held_and_expires() {
        let (pool, live) = pool();
        pool.set_range(Some(free_range(2)));
        let pair = pool.open_udp(LOOPBACK, true, true, 0).unwrap();
        let port = pair.socket.local_addr().port();
        assert_eq!(port % 2, 0);
        assert!(
            std::net::UdpSocket::bind((LOOPBACK, port + 1)).is_err(),
            "held by a real socket"
        );
        let token = pair.reservation.unwrap();
        assert!(pool.take_reservation(token, 29_999).is_some());
        assert!(
            pool.take_reservation(token, 29_999).is_none(),
            "a token works once"
        );

        pool.closed(PeerTransport::Udp, port + 1);
        pool.closed(PeerTransport::Udp, port);
        drop(pair);
        let pair = pool.open_udp(LOOPBACK, true, true, 50_000).unwrap();
        let token = pair.reservation.unwrap();
        pool.expire(80_000);
        assert!(pool.take_reservation(token, 80_000).is_none());
        assert!(!live.contains(PeerTransport::Udp, port + 1));
    }

    #[test]
    fn pools_on_one_range_skip_each_others_ports() {
        let host = Host::with_open_files(u64::MAX);
        let pools = [(); 2].map(|()| RelayPortPool::new(host.clone()));
        let range = free_range(6);
        let member = host.join("ns/gw");
        let listener = member.claim(PeerTransport::Tcp, range.last).unwrap();
        pools.iter().for_each(|pool| pool.set_range(Some(range)));
        let mut ports = Vec::new();
        let mut sockets = Vec::new();
        for turn in 0..6 {
            let relay = pools[turn % 2].open_udp(LOOPBACK, false, false, 0).unwrap();
            ports.push(relay.socket.local_addr().port());
            sockets.push(relay);
        }
        ports.sort_unstable();
        assert_eq!(ports, (range.first..=range.last).collect::<Vec<_>>());
        assert!(pools[0].open_udp(LOOPBACK, false, false, 0).is_err());

        let listeners: Vec<_> = (0..5)
            .map(|turn| pools[turn % 2].open_tcp(LOOPBACK).unwrap())
            .collect();
        let mut ports: Vec<_> = listeners
            .iter()
            .map(|listener| listener.local_addr().port())
            .collect();
        ports.sort_unstable();
        assert_eq!(ports, (range.first..range.last).collect::<Vec<_>>());
        assert!(
            pools[1].open_tcp(LOOPBACK).is_err(),
            "the last is listened on"
        );
        drop(listener);
        assert!(pools[1].open_tcp(LOOPBACK).is_ok());

        let live = host.relays().ports();
        pools[0].shut();
        let left =
            (range.first..=range.last).filter(|port| live.contains(PeerTransport::Udp, *port));
        assert_eq!(left.count(), 3, "the other pool's");
    }

    #[test]
    fn an_address_that_is_not_ours_is_advertised_from_the_wildcard() {
        let (pool, _) = pool();
        let relay = pool
            .open_udp("198.51.100.7".parse().unwrap(), false, false, 0)
            .unwrap();
        assert!(relay.socket.local_addr().ip().is_unspecified());
    }
}
