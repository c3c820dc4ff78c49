//! The echo peer and a client of the same engine, over loopback.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use str0m::change::{SdpAnswer, SdpPendingOffer};
use str0m::channel::{ChannelConfig, ChannelId, Reliability};
use str0m::crypto::from_feature_flags;
use str0m::net::{Protocol, Receive};
use str0m::{Candidate, Event, Input, Output, Rtc, RtcConfig};
use tokio::net::UdpSocket;

use super::PATIENCE;
use crate::*;

struct Client {
    rtc: Rtc,
    socket: UdpSocket,
    address: SocketAddr,
    pending: Option<SdpPendingOffer>,
}

async fn bind() -> (UdpSocket, SocketAddr) {
    let socket = UdpSocket::bind("127.0.0.1:0").await.expect("a socket");
    let address = socket.local_addr().expect("an address");
    (socket, address)
}

impl Client {
    /// A client with channels, and its offer.
    async fn offer(channels: Vec<ChannelConfig>) -> (Client, Vec<ChannelId>, String) {
        let (socket, address) = bind().await;
        let mut rtc = RtcConfig::new()
            .set_crypto_provider(Arc::new(from_feature_flags()))
            .set_sctp_max_buffered_amount(1 << 20)
            .build(Instant::now());
        rtc.add_local_candidate(Candidate::host(address, "udp").expect("a candidate"));
        let mut change = rtc.sdp_api();
        let ids = channels
            .into_iter()
            .map(|config| change.add_channel_with_config(config))
            .collect();
        let (offer, pending) = change.apply().expect("an offer");
        let client = Client {
            rtc,
            socket,
            address,
            pending: Some(pending),
        };
        (client, ids, offer.to_sdp_string())
    }

    fn accept(&mut self, answer: &str) {
        let answer = SdpAnswer::from_sdp_string(answer).expect("an answer");
        let pending = self.pending.take().expect("one answer");
        let sdp = self.rtc.sdp_api();
        sdp.accept_answer(pending, answer).expect("accepted");
    }

    /// The next thing that happens.
    async fn event(&mut self) -> Event {
        let until = Instant::now() + PATIENCE;
        let mut buffer = vec![0; 65_535];
        loop {
            assert!(Instant::now() < until, "nothing happens");
            let wake = match self.rtc.poll_output().expect("output") {
                Output::Event(event) => return event,
                Output::Transmit(send) => {
                    let sent = self.socket.send_to(&send.contents, send.destination);
                    let _ = sent.await;
                    continue;
                }
                Output::Timeout(wake) => wake,
            };
            tokio::select! {
                received = self.socket.recv_from(&mut buffer) => {
                    let Ok((len, source)) = received else { continue };
                    let input = Input::Receive(Instant::now(), Receive {
                        proto: Protocol::Udp,
                        source,
                        destination: self.address,
                        contents: buffer[..len].try_into().expect("a datagram"),
                    });
                    self.rtc.handle_input(input).expect("input");
                }
                () = tokio::time::sleep_until(wake.min(until).into()) => {
                    self.rtc.handle_input(Input::Timeout(Instant::now())).expect("time");
                }
            }
        }
    }

    async fn open(&mut self, channels: usize) {
        let mut open = 0;
        while open < channels {
            if let Event::ChannelOpen(..) = self.event().await {
                open += 1;
            }
        }
    }

    async fn echo(&mut self, channel: ChannelId, binary: bool, message: &[u8]) {
        let mut sender = self.rtc.channel(channel).expect("an open channel");
        assert!(sender.write(binary, message).expect("written"), "no room");
        loop {
            if let Event::ChannelData(data) = self.event().await {
                assert_eq!(data.id, channel);
                assert_eq!(data.binary, binary);
                assert!(data.data == message, "{} bytes differ", message.len());
                return;
            }
        }
    }
}

fn ordered() -> ChannelConfig {
    ChannelConfig {
        label: "ordered".into(),
        ..ChannelConfig::default()
    }
}

fn lossy() -> ChannelConfig {
    ChannelConfig {
        label: "lossy".into(),
        ordered: false,
        reliability: Reliability::MaxRetransmits { retransmits: 0 },
        ..ChannelConfig::default()
    }
}

async fn connect(
    channels: Vec<ChannelConfig>,
    limits: Limits,
) -> (Client, Vec<ChannelId>, Session) {
    let count = channels.len();
    let (mut client, ids, offer) = Client::offer(channels).await;
    let (socket, address) = bind().await;
    let (answer, session) = EchoPeer::default()
        .answer(&offer, socket, address, limits)
        .expect("an answer");
    client.accept(&answer);
    client.open(count).await;
    (client, ids, session)
}

#[tokio::test]
async fn text_and_binary_come_back_on_their_channels() {
    let (mut client, ids, session) = connect(vec![ordered(), lossy()], Limits::default()).await;
    for channel in ids {
        client.echo(channel, false, "häßlich".as_bytes()).await;
        client.echo(channel, true, &[0, 255, 0]).await;
    }
    assert_eq!(session.has_ended(), None);
}

#[tokio::test]
async fn long_messages_come_back_whole() {
    let (mut client, ids, _session) = connect(vec![ordered()], Limits::default()).await;
    for len in [1_200, 65_535, 65_536, 200_000, 262_144] {
        let message: Vec<u8> = (0..len).map(|i| (i % 251) as u8).collect();
        client.echo(ids[0], true, &message).await;
    }
}

#[tokio::test]
async fn many_messages_keep_their_order() {
    let (mut client, ids, _session) = connect(vec![ordered()], Limits::default()).await;
    let mut sent = 0u32;
    let mut back = 0u32;
    while back < 500 {
        while sent < 500 {
            let mut channel = client.rtc.channel(ids[0]).expect("a channel");
            let mut message = vec![7; 4000];
            message[..4].copy_from_slice(&sent.to_be_bytes());
            if !channel.write(true, &message).expect("written") {
                break;
            }
            sent += 1;
        }
        if let Event::ChannelData(data) = client.event().await {
            assert_eq!(data.data[..4], back.to_be_bytes());
            back += 1;
        }
    }
}

#[tokio::test]
async fn a_session_ends_when_the_client_closes() {
    let (mut client, _, mut session) = connect(vec![ordered()], Limits::default()).await;
    client.rtc.close().expect("closing");
    while client.rtc.is_alive() {
        match client.rtc.poll_output().expect("output") {
            Output::Transmit(send) => {
                let sent = client.socket.send_to(&send.contents, send.destination);
                sent.await.expect("sent");
            }
            Output::Event(_) => {}
            Output::Timeout(_) => break,
        }
    }
    let ended = tokio::time::timeout(PATIENCE, session.ended()).await;
    assert_eq!(ended, Ok(Ended::Closed));
}

#[tokio::test]
async fn a_session_that_nobody_uses_ends() {
    let (_, _, offer) = Client::offer(vec![ordered()]).await;
    let (socket, address) = bind().await;
    let limits = Limits {
        idle: Duration::from_millis(50),
        ..Limits::default()
    };
    let answered = EchoPeer::default().answer(&offer, socket, address, limits);
    let (_, mut session) = answered.expect("an answer");
    let ended = tokio::time::timeout(PATIENCE, session.ended()).await;
    assert_eq!(ended, Ok(Ended::Idle));
}

#[tokio::test]
async fn strangers_on_the_socket_do_not_keep_a_session_alive() {
    let (_, _, offer) = Client::offer(vec![ordered()]).await;
    let (socket, address) = bind().await;
    let limits = Limits {
        idle: Duration::from_millis(300),
        ..Limits::default()
    };
    let answered = EchoPeer::default().answer(&offer, socket, address, limits);
    let (_, mut session) = answered.expect("an answer");
    let (stranger, _) = bind().await;
    let started = Instant::now();
    while session.has_ended().is_none() && started.elapsed() < PATIENCE {
        let _ = stranger.send_to(&[0; 40], address).await;
        let _ = stranger.send_to(b"hello", address).await;
        let _ = stranger.send_to(&[], address).await;
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(session.ended().await, Ended::Idle);
}

/// Uses a session of this length until it ends; how it ended, and whether it had echoed until then.
async fn use_up(whole: Duration) -> (Ended, bool) {
    let (mut client, ids, offer) = Client::offer(vec![ordered()]).await;
    let (socket, address) = bind().await;
    let limits = Limits {
        whole,
        ..Limits::default()
    };
    let answered = EchoPeer::default().answer(&offer, socket, address, limits);
    let (answer, mut session) = answered.expect("an answer");
    client.accept(&answer);
    let mut has_echoed = false;
    let until = Instant::now() + whole + PATIENCE;
    while session.has_ended().is_none() {
        assert!(Instant::now() < until, "no end");
        if let Some(mut channel) = client.rtc.channel(ids[0]) {
            let _ = channel.write(false, b"x");
        }
        let event = tokio::time::timeout(Duration::from_millis(50), client.event()).await;
        has_echoed |= matches!(event, Ok(Event::ChannelData(_)));
    }
    (session.ended().await, has_echoed)
}

#[tokio::test]
async fn a_session_ends_at_its_deadline_though_it_is_used() {
    // To connect takes a part of the time, on a machine under load more than there is.
    for seconds in [1, 2, 4, 8, 16, 32] {
        let (ended, has_echoed) = use_up(Duration::from_secs(seconds)).await;
        assert_eq!(ended, Ended::Deadline);
        if has_echoed {
            return;
        }
    }
    panic!("nothing came back");
}

#[tokio::test]
async fn dropping_the_session_frees_the_socket() {
    let (_client, _, session) = connect(vec![ordered()], Limits::default()).await;
    let (_, _, offer) = Client::offer(vec![ordered()]).await;
    let (socket, address) = bind().await;
    let answered = EchoPeer::default().answer(&offer, socket, address, Limits::default());
    drop(answered.expect("an answer"));
    drop(session);
    let started = Instant::now();
    while UdpSocket::bind(address).await.is_err() {
        assert!(started.elapsed() < PATIENCE, "the socket stays");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn the_answer_is_ice_lite_with_one_host_candidate() {
    let (_, _, offer) = Client::offer(vec![ordered()]).await;
    let (socket, address) = bind().await;
    let answered = EchoPeer::default().answer(&offer, socket, address, Limits::default());
    let (answer, _session) = answered.expect("an answer");
    assert!(answer.lines().any(|line| line == "a=ice-lite"), "{answer}");
    let candidates: Vec<&str> = answer
        .lines()
        .filter(|line| line.starts_with("a=candidate:"))
        .collect();
    assert_eq!(candidates.len(), 1, "{answer}");
    let expected = format!("{} {} typ host", address.ip(), address.port());
    assert!(candidates[0].contains(&expected), "{answer}");
}

#[tokio::test]
async fn what_is_no_offer_is_refused_with_a_reason() {
    let refused = async |offer: &str| {
        let (socket, address) = bind().await;
        match EchoPeer::default().answer(offer, socket, address, Limits::default()) {
            Ok(_) => panic!("answered: {offer}"),
            Err(error) => error,
        }
    };
    for text in [
        "",
        "hello",
        "v=0\r\n",
        "{\"sdp\":\"\"}",
        "\u{0}",
        "m=application",
    ] {
        let error = refused(text).await;
        assert!(
            matches!(error, OfferError::Syntax(_) | OfferError::Unacceptable(_)),
            "{text:?}: {error}"
        );
        // The reader of SDP tells where in this process's memory it stopped.
        let said = error.to_string();
        assert!(!said.contains("0x") && !said.contains('\n'), "{said}");
    }
    let (_, _, offer) = Client::offer(vec![ordered()]).await;
    let without_fingerprint: String = offer
        .lines()
        .filter(|line| !line.starts_with("a=fingerprint"))
        .flat_map(|line| [line, "\r\n"])
        .collect();
    let error = refused(&without_fingerprint).await;
    assert!(matches!(error, OfferError::Unacceptable(_)), "{error}");
    for cut in (0..offer.len()).step_by(7) {
        // Whatever it says, it must not panic.
        let (socket, address) = bind().await;
        let _ = EchoPeer::default().answer(&offer[..cut], socket, address, Limits::default());
    }
}

/// As Chromium writes it: with a name instead of an address, and further attributes.
const OF_A_BROWSER: &str = "v=0\r\no=- 4858251974351650128 2 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\n\
    a=group:BUNDLE 0\r\na=extmap-allow-mixed\r\na=msid-semantic: WMS\r\n\
    m=application 50000 UDP/DTLS/SCTP webrtc-datachannel\r\nc=IN IP4 203.0.113.1\r\n\
    a=candidate:2071231163 1 udp 2113937151 0c1a3f5e-8f0e-4a5f-9d53-6c5b0f3d9f6a.local 57512 typ host generation 0 network-cost 999\r\n\
    a=candidate:842163049 1 udp 8331007 203.0.113.1 50000 typ relay raddr 0.0.0.0 rport 0 generation 0 network-cost 999\r\n\
    a=ice-ufrag:4ZcD\r\na=ice-pwd:2/1muCWoOi3uLifh0NuRHlpE\r\na=ice-options:trickle\r\n\
    a=fingerprint:sha-256 39:4A:09:1E:0E:33:32:85:51:03:49:95:54:0B:41:09:A2:10:60:CC:39:8F:C0:C4:45:FC:37:3A:55:EA:11:CC\r\n\
    a=setup:actpass\r\na=mid:0\r\na=sctp-port:5000\r\na=max-message-size:262144\r\n";

#[tokio::test]
async fn an_offer_of_a_browser_is_answered() {
    let offer = OF_A_BROWSER;
    let (socket, address) = bind().await;
    let answered = EchoPeer::default().answer(offer, socket, address, Limits::default());
    let (answer, _session) = answered.expect("an answer");
    assert!(answer.contains("a=mid:0"), "{answer}");

    let (socket, address) = bind().await;
    let rejected = offer.replace("m=application 50000", "m=audio 50000");
    let answered = EchoPeer::default().answer(&rejected, socket, address, Limits::default());
    assert!(answered.is_err());
}

/// RFC 8866 §5.14: one format at least, also for what is refused. Browsers take no answer without it, and no candidates of
/// what is refused.
#[tokio::test]
async fn refused_media_beside_the_data_channel_keeps_a_format_and_no_candidate() {
    let at = OF_A_BROWSER.find("m=application").expect("a data channel");
    let (session, channel) = OF_A_BROWSER.split_at(at);
    let session = session.replace("BUNDLE 0", "BUNDLE 0 1 2");
    let secrets: String = channel
        .split_inclusive("\r\n")
        .filter(|line| {
            ["a=ice-", "a=fingerprint", "a=setup"]
                .iter()
                .any(|it| line.starts_with(it))
        })
        .collect();
    let media = |kind: &str, formats: &str, mid: u8, codec: &str| {
        format!(
            "m={kind} 9 UDP/TLS/RTP/SAVPF {formats}\r\nc=IN IP4 0.0.0.0\r\na=rtcp:9 IN IP4 0.0.0.0\r\n{secrets}\
             a=mid:{mid}\r\na=sendrecv\r\na=msid:- 0c1a3f5e\r\na=rtcp-mux\r\na=rtpmap:{codec}\r\n"
        )
    };
    let audio = media(
        "audio",
        "111 9",
        1,
        "111 opus/48000/2\r\na=rtpmap:9 G722/8000",
    );
    let video = media("video", "96", 2, "96 VP8/90000");
    let (socket, address) = bind().await;
    let offer = format!("{session}{audio}{channel}{video}");
    let answered = EchoPeer::default().answer(&offer, socket, address, Limits::default());
    let (answer, _session) = answered.expect("an answer");
    let media: Vec<&str> = answer.lines().filter(|it| it.starts_with("m=")).collect();
    assert_eq!(
        media,
        [
            "m=audio 0 UDP/TLS/RTP/SAVPF 111",
            "m=application 9 UDP/DTLS/SCTP webrtc-datachannel",
            "m=video 0 UDP/TLS/RTP/SAVPF 96",
        ]
    );
    let (refused, taken) = answer.split_once("m=application").expect("a channel");
    assert!(!refused.contains("a=candidate:"), "{answer}");
    let candidates = taken.matches("a=candidate:").count();
    assert_eq!(candidates, 1, "{answer}");
    assert!(
        answer.ends_with("\r\n") && !answer.contains("\r\r"),
        "{answer:?}"
    );
}
