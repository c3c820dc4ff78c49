//! Clients over UDP: whoever sends a datagram from a new address is a new client.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::UdpSocket;
use tokio::sync::watch;

use super::after_failed_accept;
use super::bind::{BindError, bind};
use super::clients::Clients;
use crate::ends::HostPort;
use crate::tunnel::{Origin, Outlet, Route, Seldom, Session, inbox};

/// Nothing proves that a client is there. Each costs an allocation.
const MAX_CLIENTS: usize = 4096;
/// A client whose server refuses it is not tried again for every datagram it sends.
const HOLD_OFF: Duration = Duration::from_secs(3);
const LARGEST: usize = 65_535;

#[derive(Debug)]
pub(super) struct UdpEnd {
    socket: Arc<UdpSocket>,
    address: SocketAddr,
}

impl UdpEnd {
    pub(super) async fn bind(place: &HostPort) -> Result<UdpEnd, BindError> {
        let (socket, address) = bind(
            || format!("udp://{place}"),
            place,
            async |address| {
                let socket = UdpSocket::bind(address).await?;
                let address = socket.local_addr()?;
                Ok((socket, address))
            },
        )
        .await?;
        Ok(UdpEnd {
            socket: Arc::new(socket),
            address,
        })
    }

    pub(super) async fn serve(self, route: Arc<Route>, mut stop: watch::Receiver<bool>) {
        let mut clients = Clients::default();
        let full = Seldom::default();
        let mut buffer = vec![0; LARGEST];
        loop {
            let received = tokio::select! {
                received = self.socket.recv_from(&mut buffer) => received,
                () = clients.forget_one() => continue,
                _ = stop.wait_for(|stop| *stop) => break,
            };
            let (length, client) = match received {
                Ok(received) => received,
                Err(error) => {
                    after_failed_accept(error).await;
                    continue;
                }
            };
            if clients.queue(client).is_none() {
                if clients.len() == MAX_CLIENTS {
                    full.warn(format_args!(
                        "dropped a datagram of {client}: there are {MAX_CLIENTS} clients already"
                    ));
                    route.statistics.dropped_on_arrival(1);
                    continue;
                }
                let (sender, inbox) = inbox();
                let session = Session {
                    route: Arc::clone(&route),
                    client: client.to_string(),
                    origin: Origin::Datagrams,
                    inbox,
                    outlet: Outlet::Datagrams {
                        socket: Arc::clone(&self.socket),
                        client,
                    },
                };
                clients.add(client, sender, serve_one(session, stop.clone()));
            }
            let queue = clients.queue(client);
            if queue.is_some_and(|queue| queue.try_send(buffer[..length].to_vec()).is_err()) {
                route.statistics.dropped_on_arrival(1);
            }
        }
        clients.all_gone().await;
    }
}

async fn serve_one(session: Session, mut stop: watch::Receiver<bool>) {
    let failed = session.run(stop.clone()).await.is_err();
    if failed {
        let _ = tokio::time::timeout(HOLD_OFF, stop.wait_for(|stop| *stop)).await;
    }
}

impl fmt::Display for UdpEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "udp://{}", self.address)
    }
}
