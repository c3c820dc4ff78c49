//! A server that says what no real one says on demand. It asks for no credentials.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use stunner_client::{Connect, ServerTransport};
use stunner_stun::{Class, Message, MessageWriter, Method, TransactionId, attr};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, UdpSocket};
use tokio::sync::Notify;

#[derive(Clone, Copy)]
pub enum Script {
    /// Allocates, then answers every Refresh with 300.
    DrainOnRefresh { alternate: Option<SocketAddr> },
    /// Allocates for two seconds at a time, so many times; then 300.
    ShortLived { refreshes: usize },
    /// Sends everybody elsewhere, or to itself.
    Redirect { to: Option<SocketAddr> },
    /// Falls silent after so many answers.
    Answers { requests: usize },
    /// Refuses every Allocate with 437, and takes its time for it.
    Mismatch { after: Duration },
    /// Knows no REQUESTED-ADDRESS-FAMILY.
    NoFamilies,
}

/// Those that are repeated count once.
type Refreshes = Arc<Mutex<HashSet<TransactionId>>>;

pub struct Scripted {
    pub address: SocketAddr,
    refreshes: Refreshes,
}

impl Scripted {
    pub fn connect(&self) -> Connect {
        Connect::new(self.address, ServerTransport::Udp)
    }

    pub fn refreshes(&self) -> usize {
        self.refreshes.lock().unwrap().len()
    }
}

pub async fn scripted(script: Script) -> Scripted {
    let socket = Arc::new(UdpSocket::bind("127.0.0.1:0").await.unwrap());
    let address = socket.local_addr().unwrap();
    let refreshes = Refreshes::default();
    let counted = Arc::clone(&refreshes);
    tokio::spawn(async move {
        let mut buffer = [0; 4096];
        let mut requests_seen = HashSet::new();
        while let Ok((length, from)) = socket.recv_from(&mut buffer).await {
            let Ok(request) = Message::parse(&buffer[..length]) else {
                continue;
            };
            if request.class() != Class::Request {
                continue;
            }
            if request.method() == Method::REFRESH {
                counted.lock().unwrap().insert(request.transaction_id());
            }
            requests_seen.insert(request.transaction_id());
            if matches!(script, Script::Answers { requests } if requests_seen.len() > requests) {
                continue;
            }
            let refreshes = counted.lock().unwrap().len();
            let answer = answer(script, &request, address, refreshes);
            let socket = Arc::clone(&socket);
            tokio::spawn(async move {
                if let Script::Mismatch { after } = script {
                    tokio::time::sleep(after).await;
                }
                let _ = socket.send_to(&answer, from).await;
            });
        }
    });
    Scripted { address, refreshes }
}

fn answer(script: Script, request: &Message<'_>, own: SocketAddr, refreshes: usize) -> Vec<u8> {
    let method = request.method();
    let refusal = match (script, method) {
        (Script::Redirect { to }, Method::ALLOCATE) => Some((300, Some(to.unwrap_or(own)))),
        (Script::Mismatch { .. }, Method::ALLOCATE) => Some((437, None)),
        (Script::DrainOnRefresh { alternate }, Method::REFRESH) => Some((300, alternate)),
        (Script::ShortLived { refreshes: granted }, Method::REFRESH) if refreshes > granted => {
            Some((300, None))
        }
        (Script::NoFamilies, Method::ALLOCATE) if request.requested_family().is_some() => {
            Some((420, None))
        }
        _ => None,
    };
    let class = if refusal.is_some() {
        Class::Error
    } else {
        Class::Success
    };
    let mut buffer = [0; 512];
    let mut writer = MessageWriter::new(&mut buffer, class, method, request.transaction_id());
    match refusal {
        Some((code, alternate)) => {
            writer.error(code, "no");
            if let Some(server) = alternate {
                writer.alternate_server(server);
            }
        }
        None => {
            if method == Method::ALLOCATE {
                writer.xor_address(
                    attr::XOR_RELAYED_ADDRESS,
                    "192.0.2.2:50000".parse().unwrap(),
                );
                writer.xor_address(attr::XOR_MAPPED_ADDRESS, "192.0.2.3:4000".parse().unwrap());
            }
            let short = matches!(script, Script::ShortLived { .. });
            writer.lifetime(if short { 2 } else { 600 });
        }
    }
    let length = writer.finish().unwrap();
    buffer[..length].to_vec()
}

/// A server over TCP that answers two requests and reads no more until told to.
pub struct Stalled {
    pub address: SocketAddr,
    pub go_on: Arc<Notify>,
    /// Bytes that came after the requests.
    pub received: Arc<AtomicU64>,
}

pub async fn stalled() -> Stalled {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (go_on, received) = (Arc::new(Notify::new()), Arc::new(AtomicU64::new(0)));
    let (told, counted) = (Arc::clone(&go_on), Arc::clone(&received));
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        for _ in 0..2 {
            let mut header = [0; 20];
            stream.read_exact(&mut header).await.unwrap();
            let length = usize::from(u16::from_be_bytes([header[2], header[3]]));
            let mut request = header.to_vec();
            request.resize(20 + length, 0);
            stream.read_exact(&mut request[20..]).await.unwrap();
            let request = Message::parse(&request).unwrap();
            let answer = answer(Script::NoFamilies, &request, address, 0);
            stream.write_all(&answer).await.unwrap();
        }
        told.notified().await;
        let mut buffer = vec![0; 65_536];
        while let Ok(length @ 1..) = stream.read(&mut buffer).await {
            counted.fetch_add(length as u64, Ordering::Relaxed);
        }
    });
    Stalled {
        address,
        go_on,
        received,
    }
}
