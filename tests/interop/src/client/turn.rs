//! The TURN dialogue of one test client.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use stunner_stun::{Class, Key, MessageWriter, Method, TransactionId, attr, channel_data};

use super::link::{Link, LinkError};
use super::messages::{Credentials, Incoming, Response, long_term_key};
use crate::config::{PASSWORD, Transport, USER};

/// Generous, because machines run tests while they compile something else.
const PATIENCE: Duration = Duration::from_secs(10);

/// Why a request did not succeed.
#[derive(Debug)]
pub enum Refusal {
    /// The server answered with this error code.
    Code(u16),
    NoAnswer,
    Link(LinkError),
}

impl Refusal {
    pub fn code(&self) -> Option<u16> {
        match self {
            Self::Code(code) => Some(*code),
            Self::NoAnswer | Self::Link(_) => None,
        }
    }
}

impl From<LinkError> for Refusal {
    fn from(error: LinkError) -> Self {
        Self::Link(error)
    }
}

#[derive(Debug)]
pub struct TurnClient {
    pub link: Link,
    pub credentials: Credentials,
    realm: Option<String>,
    nonce: Option<String>,
    key: Option<Key>,
    waiting: VecDeque<Incoming>,
    repeats: bool,
}

impl TurnClient {
    /// Connects with the credentials of [`crate::config::Config::empty`].
    #[track_caller]
    pub fn connect(transport: Transport, server: SocketAddr, ca_pem: &str) -> Self {
        let link = Link::connect(transport, server, ca_pem);
        Self::new(link.unwrap_or_else(|error| panic!("{transport:?} to {server}: {error:?}")))
    }

    pub fn new(link: Link) -> Self {
        let credentials = Credentials::new(USER, PASSWORD);
        Self {
            link,
            credentials,
            realm: None,
            nonce: None,
            key: None,
            waiting: VecDeque::new(),
            repeats: true,
        }
    }

    /// Sends every request once, for tests that count them. A slow machine must not let a request count twice, and
    /// loopback loses none.
    #[must_use]
    pub fn without_repeats(mut self) -> Self {
        self.repeats = false;
        self
    }

    #[must_use]
    pub fn with_credentials(mut self, credentials: Credentials) -> Self {
        self.credentials = credentials;
        self
    }

    /// The realm of the last challenge.
    pub fn realm(&self) -> Option<&str> {
        self.realm.as_deref()
    }

    pub fn nonce(&self) -> Option<&str> {
        self.nonce.as_deref()
    }

    /// Takes over realm and nonce of a challenge; later requests are authenticated with them.
    pub fn accept_challenge(&mut self, response: &Response) {
        if let Some(realm) = response.realm() {
            self.key = Some(long_term_key(&self.credentials, &realm));
            self.realm = Some(realm);
        }
        if let Some(nonce) = response.nonce() {
            self.nonce = Some(nonce);
        }
    }

    /// Sends a request, authenticated once a challenge was accepted, and does not wait for the answer.
    pub fn start(
        &mut self,
        method: Method,
        attributes: impl Fn(&mut MessageWriter<'_>),
    ) -> Result<(TransactionId, Vec<u8>), LinkError> {
        let id = fresh_id();
        let mut buffer = [0; 2048];
        let mut writer = MessageWriter::new(&mut buffer, Class::Request, method, id);
        attributes(&mut writer);
        if let (Some(realm), Some(nonce), Some(key)) = (&self.realm, &self.nonce, &self.key) {
            writer
                .username(&self.credentials.user)
                .realm(realm)
                .nonce(nonce)
                .integrity(key);
        }
        let length = writer.finish().expect("a request fits 2 KiB");
        let bytes = buffer[..length].to_vec();
        self.link.send(&bytes)?;
        Ok((id, bytes))
    }

    /// One request and its answer, whatever it is; repeated on datagram transports until it comes.
    pub fn exchange(
        &mut self,
        method: Method,
        attributes: impl Fn(&mut MessageWriter<'_>),
    ) -> Result<Response, Refusal> {
        let (id, bytes) = self.start(method, attributes)?;
        let deadline = Instant::now() + PATIENCE;
        let repeats = self.repeats && !self.link.transport().is_stream();
        let mut repeat = Instant::now() + Duration::from_millis(500);
        while Instant::now() < deadline {
            let until = if repeats {
                repeat.min(deadline)
            } else {
                deadline
            };
            match self.link.receive_until(until)?.and_then(Incoming::parse) {
                Some(Incoming::Response(got, response)) if got == id => return Ok(response),
                Some(Incoming::Response(..)) => {}
                Some(other) => self.waiting.push_back(other),
                None if repeats && Instant::now() >= repeat => {
                    self.link.send(&bytes)?;
                    repeat = Instant::now() + Duration::from_secs(1);
                }
                None => {}
            }
        }
        Err(Refusal::NoAnswer)
    }

    /// One request without credentials, as a client sends that knows none, and its answer.
    pub fn exchange_unauthenticated(
        &mut self,
        method: Method,
        attributes: impl Fn(&mut MessageWriter<'_>),
    ) -> Result<Response, Refusal> {
        let key = self.key.take();
        let answer = self.exchange(method, attributes);
        self.key = key;
        answer
    }

    /// Goes on as somebody else, in the same realm and with the same nonce.
    pub fn change_credentials(&mut self, credentials: Credentials) {
        self.credentials = credentials;
        if let Some(realm) = &self.realm {
            self.key = Some(long_term_key(&self.credentials, realm));
        }
    }

    /// One request with challenges answered: 401 once, while nothing is known yet, and 438 (RFC 8489 9.2.5).
    pub fn request(
        &mut self,
        method: Method,
        attributes: impl Fn(&mut MessageWriter<'_>),
    ) -> Result<Response, Refusal> {
        for attempt in 0..3 {
            let known = self.nonce.is_some();
            let response = self.exchange(method, &attributes)?;
            match response.code() {
                0 => return Ok(response),
                401 if !known => self.accept_challenge(&response),
                438 if attempt < 2 => self.accept_challenge(&response),
                code => return Err(Refusal::Code(code)),
            }
        }
        Err(Refusal::NoAnswer)
    }

    pub fn binding(&mut self) -> Result<SocketAddr, Refusal> {
        let response = self.exchange(Method::BINDING, |_| {})?;
        response.mapped().ok_or(Refusal::Code(response.code()))
    }

    /// A UDP allocation of the default lifetime; the relayed address.
    pub fn allocate(&mut self) -> Result<SocketAddr, Refusal> {
        let response = self.allocate_with(|_| {})?;
        Ok(response
            .relayed()
            .expect("a success has XOR-RELAYED-ADDRESS"))
    }

    pub fn allocate_with(
        &mut self,
        more: impl Fn(&mut MessageWriter<'_>),
    ) -> Result<Response, Refusal> {
        self.request(Method::ALLOCATE, |writer| {
            writer.requested_transport(17);
            more(writer);
        })
    }

    pub fn refresh(&mut self, lifetime: u32) -> Result<u32, Refusal> {
        let response = self.request(Method::REFRESH, |writer| {
            writer.lifetime(lifetime);
        })?;
        Ok(response.lifetime().unwrap_or(0))
    }

    pub fn permit(&mut self, peer: SocketAddr) -> Result<(), Refusal> {
        self.request(Method::CREATE_PERMISSION, |writer| {
            writer.xor_address(attr::XOR_PEER_ADDRESS, peer);
        })?;
        Ok(())
    }

    pub fn bind(&mut self, channel: u16, peer: SocketAddr) -> Result<(), Refusal> {
        self.request(Method::CHANNEL_BIND, |writer| {
            writer
                .channel_number(channel)
                .xor_address(attr::XOR_PEER_ADDRESS, peer);
        })?;
        Ok(())
    }

    pub fn send_channel(&mut self, channel: u16, payload: &[u8]) -> Result<(), LinkError> {
        let mut frame = channel_data::header(channel, payload.len() as u16).to_vec();
        frame.extend_from_slice(payload);
        self.link.send(&frame)
    }

    pub fn send_indication(&mut self, peer: SocketAddr, payload: &[u8]) -> Result<(), LinkError> {
        let mut buffer = vec![0; payload.len() + 128];
        let mut writer =
            MessageWriter::new(&mut buffer, Class::Indication, Method::SEND, fresh_id());
        writer
            .xor_address(attr::XOR_PEER_ADDRESS, peer)
            .data(payload);
        let length = writer.finish().expect("the buffer is large enough");
        self.link.send(&buffer[..length])
    }

    /// What has arrived, without waiting.
    pub fn poll(&mut self) -> Result<Option<Incoming>, LinkError> {
        if let Some(incoming) = self.waiting.pop_front() {
            return Ok(Some(incoming));
        }
        while let Some(frame) = self.link.receive()? {
            if let Some(incoming) = Incoming::parse(frame) {
                return Ok(Some(incoming));
            }
        }
        Ok(None)
    }

    /// The next thing that arrives within `patience`.
    pub fn receive(&mut self, patience: Duration) -> Result<Option<Incoming>, LinkError> {
        if let Some(incoming) = self.waiting.pop_front() {
            return Ok(Some(incoming));
        }
        let frame = self.link.receive_until(Instant::now() + patience)?;
        Ok(frame.and_then(Incoming::parse))
    }

    /// Sends `payload` on `channel` and wants it back; `false` when nothing comes within `patience`.
    pub fn echoes_within(&mut self, channel: u16, payload: &[u8], patience: Duration) -> bool {
        if self.send_channel(channel, payload).is_err() {
            return false;
        }
        let deadline = Instant::now() + patience;
        while let Ok(incoming) = self.receive(deadline.saturating_duration_since(Instant::now())) {
            match incoming {
                Some(Incoming::Channel(number, data)) if number == channel && data == payload => {
                    return true;
                }
                Some(_) => {}
                None => return false,
            }
        }
        false
    }

    /// As [`Self::echoes_within`], with a patience that suits a relay that works.
    pub fn echoes(&mut self, channel: u16, payload: &[u8]) -> bool {
        self.echoes_within(channel, payload, PATIENCE)
    }

    /// Allocates, binds `channel` to `peer` and checks that it echoes; the relayed address.
    #[track_caller]
    pub fn join(&mut self, channel: u16, peer: SocketAddr) -> SocketAddr {
        let relayed = self
            .allocate()
            .unwrap_or_else(|refusal| panic!("allocate: {refusal:?}"));
        self.bind(channel, peer)
            .unwrap_or_else(|refusal| panic!("bind {peer}: {refusal:?}"));
        // Whether there is a way is the question here, and where others send too a datagram may be lost on it.
        let tries = if self.link.transport().is_stream() {
            1
        } else {
            3
        };
        assert!(
            (0..tries).any(|_| self.echoes(channel, b"join")),
            "no echo from {peer} through {relayed}"
        );
        relayed
    }
}

/// Unique in this process, which is what a transaction id has to be.
pub fn fresh_id() -> TransactionId {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let mut id = [0; 12];
    id[..4].copy_from_slice(&std::process::id().to_be_bytes());
    id[4..].copy_from_slice(&number.to_be_bytes());
    TransactionId(id)
}
