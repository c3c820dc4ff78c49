//! A TURN server over UDP that asks for no credential, relays by channels, and falls silent when told to.

use std::collections::{HashMap, HashSet};
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use stunner_net::poll::{Events, Interest, Poller, Token};
use stunner_stun::{Class, Message, MessageWriter, Method, attr, channel_data};

const LISTENER: Token = Token(0);

#[derive(Default)]
struct Script {
    is_over: AtomicBool,
    is_silent: AtomicBool,
    overhears_goodbyes: AtomicBool,
    allocations: AtomicUsize,
}

pub struct Scripted {
    pub address: SocketAddr,
    script: Arc<Script>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl Scripted {
    /// A server that refuses more than `quota` allocations.
    pub fn start(quota: usize) -> Scripted {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let address = socket.local_addr().expect("its address");
        let script = Arc::<Script>::default();
        let server = Server {
            socket,
            poller: Poller::new().expect("a poller"),
            quota,
            sessions: HashMap::new(),
            clients_by_relay: HashMap::new(),
            overheard: HashSet::new(),
            script: Arc::clone(&script),
        };
        Scripted {
            address,
            script,
            thread: Some(thread::spawn(|| server.serve())),
        }
    }

    /// From now on nothing is read, as by a process that was stopped.
    pub fn fall_silent(&self) {
        self.script.is_silent.store(true, Ordering::SeqCst);
    }

    /// The first Refresh of each client gets no answer.
    pub fn overhear_first_goodbyes(&self) {
        self.script.overhears_goodbyes.store(true, Ordering::SeqCst);
    }

    pub fn allocations(&self) -> usize {
        self.script.allocations.load(Ordering::SeqCst)
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.script.is_over.store(true, Ordering::SeqCst);
        if let Some(Ok(Err(error))) = self.thread.take().map(JoinHandle::join) {
            eprintln!("the server failed: {error}");
        }
    }
}

struct Session {
    relay: UdpSocket,
    channel: Option<(u16, SocketAddr)>,
}

struct Server {
    socket: UdpSocket,
    poller: Poller,
    quota: usize,
    sessions: HashMap<SocketAddr, Session>,
    clients_by_relay: HashMap<u16, SocketAddr>,
    /// Clients whose goodbye got no answer so far.
    overheard: HashSet<SocketAddr>,
    script: Arc<Script>,
}

impl Server {
    fn serve(mut self) -> io::Result<()> {
        self.socket.set_nonblocking(true)?;
        self.poller
            .add(&self.socket, LISTENER, Interest::Readable)?;
        let mut events = Events::with_capacity(64);
        let pause = Duration::from_millis(10);
        while !self.script.is_over.load(Ordering::SeqCst) {
            if self.script.is_silent.load(Ordering::SeqCst) {
                thread::sleep(pause);
                continue;
            }
            self.poller.wait(&mut events, Some(pause))?;
            for event in events.iter() {
                match event.token {
                    LISTENER => self.hear_clients()?,
                    Token(port) => self.hear_peer(port as u16),
                }
            }
        }
        Ok(())
    }

    fn hear_clients(&mut self) -> io::Result<()> {
        let mut buffer = [0; 2048];
        while let Ok((length, client)) = self.socket.recv_from(&mut buffer) {
            if self.script.is_silent.load(Ordering::SeqCst) {
                return Ok(());
            }
            let packet = &buffer[..length];
            if let Ok(data) = channel_data::parse(packet) {
                self.relay(client, data);
            } else if let Ok(request) = Message::parse(packet)
                && !self.is_overheard(client, &request)
            {
                let answer = self.answer(client, &request)?;
                let _ = self.socket.send_to(&answer, client);
            }
        }
        Ok(())
    }

    fn is_overheard(&mut self, client: SocketAddr, request: &Message<'_>) -> bool {
        request.method() == Method::REFRESH
            && self.script.overhears_goodbyes.load(Ordering::SeqCst)
            && self.overheard.insert(client)
    }

    fn relay(&self, client: SocketAddr, data: channel_data::ChannelData<'_>) {
        if let Some(session) = self.sessions.get(&client)
            && let Some((number, peer)) = session.channel
            && number == data.number
        {
            let _ = session.relay.send_to(data.payload, peer);
        }
    }

    fn hear_peer(&self, port: u16) {
        let Some(client) = self.clients_by_relay.get(&port) else {
            return;
        };
        let Some(session) = self.sessions.get(client) else {
            return;
        };
        let mut buffer = [0; 2048];
        while let Ok((length, from)) = session.relay.recv_from(&mut buffer[4..]) {
            if let Some((number, peer)) = session.channel
                && from == peer
            {
                buffer[..4].copy_from_slice(&channel_data::header(number, length as u16));
                let _ = self.socket.send_to(&buffer[..4 + length], client);
            }
        }
    }

    fn answer(&mut self, client: SocketAddr, request: &Message<'_>) -> io::Result<Vec<u8>> {
        let (method, id) = (request.method(), request.transaction_id());
        let mut buffer = [0; 512];
        let is_refused = match method {
            Method::ALLOCATE => !self.allocate(client)?,
            _ => !self.sessions.contains_key(&client),
        };
        if is_refused {
            let code = if method == Method::ALLOCATE { 486 } else { 437 };
            let mut writer = MessageWriter::new(&mut buffer, Class::Error, method, id);
            writer.error(code, "no");
            let length = writer.finish().expect("room");
            return Ok(buffer[..length].to_vec());
        }
        let mut writer = MessageWriter::new(&mut buffer, Class::Success, method, id);
        match method {
            Method::ALLOCATE => {
                let relayed = self.sessions[&client].relay.local_addr()?;
                writer.xor_address(attr::XOR_RELAYED_ADDRESS, relayed);
                writer.xor_address(attr::XOR_MAPPED_ADDRESS, client);
                writer.lifetime(600);
            }
            Method::CHANNEL_BIND => {
                let number = request.channel_number().and_then(Result::ok);
                let peer = request.xor_address(attr::XOR_PEER_ADDRESS);
                let session = self.sessions.get_mut(&client);
                if let Some(session) = session {
                    session.channel = number.zip(peer.and_then(Result::ok));
                }
            }
            Method::REFRESH => {
                let lifetime = request.lifetime().and_then(Result::ok).unwrap_or(600);
                if lifetime == 0 {
                    self.sessions.remove(&client);
                }
                writer.lifetime(lifetime);
            }
            _ => {}
        }
        let length = writer.finish().expect("room");
        let left = self.sessions.len();
        self.script.allocations.store(left, Ordering::SeqCst);
        Ok(buffer[..length].to_vec())
    }

    /// Whether the client has an allocation now; a repeated request changes nothing.
    fn allocate(&mut self, client: SocketAddr) -> io::Result<bool> {
        if self.sessions.contains_key(&client) {
            return Ok(true);
        }
        if self.sessions.len() == self.quota {
            return Ok(false);
        }
        let relay = UdpSocket::bind("127.0.0.1:0")?;
        relay.set_nonblocking(true)?;
        let port = relay.local_addr()?.port();
        self.poller
            .add(&relay, Token(port.into()), Interest::Readable)?;
        self.clients_by_relay.insert(port, client);
        let session = Session {
            relay,
            channel: None,
        };
        self.sessions.insert(client, session);
        Ok(true)
    }
}
