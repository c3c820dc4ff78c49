//! Ways through a TURN server that answers as no real one does on demand. It asks for no credentials.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::Duration;

use stunner_client::{AllocateOptions, Connect, Relay, ServerTransport};
use stunner_stun::{Class, Message, MessageWriter, Method, attr};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::PATIENCE;
use crate::candidate::{CandidateKind, LocalCandidate};
use crate::path::{Path, Paths, Way};

const RELAYED: &str = "192.0.2.2:50000";

fn address(text: &str) -> SocketAddr {
    text.parse().expect("an address")
}

/// The answer to a request, which is an error where there is a code.
fn answer(request: &Message<'_>, code: Option<u16>) -> Vec<u8> {
    let class = match code {
        Some(_) => Class::Error,
        None => Class::Success,
    };
    let (method, id) = (request.method(), request.transaction_id());
    let mut buffer = [0; 512];
    let mut writer = MessageWriter::new(&mut buffer, class, method, id);
    if let Some(code) = code {
        writer.error(code, "no");
    } else if method == Method::ALLOCATE {
        writer.xor_address(attr::XOR_RELAYED_ADDRESS, address(RELAYED));
        writer.xor_address(attr::XOR_MAPPED_ADDRESS, address("192.0.2.3:4000"));
        writer.lifetime(600);
    } else if method == Method::REFRESH {
        writer.lifetime(0);
    }
    let len = writer.finish().expect("room");
    buffer[..len].to_vec()
}

/// What a server saw.
#[derive(Debug, PartialEq, Eq)]
enum Seen {
    ChannelBind,
    Data(Vec<u8>),
}

/// A server over UDP that meets every ChannelBind with the next of these codes, and takes those after.
async fn scripted(codes: Vec<u16>) -> (SocketAddr, mpsc::UnboundedReceiver<Seen>) {
    let socket = UdpSocket::bind("127.0.0.1:0").await.expect("a socket");
    let server = socket.local_addr().expect("an address");
    let (sender, seen) = mpsc::unbounded_channel();
    let mut codes = codes.into_iter();
    // A request that is repeated has the same answer.
    let mut code_by_request = HashMap::new();
    tokio::spawn(async move {
        let mut buffer = [0; 4096];
        while let Ok((len, from)) = socket.recv_from(&mut buffer).await {
            let Ok(request) = Message::parse(&buffer[..len]) else {
                let _ = sender.send(Seen::Data(buffer[4..len].to_vec()));
                continue;
            };
            let code = match request.method() {
                Method::CHANNEL_BIND => *code_by_request
                    .entry(request.transaction_id())
                    .or_insert_with(|| {
                        let _ = sender.send(Seen::ChannelBind);
                        codes.next()
                    }),
                _ => None,
            };
            let _ = socket.send_to(&answer(&request, code), from).await;
        }
    });
    (server, seen)
}

/// Reads a request off a stream and answers it.
async fn serve_one(stream: &mut TcpStream) {
    let mut request = vec![0; 20];
    stream.read_exact(&mut request).await.expect("a header");
    let len = usize::from(u16::from_be_bytes([request[2], request[3]]));
    request.resize(20 + len, 0);
    let rest = stream.read_exact(&mut request[20..]).await;
    rest.expect("the attributes");
    let request = Message::parse(&request).expect("a request");
    let written = stream.write_all(&answer(&request, None)).await;
    written.expect("an answer");
}

async fn paths_through(server: SocketAddr, transport: ServerTransport) -> Paths {
    let mut connect = Connect::new(server, transport);
    connect.timeout = PATIENCE;
    let allocating = Relay::allocate(connect, AllocateOptions::default());
    let relay = allocating.await.expect("a relay");
    Paths::open(vec![Path {
        candidate: LocalCandidate {
            kind: CandidateKind::Relay,
            address: relay.relayed(),
            server: None,
        },
        way: Way::Relay(relay),
    }])
}

#[tokio::test]
async fn a_question_without_an_answer_is_no_refusal_and_is_asked_again() {
    // Without credentials a 401 cannot be followed, and says nothing of the peer.
    let (server, mut seen) = scripted(vec![401, 401]).await;
    let paths = paths_through(server, ServerTransport::Udp).await;
    let peer = address("192.0.2.9:9");
    let sending = async {
        assert!(!paths.is_unanswered());
        loop {
            paths.send(address(RELAYED), peer, b"check").await;
            assert_eq!(paths.refusals(), []);
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let passing = async {
        let mut asked = 0;
        while let Some(Seen::ChannelBind) = seen.recv().await {
            asked += 1;
        }
        asked
    };
    let asked = tokio::select! {
        () = sending => unreachable!(),
        asked = timeout(PATIENCE, passing) => asked.expect("data passes in the end"),
    };
    assert_eq!(asked, 3);
    assert!(!paths.is_unanswered());
    paths.close().await;
}

#[tokio::test]
async fn a_refusal_is_told_and_not_asked_for_again() {
    let (server, mut seen) = scripted(vec![403]).await;
    let paths = paths_through(server, ServerTransport::Udp).await;
    let (refused, admitted) = (address("192.0.2.9:9"), address("192.0.2.8:8"));
    let asking = async {
        paths.send(address(RELAYED), refused, b"first").await;
        assert!(paths.is_unanswered());
        while paths.refusals().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(PATIENCE, asking).await.expect("a refusal");
    let (peer, why) = &paths.refusals()[0];
    assert_eq!(*peer, refused);
    assert!(why.contains("403"), "{why}");
    assert!(!paths.is_unanswered());

    paths.send(address(RELAYED), refused, b"second").await;
    paths.send(address(RELAYED), admitted, b"third").await;
    let third = Seen::Data(b"third".to_vec());
    for expected in [Seen::ChannelBind, Seen::ChannelBind, third] {
        let next = timeout(PATIENCE, seen.recv()).await.expect("in time");
        assert_eq!(next, Some(expected));
    }
    paths.close().await;
}

#[tokio::test]
async fn a_server_that_reads_no_more_holds_up_nobody() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a listener");
    let server = listener.local_addr().expect("an address");
    let serving = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a client");
        // An allocation and a channel.
        for _ in 0..2 {
            serve_one(&mut stream).await;
        }
        stream
    });
    let paths = paths_through(server, ServerTransport::Tcp).await;
    let peer = address("192.0.2.9:9");
    paths.send(address(RELAYED), peer, b"check").await;
    let _stalled = serving.await.expect("served");
    let flooding = async {
        while paths.is_unanswered() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        // More than the buffers on the way take.
        for _ in 0..4096 {
            paths.send(address(RELAYED), peer, &[0; 60_000]).await;
        }
    };
    let flooded = timeout(PATIENCE, flooding).await;
    flooded.expect("what does not go out is lost");
}
