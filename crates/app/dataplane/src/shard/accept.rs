//! Taking in client connections.

use std::net::TcpStream;

use stunner_net::poll::Interest;
use stunner_net::stream as tcp;
use stunner_turn::{ClientPath, ClientTransport, FiveTuple};

use super::command::Mode;
use super::core::Core;
use super::stream::Stream;
use super::token::{Kind, Token};

/// Connections accepted before other sockets have their turn.
const ACCEPT_BATCH: usize = 64;

impl Core {
    /// Accepts what waits. `false` when more may wait.
    pub fn accept_streams(&mut self, port: u32, ipv6: bool) -> bool {
        for _ in 0..ACCEPT_BATCH {
            let Some(listener) = self.ports.stream_socket(port, ipv6) else {
                return true;
            };
            match listener.accept() {
                Ok(None) => return true,
                Ok(Some((socket, _))) => self.accepted(port, socket),
                Err(error) => {
                    tracing::error!(
                        scope = "listener",
                        "cannot accept connections, trying again in a second: {error}; \
                         raise the limit of open files if it is used up"
                    );
                    self.accept_later.push((port, ipv6));
                    return true;
                }
            }
        }
        false
    }

    fn accepted(&mut self, port: u32, socket: TcpStream) {
        // A connection that was reset already has no addresses any more.
        let (Ok(client), Ok(local)) = (socket.peer_addr(), socket.local_addr()) else {
            return;
        };
        let Some(arrival) = self.ports.arrival(port) else {
            return;
        };
        // A draining port takes connections too: clients of live TCP allocations open one for every ConnectionBind
        // (RFC 6062 §4.3). New allocations get their 508 from the TURN server.
        let is_served = arrival.accepting || self.server.serves(arrival.listener);
        if !is_served || !self.shared.connections.acquire(client.ip()) {
            self.tally.connections_refused += 1;
            tcp::reset_on_close(&socket);
            return;
        }
        let tls = match &arrival.mode {
            Mode::Tls(acceptor) => {
                if !self.shared.handshakes.acquire(client.ip()) {
                    self.tally.handshakes_refused += 1;
                    self.shared.connections.release(client.ip());
                    tcp::reset_on_close(&socket);
                    return;
                }
                Some(acceptor.session())
            }
            _ => None,
        };
        let transport = if tls.is_some() {
            ClientTransport::Tls
        } else {
            ClientTransport::Tcp
        };
        let path = ClientPath {
            tuple: FiveTuple {
                transport,
                client,
                local,
            },
            listener: arrival.listener,
            link: Token::new(Kind::Stream, 0).link(),
            accepting: arrival.accepting,
        };
        let now = self.now.millis;
        self.insert_stream(Box::new(Stream::new(socket, tls, path, port, now)));
    }

    /// Takes a connection in and reads what it has.
    pub fn insert_stream(&mut self, mut stream: Box<Stream>) {
        self.ports.session_began(stream.port);
        self.listener(stream.path.listener).opened();
        let entry = self.streams.slab.vacant_entry();
        let token = Token::new(Kind::Stream, entry.key() as u32);
        stream.path.link = token.link();
        stream.dirty = false;
        stream.readable = true;
        let registered = self
            .poller
            .add(&stream.socket, token.for_poll(), Interest::Both);
        entry.insert(stream);
        if let Err(error) = registered {
            tracing::error!(scope = "listener", "cannot watch a connection: {error}");
            self.close_stream(token.index, None);
            return;
        }
        self.streams.unfinished.push(token.index);
    }
}
