//! Gateways, clients and peers for the tests.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use stunner_config::Config;
use stunner_dataplane::embed::{Host, Instance, Options};
use stunner_turn::client::{AllocateOptions, Client, Event, Settings, Transport};
use tokio::net::UdpSocket;
use tokio::time::timeout;

pub const PATIENCE: Duration = Duration::from_secs(20);
/// Long enough for a packet that is going to come on loopback, on a machine that compiles something else.
const SILENCE: Duration = Duration::from_secs(3);

/// A UDP port that nobody has right now, and that no test of this process gets again soon. It is below those that the
/// kernel gives to sockets which do not ask for one, such as relays.
pub fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let start = (std::process::id() % 40) as u16 * 100;
    let mut ports = (0..4_000).map(|_| {
        let step = NEXT.fetch_add(1, Ordering::Relaxed);
        10_000 + start.wrapping_add(step) % 4_000
    });
    let is_free = |port: &u16| std::net::UdpSocket::bind(("0.0.0.0", *port)).is_ok();
    ports.find(is_free).expect("a free port")
}

/// A config whose UDP listeners, `NAME/udp0` and so on, reach every port of 127.0.0.1.
pub fn config(name: &str, ports: &[u16]) -> Config {
    parse(&config_value(name, ports))
}

pub fn config_value(name: &str, ports: &[u16]) -> Value {
    let listeners: Vec<Value> = (0..)
        .zip(ports)
        .map(|(index, port)| {
            json!({
                "name": format!("{name}/udp{index}"), "protocol": "turn-udp", "address": "127.0.0.1",
                "port": port, "routes": ["ns/route"],
            })
        })
        .collect();
    json!({
        "version": "v1",
        "admin": { "name": name, "loglevel": "all:TRACE" },
        "auth": {
            "type": "static", "realm": "test", "credentials": { "username": "user", "password": "pass" },
        },
        "listeners": listeners,
        "clusters": [
            { "name": "ns/route", "type": "STATIC", "protocol": "UDP", "endpoints": ["127.0.0.1"] },
        ],
    })
}

pub fn parse(value: &Value) -> Config {
    let parsed = stunner_config::parse(&value.to_string(), &|_| None);
    parsed.expect("a config").config
}

pub fn start(host: &Host, name: &str) -> Instance {
    let options = Options {
        id: name.to_owned(),
        threads: 2,
        host: host.clone(),
        ..Options::default()
    };
    Instance::start(options).expect("a dataplane")
}

/// An instance that serves one port.
pub async fn serve(host: &Host, name: &str) -> (Instance, u16) {
    let instance = start(host, name);
    let port = free_port();
    instance
        .apply(config(name, &[port]))
        .await
        .expect("applied");
    (instance, port)
}

/// Sends everything back.
pub async fn echo() -> SocketAddr {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = socket.local_addr().unwrap();
    tokio::spawn(async move {
        let mut buffer = [0; 2048];
        while let Ok((length, from)) = socket.recv_from(&mut buffer).await {
            let _ = socket.send_to(&buffer[..length], from).await;
        }
    });
    address
}

/// A TURN client over UDP.
pub struct TurnClient {
    machine: Client,
    socket: UdpSocket,
    started: Instant,
}

impl TurnClient {
    /// A client with an allocation.
    pub async fn allocate(port: u16) -> Self {
        let mut client = Self::new(port).await;
        match client.try_allocate().await {
            Event::Allocated(_) => client,
            other => panic!("no allocation: {other:?}"),
        }
    }

    pub async fn new(port: u16) -> Self {
        let settings = Settings::with_password("user", "pass", Transport::Datagram);
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        socket.connect((Ipv4Addr::LOCALHOST, port)).await.unwrap();
        Self {
            machine: Client::new(settings, rand::random()),
            socket,
            started: Instant::now(),
        }
    }

    pub fn relayed(&self) -> SocketAddr {
        self.machine.relayed().expect("an allocation")
    }

    fn now(&self) -> u64 {
        self.started.elapsed().as_millis() as u64
    }

    pub async fn try_allocate(&mut self) -> Event {
        let now = self.now();
        let options = AllocateOptions::default();
        self.machine.allocate(now, options).expect("a request");
        self.answer().await
    }

    pub async fn bind_channel(&mut self, peer: SocketAddr) -> Event {
        let now = self.now();
        self.machine.bind_channel(now, peer).expect("a request");
        self.answer().await
    }

    async fn answer(&mut self) -> Event {
        let answer = timeout(PATIENCE, self.next()).await.expect("an answer");
        answer.expect("a server")
    }

    /// `None` when nobody listens at the server's port.
    async fn next(&mut self) -> Option<Event> {
        loop {
            while let Some(packet) = self.machine.poll_transmit() {
                self.socket.send(&packet).await.unwrap();
            }
            let mut buffer = [0; 2048];
            let length = self.socket.recv(&mut buffer).await.ok()?;
            let now = self.now();
            match self.machine.handle(now, &buffer[..length]) {
                Event::Ignored | Event::Pending => {}
                event => return Some(event),
            }
        }
    }

    /// Whether a payload comes back from a peer whose channel is bound.
    pub async fn echoes(&mut self, peer: SocketAddr) -> bool {
        let mut buffer = [0; 256];
        let length = self.machine.send(peer, b"hello", &mut buffer);
        let length = length.expect("a packet");
        self.socket.send(&buffer[..length]).await.unwrap();
        let event = timeout(SILENCE, self.next()).await;
        matches!(event, Ok(Some(Event::Data { peer: from, .. })) if from == peer)
    }
}

/// Waits until something holds.
pub async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds().await {
        assert!(Instant::now() < deadline, "{what} took too long");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
