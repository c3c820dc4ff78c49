//! A gateway on loopback with all four transports, and peers to talk to.

use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use base64::Engine as _;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use serde_json::{Value, json};
use stunner_client::{Connect, Roots, ServerTransport};
use stunner_dataplane::embed::{Instance, Options};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, UdpSocket};

pub const USER: &str = "user";
pub const PASSWORD: &str = "open-sesame";
/// The name that the gateway's certificate has.
pub const NAME: &str = "turn.example.test";

/// Long enough for everything that comes at all.
pub const PATIENCE: Duration = Duration::from_secs(20);

pub async fn patiently<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, what)
        .await
        .expect("it takes too long")
}

/// Certificates that a gateway may show.
#[derive(Clone, Copy)]
pub enum Certificate {
    Good,
    Expired,
    NotYetValid,
    SelfSigned,
}

pub struct Gateway {
    pub instance: Instance,
    root_pem: String,
    ports: Vec<(ServerTransport, u16)>,
}

impl Gateway {
    pub async fn start() -> Self {
        Self::start_with(Certificate::Good, Options::default()).await
    }

    pub async fn showing(certificate: Certificate) -> Self {
        Self::start_with(certificate, Options::default()).await
    }

    pub async fn start_with(certificate: Certificate, options: Options) -> Self {
        let (root_pem, chain, key) = identity(certificate);
        let ports: Vec<_> = ServerTransport::ALL
            .into_iter()
            .map(|transport| (transport, free_port()))
            .collect();
        let base64 = |text: &str| base64::engine::general_purpose::STANDARD.encode(text);
        let listener = |(transport, port): &(ServerTransport, u16)| {
            json!({
                "name": format!("ns/gateway/{transport}"), "protocol": format!("TURN-{transport}"),
                "address": "127.0.0.1,::1", "port": port, "routes": ["udp", "tcp"],
                "cert": base64(&chain), "key": base64(&key),
            })
        };
        let config = json!({
            "version": "v1",
            "admin": { "name": "ns/gateway", "loglevel": "all:ERROR" },
            "auth": { "type": "static", "realm": "test", "credentials": { "username": USER, "password": PASSWORD } },
            "listeners": ports.iter().map(listener).collect::<Vec<Value>>(),
            "clusters": [
                { "name": "udp", "type": "STATIC", "protocol": "UDP", "endpoints": ["127.0.0.1", "::1"] },
                { "name": "tcp", "type": "STATIC", "protocol": "TCP", "endpoints": ["127.0.0.1", "::1"] },
            ],
        });
        let options = Options {
            threads: 1,
            ..options
        };
        let instance = Instance::start(options).expect("a dataplane");
        let parsed = stunner_config::parse(&config.to_string(), &|_| None).expect("a config");
        instance.apply(parsed.config).await.expect("listeners");
        Gateway {
            instance,
            root_pem,
            ports,
        }
    }

    pub fn address(&self, transport: ServerTransport, host: IpAddr) -> SocketAddr {
        let port = self
            .ports
            .iter()
            .find(|(of, _)| *of == transport)
            .expect("a listener")
            .1;
        SocketAddr::new(host, port)
    }

    pub fn root_pem(&self) -> &str {
        &self.root_pem
    }

    /// The way to one listener, by IPv4.
    pub fn connect(&self, transport: ServerTransport) -> Connect {
        self.connect_by(transport, localhost(4))
    }

    pub fn connect_by(&self, transport: ServerTransport, host: IpAddr) -> Connect {
        let mut connect =
            Connect::new(self.address(transport, host), transport).with_password(USER, PASSWORD);
        connect.tls.sni = Some(NAME.to_owned());
        connect.tls.roots = Roots::Pem(self.root_pem.clone());
        connect
    }

    /// Ends all sessions, as an operator would.
    pub async fn end_sessions(&self) {
        let dataplane = self.instance.dataplane();
        let sessions = dataplane.sessions().await;
        assert!(!sessions.is_empty(), "there is none to end");
        for session in sessions {
            assert!(dataplane.end_session(session.id).await);
        }
    }

    pub async fn session_count(&self) -> usize {
        self.instance.dataplane().sessions().await.len()
    }
}

pub fn localhost(version: u8) -> IpAddr {
    match version {
        4 => [127, 0, 0, 1].into(),
        _ => std::net::Ipv6Addr::LOCALHOST.into(),
    }
}

/// A port that nobody has right now, for UDP and TCP and both families.
pub fn free_port() -> u16 {
    loop {
        let udp = std::net::UdpSocket::bind("[::]:0").expect("a port");
        let port = udp.local_addr().expect("an address").port();
        if std::net::TcpListener::bind(("::", port)).is_ok() {
            return port;
        }
    }
}

fn identity(which: Certificate) -> (String, String, String) {
    let ca_key = KeyPair::generate().unwrap();
    let mut ca = CertificateParams::new(Vec::new()).unwrap();
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    ca.distinguished_name.push(DnType::CommonName, "test root");
    let root_pem = ca.self_signed(&ca_key).unwrap().pem();
    let issuer = Issuer::new(ca, ca_key);

    let key = KeyPair::generate().unwrap();
    let mut leaf = CertificateParams::new(vec![NAME.to_owned(), "192.0.2.7".to_owned()]).unwrap();
    leaf.distinguished_name.push(DnType::CommonName, "gateway");
    match which {
        Certificate::Expired => leaf.not_after = date_time_ymd(2020, 2, 3),
        Certificate::NotYetValid => leaf.not_before = date_time_ymd(2150, 1, 1),
        Certificate::Good | Certificate::SelfSigned => {}
    }
    let signed = match which {
        Certificate::SelfSigned => leaf.self_signed(&key),
        _ => leaf.signed_by(&key, &issuer),
    };
    (root_pem, signed.unwrap().pem(), key.serialize_pem())
}

/// A peer that sends everything back, of any size.
pub async fn echo(host: IpAddr) -> SocketAddr {
    let socket = UdpSocket::bind((host, 0)).await.unwrap();
    let address = socket.local_addr().unwrap();
    tokio::spawn(async move {
        let mut buffer = vec![0; 70_000];
        while let Ok((length, from)) = socket.recv_from(&mut buffer).await {
            let _ = socket.send_to(&buffer[..length], from).await;
        }
    });
    address
}

/// The same over TCP; ends with the client's end.
pub async fn tcp_echo(host: IpAddr) -> SocketAddr {
    let listener = TcpListener::bind((host, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut buffer = vec![0; 16_384];
                while let Ok(length @ 1..) = stream.read(&mut buffer).await {
                    if stream.write_all(&buffer[..length]).await.is_err() {
                        return;
                    }
                }
                let _ = stream.shutdown().await;
            });
        }
    });
    address
}

/// Waits until something holds.
pub async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds().await {
        assert!(Instant::now() < deadline, "{what} took too long");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
