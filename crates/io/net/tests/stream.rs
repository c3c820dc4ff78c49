//! TCP sockets and the poller.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use stunner_net::poll::{Events, Interest, Poller, Token};
use stunner_net::stream::{
    ListenOptions, Listener, connect_from, connect_result, listen, reset_on_close, unsent_bytes,
};

fn local(ip: &str) -> SocketAddr {
    SocketAddr::new(ip.parse().unwrap(), 0)
}

fn accept(listener: &Listener) -> (TcpStream, SocketAddr) {
    for _ in 0..1000 {
        if let Some(accepted) = listener.accept().unwrap() {
            return accepted;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!("nobody connects");
}

fn connected(stream: &TcpStream) {
    for _ in 0..1000 {
        if connect_result(stream).unwrap() {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!("not connected");
}

#[test]
fn connections_of_both_families_are_accepted_ready_for_use() {
    for ip in ["127.0.0.1", "::1"] {
        let listener = listen(local(ip), &ListenOptions::default()).unwrap();
        assert!(listener.accept().unwrap().is_none());
        let mut client = TcpStream::connect(listener.local_addr()).unwrap();
        let (mut server, from) = accept(&listener);
        assert_eq!(from, client.local_addr().unwrap());
        assert!(server.nodelay().unwrap());
        let error = server.read(&mut [0; 1]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WouldBlock);
        server.write_all(b"hi").unwrap();
        let mut bytes = [0; 2];
        client.read_exact(&mut bytes).unwrap();
        assert_eq!(&bytes, b"hi");
    }
}

#[test]
fn shards_share_a_port() {
    let first = listen(local("127.0.0.1"), &ListenOptions::default()).unwrap();
    let second = listen(first.local_addr(), &ListenOptions::default()).unwrap();
    assert_eq!(first.local_addr(), second.local_addr());
    let alone = ListenOptions {
        reuse_port: false,
        ..ListenOptions::default()
    };
    assert!(listen(first.local_addr(), &alone).is_err());
}

#[test]
fn rfc6062_5_2_a_relayed_address_is_listened_on_and_connected_from() {
    let relayed = listen(local("127.0.0.1"), &ListenOptions::default()).unwrap();
    let peers: Vec<_> = (0..3)
        .map(|_| listen(local("127.0.0.1"), &ListenOptions::default()).unwrap())
        .collect();
    for peer in &peers {
        let stream = connect_from(relayed.local_addr(), peer.local_addr()).unwrap();
        connected(&stream);
        let (_, from) = accept(peer);
        assert_eq!(from, relayed.local_addr());
    }
    // It still accepts.
    let client = TcpStream::connect(relayed.local_addr()).unwrap();
    assert_eq!(accept(&relayed).1, client.local_addr().unwrap());
}

#[test]
fn a_second_connection_to_the_same_peer_from_the_same_address_fails() {
    let relayed = listen(local("127.0.0.1"), &ListenOptions::default()).unwrap();
    let peer = listen(local("127.0.0.1"), &ListenOptions::default()).unwrap();
    let stream = connect_from(relayed.local_addr(), peer.local_addr()).unwrap();
    connected(&stream);
    let error = connect_from(relayed.local_addr(), peer.local_addr()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AddrNotAvailable);
}

#[test]
fn a_refused_connection_is_reported_through_the_poller() {
    let closed = listen(local("127.0.0.1"), &ListenOptions::default())
        .unwrap()
        .local_addr();
    let poller = Poller::new().unwrap();
    let mut events = Events::with_capacity(8);
    let result = connect_from(local("127.0.0.1"), closed).and_then(|stream| {
        poller.add(&stream, Token(5), Interest::Both)?;
        poller.wait(&mut events, Some(Duration::from_secs(2)))?;
        let event = events.iter().next().expect("an event");
        assert!(event.token == Token(5) && event.writable && event.hangup);
        connect_result(&stream)
    });
    assert_eq!(result.unwrap_err().kind(), ErrorKind::ConnectionRefused);
}

#[test]
fn unsent_bytes_and_resets_are_seen() {
    let listener = listen(local("127.0.0.1"), &ListenOptions::default()).unwrap();
    let mut client = TcpStream::connect(listener.local_addr()).unwrap();
    let (mut server, _) = accept(&listener);
    let block = [0; 65_536];
    while server.write(&block).is_ok() {}
    assert!(unsent_bytes(&server).unwrap() > 0);
    reset_on_close(&server);
    drop(server);
    let mut sink = Vec::new();
    assert_eq!(
        client.read_to_end(&mut sink).unwrap_err().kind(),
        ErrorKind::ConnectionReset
    );
}

#[test]
fn edges_are_reported_once_and_rearmed_by_modify() {
    let poller = Poller::new().unwrap();
    let mut events = Events::with_capacity(8);
    let listener = listen(local("127.0.0.1"), &ListenOptions::default()).unwrap();
    poller.add(&listener, Token(1), Interest::Readable).unwrap();
    let mut client = TcpStream::connect(listener.local_addr()).unwrap();
    assert_eq!(
        poller
            .wait(&mut events, Some(Duration::from_secs(2)))
            .unwrap(),
        1
    );
    let (server, _) = accept(&listener);
    poller.add(&server, Token(2), Interest::Readable).unwrap();
    client.write_all(b"x").unwrap();
    assert_eq!(
        poller
            .wait(&mut events, Some(Duration::from_secs(2)))
            .unwrap(),
        1
    );
    let event = events.iter().next().unwrap();
    assert!(event.token == Token(2) && event.readable && !event.writable && !event.hangup);
    assert_eq!(
        poller.wait(&mut events, Some(Duration::ZERO)).unwrap(),
        0,
        "an edge, not a level"
    );
    poller.modify(&server, Token(3), Interest::Both).unwrap();
    poller.wait(&mut events, Some(Duration::ZERO)).unwrap();
    let event = events.iter().next().unwrap();
    assert!(event.token == Token(3) && event.readable && event.writable);
    poller.remove(&server).unwrap();
    client.write_all(b"y").unwrap();
    assert_eq!(
        poller
            .wait(&mut events, Some(Duration::from_millis(5)))
            .unwrap(),
        0
    );
    assert!(events.is_empty());
}

#[test]
fn a_waker_wakes_from_another_thread_every_time() {
    let poller = Poller::new().unwrap();
    let waker = poller.waker(Token(9)).unwrap();
    let mut events = Events::with_capacity(8);
    for _ in 0..3 {
        let other = waker.clone();
        let thread = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(5));
            other.wake();
            other.wake();
        });
        let start = Instant::now();
        poller
            .wait(&mut events, Some(Duration::from_secs(5)))
            .unwrap();
        assert!(start.elapsed() < Duration::from_secs(4));
        assert_eq!(events.iter().next().unwrap().token, Token(9));
        thread.join().unwrap();
        // The second wake may be an edge of its own.
        poller.wait(&mut events, Some(Duration::ZERO)).unwrap();
    }
    assert_eq!(poller.wait(&mut events, Some(Duration::ZERO)).unwrap(), 0);
}
