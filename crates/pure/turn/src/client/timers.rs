//! What time brings about: retransmissions, refreshes and their failures.

use super::transaction::{Due, Operation, Transaction};
use super::{Client, Event, PEERS_PER_REQUEST};

/// The pause before an allocation refresh that got no answer is tried again.
const REFRESH_RETRY_MS: u64 = 5_000;

impl Client {
    /// The next event that time brought about; see [`Client::on_timeout`].
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// When [`Client::on_timeout`] has something to do.
    pub fn next_deadline(&self) -> Option<u64> {
        let requests = self
            .transactions
            .iter()
            .map(|transaction| transaction.deadline)
            .min();
        let allocation = self.allocation.as_ref().map(|allocation| {
            allocation
                .refresh_at
                .unwrap_or(u64::MAX)
                .min(allocation.expires_at)
        });
        [requests, allocation, self.peers.next_deadline()]
            .into_iter()
            .flatten()
            .min()
    }

    /// Retransmits, refreshes and gives up as the time demands. What came of it is in
    /// [`Client::poll_transmit`] and [`Client::poll_event`].
    pub fn on_timeout(&mut self, now: u64) {
        if self
            .allocation
            .as_ref()
            .is_some_and(|allocation| allocation.expires_at <= now)
        {
            self.lose_allocation();
            self.events.push_back(Event::AllocationLost);
        }
        self.run_transactions(now);
        let Some(allocation) = &mut self.allocation else {
            return;
        };
        if allocation.refresh_at.is_some_and(|at| at <= now) {
            allocation.refresh_at = None;
            let lifetime = allocation.wanted_lifetime;
            self.renew(
                now,
                Operation::Refresh {
                    lifetime,
                    family: None,
                },
            );
        }
        let due = self.peers.on_timeout(now);
        for chunk in due.permissions.chunks(PEERS_PER_REQUEST) {
            self.renew(
                now,
                Operation::CreatePermission {
                    peers: chunk.to_vec(),
                    renewal: true,
                },
            );
        }
        for (peer, number) in due.channels {
            self.renew(now, Operation::ChannelBind { peer, number });
        }
    }

    fn run_transactions(&mut self, now: u64) {
        let mut index = 0;
        while let Some(transaction) = self.transactions.get_mut(index) {
            match transaction.on_timeout(now) {
                Due::Later => index += 1,
                Due::Retransmit => {
                    self.outbox.push_back(transaction.bytes.clone());
                    index += 1;
                }
                Due::GiveUp => {
                    let transaction = self.transactions.swap_remove(index);
                    self.unanswered(now, transaction);
                }
            }
        }
    }

    /// Renewals keep trying until what they renew has expired.
    fn unanswered(&mut self, now: u64, transaction: Transaction) {
        let method = transaction.operation.method();
        match transaction.operation {
            Operation::Refresh { .. } => {
                if let Some(allocation) = self
                    .allocation
                    .as_mut()
                    .filter(|_| self.settings.auto_refresh)
                {
                    allocation.refresh_at = Some(now + REFRESH_RETRY_MS);
                }
            }
            Operation::CreatePermission {
                peers,
                renewal: true,
            } => {
                for peer in peers {
                    self.peers.retry_permission(now, peer);
                }
            }
            Operation::ChannelBind { number, .. } => self.peers.retry_channel(now, number),
            _ => {}
        }
        self.events.push_back(Event::TimedOut {
            request: transaction.request,
            method,
        });
    }
}
