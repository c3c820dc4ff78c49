//! What a shard counts, and how others see that it lives.

use std::sync::atomic::{AtomicU64, Ordering};

use stunner_net::udp::SendReport;
use stunner_telemetry::metrics::ShardMetrics;
use stunner_turn::server::{DropReason, Stats};

/// A shard's signs of life, readable from any thread.
#[derive(Debug, Default)]
pub struct Pulse {
    beat_millis: AtomicU64,
}

impl Pulse {
    /// Says that the event loop turned.
    pub fn beat(&self, now_millis: u64) {
        self.beat_millis.store(now_millis, Ordering::Relaxed);
    }

    pub fn last_beat_millis(&self) -> u64 {
        self.beat_millis.load(Ordering::Relaxed)
    }
}

/// Counts of the shard itself, beside those of its TURN server. Nothing ever goes down.
#[derive(Debug, Default)]
pub struct Tally {
    pub sends: SendReport,
    /// Messages for stream clients that did not fit their output queue.
    pub stream_backlog_drops: u64,
    /// Messages that the transport to their receiver cannot carry.
    pub too_big: u64,
    /// Datagrams that the kernel dropped because a listener's buffer was full.
    pub kernel_drops: u64,
    pub connections_refused: u64,
    pub handshakes_refused: u64,
    pub tls_handshake_failures: u64,
    pub dtls_handshake_failures: u64,
}

impl Tally {
    /// Brings the shard's metrics up to date.
    pub fn publish(&self, server: &Stats, metrics: &mut ShardMetrics) {
        for (reason, count) in server.drops() {
            let here = if reason == DropReason::TooBig {
                self.too_big + self.sends.too_big
            } else {
                0
            };
            metrics
                .dropped_packets
                .set_total(reason.as_str(), count + here);
        }
        let sends = &self.sends;
        let drops = &mut metrics.dropped_packets;
        let send_buffer = sends.would_block + sends.no_buffers + self.stream_backlog_drops;
        drops.set_total("send_buffer", send_buffer);
        drops.set_total(
            "send_error",
            sends.unreachable + sends.forbidden + sends.failed,
        );
        drops.set_total("kernel_receive_buffer", self.kernel_drops);
        drops.set_total("connection_limit", self.connections_refused);
        drops.set_total("handshake_limit", self.handshakes_refused);
        for (reason, count) in server.denials() {
            metrics.denials.set_total(reason.as_str(), count);
        }
        for (reason, count) in server.auth_failures() {
            metrics.auth_failures.set_total(reason.as_str(), count);
        }
        for (method, count) in server.requests() {
            metrics.requests.set_total(method, count);
        }
        for (code, count) in server.errors() {
            metrics.errors.set_total(&code.to_string(), count);
        }
        metrics.challenges.set_total(server.challenges);
        metrics
            .handshake_failures
            .set_total("tls", self.tls_handshake_failures);
        metrics
            .handshake_failures
            .set_total("dtls", self.dtls_handshake_failures);
    }
}
