//! All client connections of a shard: reading, framing, writing, timing out.

use slab::Slab;
use stunner_net::udp::SendBatch;
use stunner_stun::framing::next_frame;
use stunner_turn::ClientPath;

use super::command::Command;
use super::core::Core;
use super::datagram::{Outcome, PeerBatch, from_client};
use super::stream::{Role, Stream, StreamError};

/// Reads of one connection before others have their turn.
const READ_ROUNDS: usize = 8;

/// An unfinished TLS handshake or an unfinished message is given this long.
const PATIENCE_MILLIS: u64 = 10_000;
/// A connection without an allocation is given this long between messages.
const IDLE_MILLIS: u64 = 60_000;
/// A client that takes nothing of what waits for it is given this long.
const STALLED_MILLIS: u64 = 30_000;

/// Connections by index, and those with something to write.
#[derive(Debug, Default)]
pub struct Streams {
    pub slab: Slab<Box<Stream>>,
    dirty: Vec<u32>,
    /// Connections that used up their share of reads.
    pub unfinished: Vec<u32>,
}

impl Core {
    /// A client's socket is ready for something.
    pub fn stream_ready(&mut self, tx: &mut SendBatch, index: u32, readable: bool, writable: bool) {
        let Some(stream) = self.streams.slab.get_mut(index as usize) else {
            return;
        };
        stream.readable |= readable;
        if writable && stream.backlog() > 0 {
            self.mark_dirty(index);
        }
        self.read_stream(tx, index);
    }

    /// Whether connections wait for their next turn.
    pub fn has_stream_work(&self) -> bool {
        !self.streams.unfinished.is_empty() || !self.pumps.is_empty()
    }

    /// Gives connections that used up their share another turn.
    pub fn continue_streams(&mut self, tx: &mut SendBatch) {
        for index in std::mem::take(&mut self.streams.unfinished) {
            self.read_stream(tx, index);
        }
        for connection in std::mem::take(&mut self.pumps) {
            self.pump(connection);
        }
    }

    /// Reads and handles what a connection has.
    pub fn read_stream(&mut self, tx: &mut SendBatch, index: u32) {
        for _ in 0..READ_ROUNDS {
            let Some(stream) = self.streams.slab.get_mut(index as usize) else {
                return;
            };
            if let Role::Data(connection) = stream.role {
                self.pump(connection);
                return;
            }
            if !stream.readable || stream.closing {
                return;
            }
            let mut plaintext = std::mem::take(&mut self.plaintext);
            plaintext.clear();
            plaintext.append(&mut stream.inbox);
            let result = stream.read(&mut self.scratch, &mut plaintext, self.now.millis);
            self.handshake_progress(index);
            let taken = match self.take_frames(tx, index, &plaintext) {
                Ok(taken) => taken,
                Err(outcome) => {
                    self.plaintext = plaintext;
                    if outcome == Outcome::Close {
                        self.close_stream(index, None);
                    }
                    return;
                }
            };
            let now = self.now.millis;
            if let Some(stream) = self.streams.slab.get_mut(index as usize) {
                stream.inbox.extend_from_slice(&plaintext[taken..]);
                let partial = !stream.inbox.is_empty() && stream.role == Role::Control;
                let waited = stream.partial_since_millis.filter(|_| taken == 0);
                stream.partial_since_millis = partial.then(|| waited.unwrap_or(now));
                let (eof, role) = (stream.eof, stream.role);
                self.plaintext = plaintext;
                match result {
                    Err(error) => return self.close_stream(index, Some(error)),
                    Ok(()) if eof && role == Role::Control => {
                        return self.close_stream(index, None);
                    }
                    Ok(()) => {}
                }
            } else {
                self.plaintext = plaintext;
                return;
            }
        }
        self.streams.unfinished.push(index);
    }

    /// Handles all whole frames; gives how many bytes they had. `Err(Continue)` when the stream
    /// has moved to another shard.
    fn take_frames(
        &mut self,
        tx: &mut SendBatch,
        index: u32,
        plaintext: &[u8],
    ) -> Result<usize, Outcome> {
        let mut at = 0;
        let mut batch = PeerBatch::new(tx);
        loop {
            let Some(stream) = self.streams.slab.get(index as usize) else {
                batch.flush(self);
                return Err(Outcome::Continue);
            };
            if stream.role != Role::Control || stream.closing {
                break;
            }
            let accepting = self.ports.is_accepting(stream.port);
            let path = ClientPath {
                accepting,
                ..stream.path
            };
            // ChannelData cannot come first, but other protocols may look like it: `GE` of an HTTP
            // request is a channel number.
            if !stream.spoke_stun && plaintext[at..].first().is_some_and(|byte| byte & 0xc0 != 0) {
                batch.flush(self);
                return Err(Outcome::Close);
            }
            let frame = match next_frame(&plaintext[at..]) {
                Ok(Some(frame)) => frame,
                Ok(None) => break,
                Err(error) => {
                    tracing::debug!(scope = "listener", "closing {}: {error}", path.tuple.client);
                    batch.flush(self);
                    return Err(Outcome::Close);
                }
            };
            if let Some(stream) = self.streams.slab.get_mut(index as usize) {
                stream.spoke_stun = true;
            }
            self.listener(path.listener)
                .received(1, frame.consumed() as u64);
            let outcome = from_client(self, &mut batch, &path, &plaintext[at..at + frame.len()]);
            if let Some(shard) = self.forward.take() {
                batch.flush(self);
                self.move_stream(index, shard, &plaintext[at..]);
                return Err(Outcome::Continue);
            }
            if outcome == Outcome::Close {
                batch.flush(self);
                return Err(Outcome::Close);
            }
            at += frame.consumed();
        }
        batch.flush(self);
        Ok(at)
    }

    fn handshake_progress(&mut self, index: u32) {
        let Some(stream) = self.streams.slab.get_mut(index as usize) else {
            return;
        };
        if stream.handshake_counted && !stream.is_handshaking() {
            stream.handshake_counted = false;
            self.shared
                .handshakes
                .release(stream.path.tuple.client.ip());
        }
        if stream.backlog() > 0 {
            self.mark_dirty(index);
        }
    }

    /// RFC 6062 §5.4: the data connection may have come to another shard than the allocation.
    fn move_stream(&mut self, index: u32, shard: u8, unread: &[u8]) {
        let Some(mut stream) = self.streams.slab.try_remove(index as usize) else {
            return;
        };
        let _ = self.poller.remove(&stream.socket);
        stream.inbox = unread.to_vec();
        self.uncount_stream(&stream);
        match self.shared.shard(shard) {
            Some(other) => other.send(Command::Adopt(stream)),
            None => self.release_source(&stream),
        }
    }

    pub fn mark_dirty(&mut self, index: u32) {
        if let Some(stream) = self.streams.slab.get_mut(index as usize)
            && !stream.dirty
        {
            stream.dirty = true;
            self.streams.dirty.push(index);
        }
    }

    /// Queues one message for a stream client.
    pub fn queue_for_stream(&mut self, index: u32, parts: &[&[u8]], droppable: bool) {
        let Some(stream) = self.streams.slab.get_mut(index as usize) else {
            return;
        };
        match stream.queue(parts, droppable) {
            Ok(true) => self.mark_dirty(index),
            Ok(false) => self.tally.stream_backlog_drops += 1,
            Err(error) => self.close_stream(index, Some(error)),
        }
    }

    /// Writes what was queued since the last time, each connection in one go.
    pub fn flush_streams(&mut self) {
        while let Some(index) = self.streams.dirty.pop() {
            self.flush_stream(index);
        }
    }

    pub fn flush_stream(&mut self, index: u32) {
        let now = self.now.millis;
        let Some(stream) = self.streams.slab.get_mut(index as usize) else {
            return;
        };
        stream.dirty = false;
        let closing = stream.closing;
        match stream.flush(now) {
            Ok(_) if closing && stream.backlog() == 0 => self.close_stream(index, None),
            Ok(_) => {}
            Err(error) => self.close_stream(index, Some(error)),
        }
    }

    /// Ends a connection and everything that hangs on it.
    pub fn close_stream(&mut self, index: u32, why: Option<StreamError>) {
        let Some(mut stream) = self.streams.slab.try_remove(index as usize) else {
            return;
        };
        let client = stream.path.tuple.client;
        if let Some(error) = why {
            if stream.is_handshaking() {
                self.tally.tls_handshake_failures += 1;
            }
            tracing::debug!(scope = "listener", "connection of {client} ended: {error}");
        }
        stream.shut(self.now.millis);
        let _ = self.poller.remove(&stream.socket);
        if let Role::Data(connection) = stream.role {
            self.pipe_closed(connection);
        }
        self.server.client_closed(self.now, &stream.path.tuple);
        self.uncount_stream(&stream);
        self.release_source(&stream);
        self.run_effects();
    }

    fn uncount_stream(&mut self, stream: &Stream) {
        self.ports.session_ended(stream.port);
        self.listener(stream.path.listener).closed();
    }

    fn release_source(&self, stream: &Stream) {
        let source = stream.path.tuple.client.ip();
        self.shared.connections.release(source);
        if stream.handshake_counted {
            self.shared.handshakes.release(source);
        }
    }

    pub fn close_all_streams(&mut self) {
        let indices: Vec<u32> = self
            .streams
            .slab
            .iter()
            .map(|(index, _)| index as u32)
            .collect();
        for index in indices {
            self.close_stream(index, None);
        }
    }

    /// Closes connections that take too long over something.
    pub fn sweep_streams(&mut self) {
        let now = self.now.millis;
        let over = |since: u64, limit: u64| now.saturating_sub(since) > limit;
        let late: Vec<u32> = self
            .streams
            .slab
            .iter()
            .filter(|(_, stream)| {
                (stream.is_handshaking() && over(stream.opened_millis, PATIENCE_MILLIS))
                    || stream
                        .partial_since_millis
                        .is_some_and(|since| over(since, PATIENCE_MILLIS))
                    || (stream.backlog() > 0 && over(stream.last_write_millis, STALLED_MILLIS))
                    // RFC 6062 §5.5: a peer that ignores its client's end is not waited for. Every turn of the pipe with
                    // nothing left for the client counts as a write.
                    || (stream.role != Role::Control
                        && stream.eof
                        && over(stream.last_write_millis, PATIENCE_MILLIS))
                    || (stream.role == Role::Control
                        && over(stream.last_read_millis, IDLE_MILLIS)
                        && !self.server.has_allocation(&stream.path.tuple))
            })
            .map(|(index, _)| index as u32)
            .collect();
        for index in late {
            self.close_stream(index, None);
        }
    }
}
