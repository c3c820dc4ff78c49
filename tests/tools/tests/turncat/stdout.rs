//! Where standard output goes: readers that take their time, that have seen enough, and disks that are full.

use std::fs::OpenOptions;
use std::io::{PipeReader, Read, pipe};
use std::time::Duration;

use interop_tests::config::Transport;
use interop_tests::echo::{TcpEcho, UdpEcho};
use interop_tests::process::wait_until;

use crate::process::{PATIENCE, Turncat, expect_problem};
use crate::scenery::{Auth, Server, pattern};

/// Enough for the slowest answer, and yet over before the reader begins to read.
const LINGER: Duration = Duration::from_secs(2);
const READER_AWAY: Duration = Duration::from_secs(5);
/// More than a pipe holds, less than the sockets on the way do.
const MUCH: usize = 180_000;

fn turncat(server: &Server, peer: &str) -> (Turncat, PipeReader) {
    let (reader, writer) = pipe().expect("a pipe");
    let linger = format!("{}s", LINGER.as_secs());
    let flags = ["--linger", &linger];
    let turncat = server.turncat_onto(writer, "-", Transport::Tcp, "127.0.0.1", peer, &flags);
    (turncat, reader)
}

#[track_caller]
fn expect_all_in_the_end(mut turncat: Turncat, mut reader: PipeReader) {
    turncat.close_stdin();
    std::thread::sleep(READER_AWAY);
    let mut read = Vec::new();
    reader.read_to_end(&mut read).expect("the answers");
    let ended = turncat.end();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(
        read == pattern(MUCH),
        "{} bytes came: {}",
        read.len(),
        ended.stderr
    );
}

#[test]
fn a_slow_reader_gets_all_of_a_stream() {
    let server = Server::start(Auth::Static);
    let peer = TcpEcho::start("127.0.0.1:0");
    let (mut turncat, reader) = turncat(&server, &format!("tcp://{}", peer.address()));
    turncat.write(&pattern(MUCH));
    expect_all_in_the_end(turncat, reader);
}

#[test]
fn a_slow_reader_gets_all_datagrams() {
    let server = Server::start(Auth::Static);
    let peer = UdpEcho::start("127.0.0.1:0");
    let (mut turncat, reader) = turncat(&server, &format!("udp://{}", peer.address()));
    for part in pattern(MUCH).chunks(MUCH / 6) {
        // More at once might be too much for the peer.
        let before = peer.seen();
        turncat.write(part);
        assert!(wait_until(PATIENCE, || peer.seen() > before));
    }
    expect_all_in_the_end(turncat, reader);
}

#[test]
fn a_reader_that_never_reads_does_not_hold_off_a_signal() {
    let server = Server::start(Auth::Static);
    let peer = TcpEcho::start("127.0.0.1:0");
    let (mut turncat, _reader) = turncat(&server, &format!("tcp://{}", peer.address()));
    turncat.write(&pattern(MUCH));
    turncat.close_stdin();
    std::thread::sleep(READER_AWAY);
    turncat.signal(libc::SIGTERM);
    assert_eq!(turncat.end().code, Some(0));
}

#[test]
fn an_output_that_takes_nothing_is_a_problem_and_a_reader_that_left_is_none() {
    let server = Server::start(Auth::Static);
    let (udp, tcp) = (UdpEcho::start("127.0.0.1:0"), TcpEcho::start("127.0.0.1:0"));
    for peer in [
        format!("udp://{}", udp.address()),
        format!("tcp://{}", tcp.address()),
    ] {
        let full = OpenOptions::new().write(true).open("/dev/full");
        let full = full.expect("/dev/full");
        let mut turncat = server.turncat_onto(full, "-", Transport::Tcp, "127.0.0.1", &peer, &[]);
        turncat.write(b"hello");
        let ended = turncat.end();
        expect_problem(
            &ended,
            "cannot write to standard output",
            "disk that is full",
        );

        let (reader, writer) = pipe().expect("a pipe");
        drop(reader);
        let mut turncat = server.turncat_onto(writer, "-", Transport::Tcp, "127.0.0.1", &peer, &[]);
        turncat.write(b"hello");
        let ended = turncat.end();
        assert_eq!(ended.code, Some(0), "{peer}: {}", ended.stderr);
        assert!(!ended.stderr.contains("error: "), "{}", ended.stderr);
    }
}
