//! What a browser does with `iceServers`: allocate, make an offer, and send everything by way of the relay.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use str0m::change::{SdpAnswer, SdpPendingOffer};
use str0m::channel::ChannelId;
use str0m::crypto::from_feature_flags;
use str0m::net::{Protocol, Receive};
use str0m::{Candidate, Event as RtcEvent, Input, Output, Rtc, RtcConfig};
use stunner_turn::client::{AllocateOptions, Client, Event, Settings, Transport};
use tokio::net::UdpSocket;
use tokio::time::timeout;

const PATIENCE: Duration = Duration::from_secs(20);

pub struct Browser {
    pub password: String,
    username: String,
    turn: Client,
    socket: UdpSocket,
    started: Instant,
    rtc: Rtc,
    channel: Option<ChannelId>,
    pending: Option<SdpPendingOffer>,
}

impl Browser {
    pub async fn with(ice_server: &Value, turn: SocketAddr) -> Self {
        let text = |name: &str| ice_server[name].as_str().unwrap().to_owned();
        Self::new(text("username"), text("credential"), turn).await
    }

    /// A user of the gateway's configuration.
    pub async fn of_user(auth: &str, turn: SocketAddr) -> Self {
        // The password of an ephemeral name: base64 of HMAC-SHA1 with the secret of the gateway over the name.
        let (username, password) = match auth {
            "ephemeral" => ("4000000000:user", "/+4F3t0FzsrQQys7nhb97EvkIGU="),
            _ => ("user", "pass"),
        };
        Self::new(username.into(), password.into(), turn).await
    }

    /// Another one with the same credential.
    pub async fn again(&self, turn: SocketAddr) -> Self {
        Self::new(self.username.clone(), self.password.clone(), turn).await
    }

    async fn new(username: String, password: String, turn: SocketAddr) -> Self {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        socket.connect(turn).await.unwrap();
        let settings = Settings::with_password(&username, &password, Transport::Datagram);
        let rtc = RtcConfig::new()
            .set_crypto_provider(Arc::new(from_feature_flags()))
            .build(Instant::now());
        Browser {
            username,
            password,
            turn: Client::new(settings, rand::random()),
            socket,
            started: Instant::now(),
            rtc,
            channel: None,
            pending: None,
        }
    }

    fn now(&self) -> u64 {
        self.started.elapsed().as_millis() as u64
    }

    pub async fn allocate(&mut self) -> Event {
        let now = self.now();
        self.turn.allocate(now, AllocateOptions::default()).unwrap();
        self.answer().await
    }

    pub async fn bind_channel(&mut self, peer: SocketAddr) -> Event {
        let now = self.now();
        self.turn.bind_channel(now, peer).unwrap();
        self.answer().await
    }

    async fn answer(&mut self) -> Event {
        let answered = async {
            let mut buffer = [0; 2048];
            loop {
                self.transmit().await;
                let length = self.socket.recv(&mut buffer).await.unwrap();
                let now = self.now();
                match self.turn.handle(now, &buffer[..length]) {
                    Event::Ignored | Event::Pending | Event::Data { .. } => {}
                    event => return event,
                }
            }
        };
        timeout(PATIENCE, answered).await.expect("an answer")
    }

    async fn transmit(&mut self) {
        while let Some(packet) = self.turn.poll_transmit() {
            self.socket.send(&packet).await.unwrap();
        }
    }

    /// An offer with the relayed address as its only candidate.
    pub fn offer(&mut self) -> String {
        let relayed = self.turn.relayed().expect("an allocation");
        let local = self.socket.local_addr().unwrap();
        let candidate = Candidate::relayed(relayed, local, "udp").unwrap();
        self.rtc.add_local_candidate(candidate);
        let mut change = self.rtc.sdp_api();
        self.channel = Some(change.add_channel("ping".into()));
        let (offer, pending) = change.apply().unwrap();
        self.pending = Some(pending);
        offer.to_sdp_string()
    }

    pub fn accept(&mut self, answer: &str) {
        let answer = SdpAnswer::from_sdp_string(answer).unwrap();
        let pending = self.pending.take().unwrap();
        self.rtc.sdp_api().accept_answer(pending, answer).unwrap();
    }

    pub async fn open(&mut self) {
        while !matches!(self.event().await, RtcEvent::ChannelOpen(..)) {}
    }

    pub async fn echo(&mut self, message: &[u8]) -> Vec<u8> {
        let mut channel = self.rtc.channel(self.channel.unwrap()).unwrap();
        assert!(channel.write(true, message).unwrap());
        loop {
            if let RtcEvent::ChannelData(data) = self.event().await {
                return data.data;
            }
        }
    }

    pub async fn close(&mut self) {
        self.rtc.close().unwrap();
        while self.rtc.is_alive() {
            match self.rtc.poll_output().unwrap() {
                Output::Transmit(send) => self.send(send.destination, &send.contents).await,
                Output::Event(_) => {}
                Output::Timeout(_) => break,
            }
        }
    }

    async fn send(&mut self, peer: SocketAddr, payload: &[u8]) {
        let mut packet = vec![0; payload.len() + 64];
        // Without a channel or permission there is no way, as in a browser.
        if let Ok(length) = self.turn.send(peer, payload, &mut packet) {
            self.socket.send(&packet[..length]).await.unwrap();
        }
    }

    async fn event(&mut self) -> RtcEvent {
        let until = Instant::now() + PATIENCE;
        let mut buffer = vec![0; 4096];
        loop {
            assert!(Instant::now() < until, "nothing happens");
            let wake = match self.rtc.poll_output().unwrap() {
                Output::Event(event) => return event,
                Output::Transmit(send) => {
                    self.send(send.destination, &send.contents).await;
                    continue;
                }
                Output::Timeout(wake) => wake,
            };
            self.transmit().await;
            tokio::select! {
                received = self.socket.recv(&mut buffer) => {
                    let length = received.unwrap();
                    let now = self.now();
                    if let Event::Data { peer, range } = self.turn.handle(now, &buffer[..length]) {
                        let input = Input::Receive(Instant::now(), Receive {
                            proto: Protocol::Udp,
                            source: peer,
                            destination: self.turn.relayed().unwrap(),
                            contents: buffer[range].try_into().unwrap(),
                        });
                        self.rtc.handle_input(input).unwrap();
                    }
                }
                () = tokio::time::sleep_until(wake.min(until).into()) => {
                    self.rtc.handle_input(Input::Timeout(Instant::now())).unwrap();
                }
            }
        }
    }
}
