//! Echo peers on loopback.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Sends every datagram back to where it came from; counts what it saw.
#[derive(Debug)]
pub struct UdpEcho {
    address: SocketAddr,
    seen: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
}

impl UdpEcho {
    /// Binds `address`; port 0 picks one.
    pub fn start(address: &str) -> Self {
        let address: SocketAddr = address.parse().expect("echo address");
        let socket = UdpSocket::bind(address).expect("bind echo peer");
        let _ = socket2::SockRef::from(&socket).set_recv_buffer_size(4 << 20);
        socket
            .set_read_timeout(Some(Duration::from_millis(100)))
            .expect("timeout");
        let address = socket.local_addr().expect("echo address");
        let (seen, stop) = (
            Arc::new(AtomicU64::new(0)),
            Arc::new(AtomicBool::new(false)),
        );
        std::thread::spawn({
            let (seen, stop) = (seen.clone(), stop.clone());
            move || {
                let mut buffer = vec![0; 65_536];
                while !stop.load(Ordering::Relaxed) {
                    if let Ok((length, from)) = socket.recv_from(&mut buffer) {
                        seen.fetch_add(1, Ordering::Relaxed);
                        let _ = socket.send_to(&buffer[..length], from);
                    }
                }
            }
        });
        Self {
            address,
            seen,
            stop,
        }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn seen(&self) -> u64 {
        self.seen.load(Ordering::Relaxed)
    }
}

impl Drop for UdpEcho {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// Sends everything back on each accepted connection.
#[derive(Debug)]
pub struct TcpEcho {
    address: SocketAddr,
}

impl TcpEcho {
    pub fn start(address: &str) -> Self {
        let listener = TcpListener::bind(address).expect("bind echo peer");
        let address = listener.local_addr().expect("echo address");
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                std::thread::spawn(move || echo(stream));
            }
        });
        Self { address }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

fn echo(mut stream: std::net::TcpStream) {
    let mut buffer = vec![0; 65_536];
    while let Ok(length) = stream.read(&mut buffer) {
        if length == 0 || stream.write_all(&buffer[..length]).is_err() {
            return;
        }
    }
}
