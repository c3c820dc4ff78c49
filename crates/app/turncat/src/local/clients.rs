//! Who is served: each client with its queue and its session.

use std::collections::HashMap;
use std::net::SocketAddr;

use tokio::sync::mpsc;
use tokio::task::{Id, JoinSet};

type Queue = mpsc::Sender<Vec<u8>>;

#[derive(Debug, Default)]
pub(super) struct Clients {
    queues: HashMap<SocketAddr, Queue>,
    sessions: JoinSet<()>,
    /// Whose a task is: a session that ends badly says nothing itself, and its client may come back all the same.
    owners: HashMap<Id, SocketAddr>,
}

impl Clients {
    pub(super) fn len(&self) -> usize {
        self.queues.len()
    }

    pub(super) fn queue(&self, client: SocketAddr) -> Option<&Queue> {
        self.queues.get(&client)
    }

    /// A new client, served by `session` until that ends.
    pub(super) fn add(
        &mut self,
        client: SocketAddr,
        queue: Queue,
        session: impl Future<Output = ()> + Send + 'static,
    ) {
        let task = self.sessions.spawn(session).id();
        self.owners.insert(task, client);
        self.queues.insert(client, queue);
    }

    /// Waits until a session has ended, however it did, and forgets its client; for ever while there is none. Safe to
    /// cancel.
    pub(super) async fn forget_one(&mut self) {
        let task = match self.sessions.join_next_with_id().await {
            Some(Ok((task, ()))) => task,
            Some(Err(error)) => error.id(),
            None => return std::future::pending().await,
        };
        if let Some(client) = self.owners.remove(&task) {
            self.queues.remove(&client);
        }
    }

    /// Waits until all sessions have ended.
    pub(super) async fn all_gone(mut self) {
        while self.sessions.join_next().await.is_some() {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_client_is_forgotten_however_its_session_ends() {
        let mut clients = Clients::default();
        let client = |port| SocketAddr::from(([192, 0, 2, 1], port));
        let queue = || mpsc::channel(1).0;
        clients.add(client(1), queue(), async {});
        clients.add(client(2), queue(), async { panic!("a defect") });
        clients.add(client(3), queue(), std::future::pending());
        clients.forget_one().await;
        clients.forget_one().await;
        assert_eq!(clients.len(), 1);
        assert!(clients.queue(client(3)).is_some());
        assert!(clients.owners.len() == 1, "nothing is left behind");
    }
}
