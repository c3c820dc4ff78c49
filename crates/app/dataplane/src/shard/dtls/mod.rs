//! DTLS sessions of a shard. They share the UDP sockets of their port.

mod table;

use stunner_net::dtls::{DtlsError, DtlsSession, Listen, is_client_hello};
use stunner_turn::{ClientPath, FiveTuple};

use super::core::Core;
use super::datagram::{PeerBatch, from_client};
use super::ports::Arrival;
use super::token::{Kind, Token};
pub use table::DtlsTable;
use table::{Route, Session, dtls_tuple};

/// A handshake is given this long.
const HANDSHAKE_MILLIS: u64 = 20_000;
/// A session without an allocation is given this long between datagrams.
const IDLE_MILLIS: u64 = 60_000;
/// A session this quiet gives its record buffers back.
const QUIET_MILLIS: u64 = 5_000;

impl Core {
    /// A datagram on a port that speaks, or spoke, DTLS.
    pub fn dtls_datagram(
        &mut self,
        port: u32,
        ipv6: bool,
        arrival: &Arrival,
        tuple: &FiveTuple,
        datagram: &[u8],
    ) {
        let tuple = dtls_tuple(tuple);
        let known = self.dtls.index_by_tuple.get(&tuple).copied();
        // RFC 6347 §4.2.8: a hello on a live session is a client that has lost its state; it has to
        // show a cookie before the old session goes.
        let restarts = known.is_some_and(|index| {
            is_client_hello(datagram) && !self.dtls.slab[index as usize].dtls.is_handshaking()
        });
        match known {
            Some(index) if !restarts => self.feed_dtls(index, datagram),
            // A draining port shakes hands too: a 508 that can be read ends sooner than silence.
            _ if arrival.accepting || self.server.serves(arrival.listener) => {
                self.dtls_hello(port, ipv6, arrival, tuple, datagram);
            }
            _ => {}
        }
    }

    fn dtls_hello(
        &mut self,
        port: u32,
        ipv6: bool,
        arrival: &Arrival,
        tuple: FiveTuple,
        datagram: &[u8],
    ) {
        let Some((_, listener)) = self.dtls.listeners.get_mut(&port) else {
            return;
        };
        let listen = listener.listen(tuple.client, datagram, &mut self.dtls.out);
        let route = Route {
            port,
            ipv6,
            to: tuple.client,
            from: tuple.local.ip(),
        };
        match listen {
            Listen::Ignored => {}
            Listen::Reply => self.dtls.route(route),
            Listen::Accepted(session) => {
                self.dtls.route(route);
                if let Some(old) = self.dtls.index_by_tuple.get(&tuple).copied() {
                    self.close_dtls(old);
                }
                self.insert_dtls(port, ipv6, arrival, tuple, session);
            }
        }
    }

    fn insert_dtls(
        &mut self,
        port: u32,
        ipv6: bool,
        arrival: &Arrival,
        tuple: FiveTuple,
        dtls: Box<DtlsSession>,
    ) {
        let source = tuple.client.ip();
        if !self.shared.connections.acquire(source) {
            self.tally.connections_refused += 1;
            return;
        }
        if !self.shared.handshakes.acquire(source) {
            self.tally.handshakes_refused += 1;
            self.shared.connections.release(source);
            return;
        }
        let now = self.now.millis;
        let entry = self.dtls.slab.vacant_entry();
        let index = entry.key() as u32;
        entry.insert(Session {
            dtls,
            path: ClientPath {
                tuple,
                listener: arrival.listener,
                link: Token::new(Kind::Dtls, index).link(),
                accepting: arrival.accepting,
            },
            port,
            ipv6,
            opened_millis: now,
            last_read_millis: now,
            handshake_counted: true,
            quiet: false,
        });
        self.dtls.index_by_tuple.insert(tuple, index);
        *self.dtls.sessions_by_port.entry(port).or_insert(0) += 1;
        self.dtls.handshaking.push(index);
        self.dtls.update_deadline(now);
        self.ports.session_began(port);
        self.listener(arrival.listener).opened();
    }

    fn feed_dtls(&mut self, index: u32, datagram: &[u8]) {
        let now = self.now.millis;
        let table = &mut self.dtls;
        let Some(session) = table.slab.get_mut(index as usize) else {
            return;
        };
        session.last_read_millis = now;
        session.quiet = false;
        table.records.clear();
        table.ends.clear();
        let (records, ends) = (&mut table.records, &mut table.ends);
        let result = session.dtls.feed(datagram, &mut table.out, &mut |record| {
            records.extend_from_slice(record);
            ends.push(records.len());
        });
        let route = session.route();
        let path = ClientPath {
            accepting: self.ports.is_accepting(session.port),
            ..session.path
        };
        let closed = session.dtls.peer_closed();
        if session.handshake_counted && !session.dtls.is_handshaking() {
            session.handshake_counted = false;
            self.shared.handshakes.release(path.tuple.client.ip());
            table.handshaking.retain(|other| *other != index);
            table.update_deadline(now);
        }
        table.route(route);
        self.take_records(&path);
        match result {
            Err(error) => self.dtls_failed(index, &error),
            Ok(()) if closed => self.close_dtls(index),
            Ok(()) => {}
        }
    }

    fn take_records(&mut self, path: &ClientPath) {
        if self.dtls.ends.is_empty() {
            return;
        }
        let records = std::mem::take(&mut self.dtls.records);
        let ends = std::mem::take(&mut self.dtls.ends);
        let mut tx = std::mem::take(&mut self.dtls.tx);
        let mut batch = PeerBatch::new(&mut tx);
        let mut start = 0;
        for &end in &ends {
            self.listener(path.listener)
                .received(1, (end - start) as u64);
            from_client(self, &mut batch, path, &records[start..end]);
            start = end;
        }
        batch.flush(self);
        self.dtls.tx = tx;
        self.dtls.records = records;
        self.dtls.ends = ends;
    }

    /// Encrypts `prefix ++ payload ++ pad` as one record.
    pub fn send_over_dtls(&mut self, index: u32, prefix: &[u8], payload: &[u8], pad: usize) {
        let table = &mut self.dtls;
        let Some(session) = table.slab.get_mut(index as usize) else {
            return;
        };
        session.quiet = false;
        self.scratch_message.clear();
        self.scratch_message.extend_from_slice(prefix);
        self.scratch_message.extend_from_slice(payload);
        self.scratch_message.extend_from_slice(&[0; 3][..pad]);
        let result = session.dtls.send(&self.scratch_message, &mut table.out);
        let route = session.route();
        table.route(route);
        match result {
            Ok(()) => {}
            Err(DtlsError::TooBig(_)) => self.tally.too_big += 1,
            Err(error) if error.is_fatal() => self.dtls_failed(index, &error),
            Err(_) => {}
        }
    }

    fn dtls_failed(&mut self, index: u32, error: &DtlsError) {
        if let Some(session) = self.dtls.slab.get(index as usize) {
            if session.handshake_counted {
                self.tally.dtls_handshake_failures += 1;
            }
            tracing::debug!(
                scope = "listener",
                "DTLS session of {} ended: {error}",
                session.path.tuple.client
            );
        }
        self.close_dtls(index);
    }

    /// Ends a session and everything that hangs on it.
    pub fn close_dtls(&mut self, index: u32) {
        let table = &mut self.dtls;
        let Some(mut session) = table.slab.try_remove(index as usize) else {
            return;
        };
        session.dtls.close(&mut table.out);
        table.route(session.route());
        let tuple = session.path.tuple;
        if table.index_by_tuple.get(&tuple) == Some(&index) {
            table.index_by_tuple.remove(&tuple);
        }
        if let Some(count) = table.sessions_by_port.get_mut(&session.port) {
            *count -= 1;
            if *count == 0 {
                table.sessions_by_port.remove(&session.port);
            }
        }
        table.handshaking.retain(|other| *other != index);
        table.update_deadline(self.now.millis);
        self.shared.connections.release(tuple.client.ip());
        if session.handshake_counted {
            self.shared.handshakes.release(tuple.client.ip());
        }
        self.ports.session_ended(session.port);
        self.listener(session.path.listener).closed();
        self.server.client_closed(self.now, &tuple);
        self.run_effects();
    }

    /// Sends what DTLS sessions have produced since the last time.
    pub fn flush_dtls(&mut self) {
        if self.dtls.routes.is_empty() {
            return;
        }
        let mut out = self.replies.begin();
        let mut datagrams = self.dtls.out.iter().zip(&self.dtls.routes).peekable();
        while let Some((datagram, route)) = datagrams.next() {
            if out
                .push(route.to, Some(route.from), &[], datagram, 0)
                .is_err()
            {
                self.tally.too_big += 1;
            }
            let next = datagrams.peek().map(|(_, next)| (next.port, next.ipv6));
            if next != Some((route.port, route.ipv6))
                && let Some(socket) = self.ports.datagram_socket(route.port, route.ipv6)
            {
                self.tally.sends += out.flush(socket);
            }
        }
        drop(datagrams);
        self.dtls.out.clear();
        self.dtls.routes.clear();
    }

    /// Sends flights again whose answer is late.
    pub fn dtls_timeouts(&mut self) {
        if self
            .dtls
            .deadline_millis
            .is_none_or(|deadline| deadline > self.now.millis)
        {
            return;
        }
        for index in self.dtls.handshaking.clone() {
            let table = &mut self.dtls;
            let Some(session) = table.slab.get_mut(index as usize) else {
                continue;
            };
            let result = session.dtls.on_timeout(&mut table.out);
            let route = session.route();
            table.route(route);
            if let Err(error) = result {
                self.dtls_failed(index, &error);
            }
        }
        self.dtls.update_deadline(self.now.millis);
    }

    /// Closes sessions that take too long over something.
    pub fn sweep_dtls(&mut self) {
        let now = self.now.millis;
        let over = |since: u64, limit: u64| now.saturating_sub(since) > limit;
        let late = self.dtls.indices(|session| {
            (session.handshake_counted && over(session.opened_millis, HANDSHAKE_MILLIS))
                || (over(session.last_read_millis, IDLE_MILLIS)
                    && !self.server.has_allocation(&session.path.tuple))
        });
        for index in late {
            self.close_dtls(index);
        }
        for (_, session) in &mut self.dtls.slab {
            if !session.quiet
                && !session.handshake_counted
                && over(session.last_read_millis, QUIET_MILLIS)
            {
                session.quiet = true;
                session.dtls.release_buffers();
            }
        }
    }

    pub fn close_all_dtls(&mut self) {
        for index in self.dtls.indices(|_| true) {
            self.close_dtls(index);
        }
    }
}
