//! TLS sessions against clients of rustls (in memory) and of the OpenSSL command line.

mod certificates;

use std::io::{Read, Write};
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::sync::Arc;

use certificates::{Form, Kind, Made, make};
use rustls::{ClientConfig, ClientConnection, RootCertStore, SupportedProtocolVersion};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use stunner_net::identity::Identity;
use stunner_net::stream::{ListenOptions, listen};
use stunner_net::tls::{ALPN_TURN, TlsAcceptor, TlsError, TlsSession};

fn acceptor(made: &Made) -> TlsAcceptor {
    TlsAcceptor::new(&Identity::from_pem(&made.chain, &made.key).unwrap()).unwrap()
}

fn client(
    made: &Made,
    version: &'static SupportedProtocolVersion,
    alpn: &[&[u8]],
) -> ClientConnection {
    let mut roots = RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_slice(&made.root).unwrap())
        .unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[version])
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
    ClientConnection::new(Arc::new(config), "localhost".try_into().unwrap()).unwrap()
}

/// Moves bytes both ways, `step` at a time, until neither side has more; what the server read.
fn exchange(
    client: &mut ClientConnection,
    server: &mut TlsSession,
    step: usize,
) -> Result<Vec<u8>, TlsError> {
    let mut plaintext = Vec::new();
    loop {
        let (mut up, mut down) = (Vec::new(), Vec::new());
        while client.wants_write() {
            client.write_tls(&mut up).unwrap();
        }
        let mut result = Ok(());
        for piece in up.chunks(step) {
            result = server.read_ciphertext(piece, &mut |bytes| plaintext.extend_from_slice(bytes));
            if result.is_err() {
                break;
            }
        }
        assert_eq!(server.has_ciphertext(), {
            server.take_ciphertext(&mut down);
            !down.is_empty()
        });
        let mut rest = &down[..];
        while !rest.is_empty() {
            client.read_tls(&mut rest).unwrap();
            let _ = client.process_new_packets();
        }
        result?;
        if up.is_empty() && down.is_empty() {
            return Ok(plaintext);
        }
    }
}

fn read_all(client: &mut ClientConnection) -> Vec<u8> {
    let mut bytes = vec![0; 200_000];
    let mut len = 0;
    while let Ok(count) = client.reader().read(&mut bytes[len..]) {
        if count == 0 {
            break;
        }
        len += count;
    }
    bytes.truncate(len);
    bytes
}

#[test]
fn both_versions_carry_data_with_every_kind_of_certificate() {
    for kind in [Kind::Rsa2048, Kind::P256, Kind::P384, Kind::Ed25519] {
        let made = make(kind, Form::Traditional, 3);
        let acceptor = acceptor(&made);
        for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
            for step in [1, 7, 1000, 100_000] {
                let mut client = client(&made, version, &[]);
                let mut server = acceptor.session();
                assert!(server.is_handshaking());
                exchange(&mut client, &mut server, step).unwrap();
                assert!(!server.is_handshaking() && !client.is_handshaking());
                let sent: Vec<u8> = (0..50_000).map(|index| index as u8).collect();
                client.writer().write_all(&sent).unwrap();
                assert_eq!(exchange(&mut client, &mut server, step).unwrap(), sent);
                // The test's client keeps at most 16 KiB unread.
                server.write_plaintext(&sent[..12_000]).unwrap();
                exchange(&mut client, &mut server, step).unwrap();
                assert_eq!(read_all(&mut client), &sent[..12_000]);
            }
        }
    }
}

#[test]
fn rfc7443_3_alpn_is_taken_when_offered_and_never_insisted_on() {
    let made = make(Kind::P256, Form::Pkcs8, 2);
    let acceptor = acceptor(&made);
    let cases = [
        (vec![], None),
        (vec![ALPN_TURN], Some(ALPN_TURN)),
        (vec![&b"h2"[..], ALPN_TURN], Some(ALPN_TURN)),
        (vec![&b"h2"[..], b"http/1.1"], None),
    ];
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        for (offered, agreed) in &cases {
            let mut client = client(&made, version, offered);
            let mut server = acceptor.session();
            exchange(&mut client, &mut server, 4096).unwrap();
            assert_eq!((server.alpn(), client.alpn_protocol()), (*agreed, *agreed));
        }
    }
}

#[test]
fn garbage_ends_the_session() {
    let acceptor = acceptor(&make(Kind::P256, Form::Pkcs8, 2));
    // Plain STUN and HTTP on a TLS port, and a record of an absurd kind.
    let stun = [&[0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42][..], &[7; 12]].concat();
    for garbage in [
        &stun[..],
        b"GET / HTTP/1.1\r\n\r\n",
        &[22, 3, 1, 0, 4, 9, 9, 9, 9],
        &[0xff; 40_000],
    ] {
        let mut server = acceptor.session();
        let result = server.read_ciphertext(garbage, &mut |_| panic!("no plaintext"));
        assert!(matches!(result, Err(TlsError::Protocol(_))), "{result:?}");
        let mut alert = Vec::new();
        server.take_ciphertext(&mut alert);
        // Bytes that are no records at all are not worth an answer.
        assert!(
            alert.first().is_none_or(|kind| *kind == 21),
            "an alert or nothing"
        );
        assert_eq!(server.write_plaintext(b"x"), Err(TlsError::Closed));
        assert!(server.read_ciphertext(garbage, &mut |_| {}).is_err());
        server.close();
    }
}

#[test]
fn a_damaged_record_ends_the_session() {
    let made = make(Kind::P256, Form::Pkcs8, 2);
    let (mut client, mut server) = (
        client(&made, &rustls::version::TLS13, &[]),
        acceptor(&made).session(),
    );
    exchange(&mut client, &mut server, 4096).unwrap();
    client.writer().write_all(b"hello").unwrap();
    let mut record = Vec::new();
    client.write_tls(&mut record).unwrap();
    *record.last_mut().unwrap() ^= 1;
    assert!(
        server
            .read_ciphertext(&record, &mut |_| panic!("no plaintext"))
            .is_err()
    );
    assert!(server.has_ciphertext());
}

#[test]
fn close_notify_is_sent_and_noticed() {
    let made = make(Kind::P256, Form::Pkcs8, 2);
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        let (mut client, mut server) = (client(&made, version, &[]), acceptor(&made).session());
        exchange(&mut client, &mut server, 4096).unwrap();
        client.writer().write_all(b"last words").unwrap();
        client.send_close_notify();
        assert!(!server.peer_closed());
        assert_eq!(
            exchange(&mut client, &mut server, 4096).unwrap(),
            b"last words"
        );
        assert!(server.peer_closed());
        server.close();
        server.close();
        let mut bytes = Vec::new();
        server.take_ciphertext(&mut bytes);
        client.read_tls(&mut &bytes[..]).unwrap();
        assert!(client.process_new_packets().unwrap().peer_has_closed());
    }
}

#[test]
fn openssl_clients_of_both_versions_get_an_echo() {
    let made = make(Kind::Rsa2048, Form::Pkcs8, 4);
    let acceptor = acceptor(&made);
    let listener = listen("127.0.0.1:0".parse().unwrap(), &ListenOptions::default()).unwrap();
    let root = std::env::temp_dir().join(format!("stunner-net-tls-{}.pem", std::process::id()));
    std::fs::write(&root, &made.root).unwrap();
    for version in ["-tls1_2", "-tls1_3"] {
        let mut openssl = Command::new("openssl")
            .args([
                "s_client",
                "-quiet",
                "-verify_return_error",
                "-alpn",
                "stun.turn",
                version,
                "-CAfile",
            ])
            .arg(&root)
            .args(["-connect", &listener.local_addr().to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        openssl
            .stdin
            .as_mut()
            .unwrap()
            .write_all(b"ping over TLS\n")
            .unwrap();
        let echoed = serve_echo(&listener, acceptor.session());
        assert_eq!(echoed, b"ping over TLS\n");
        let mut answer = [0; 14];
        openssl
            .stdout
            .as_mut()
            .unwrap()
            .read_exact(&mut answer)
            .unwrap();
        assert_eq!(&answer, b"ping over TLS\n");
        openssl.kill().unwrap();
        openssl.wait().unwrap();
    }
    std::fs::remove_file(root).unwrap();
}

/// Accepts one connection and echoes what its first record holds.
fn serve_echo(listener: &stunner_net::stream::Listener, mut session: TlsSession) -> Vec<u8> {
    let (mut stream, _): (_, SocketAddr) = loop {
        if let Some(accepted) = listener.accept().unwrap() {
            break accepted;
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    };
    stream.set_nonblocking(false).unwrap();
    let (mut echoed, mut buffer) = (Vec::new(), [0; 4096]);
    while echoed.is_empty() {
        let len = stream.read(&mut buffer).unwrap();
        assert_ne!(len, 0, "the client left");
        session
            .read_ciphertext(&buffer[..len], &mut |bytes| echoed.extend_from_slice(bytes))
            .unwrap();
        if !echoed.is_empty() {
            session.write_plaintext(&echoed).unwrap();
        }
        let mut out = Vec::new();
        session.take_ciphertext(&mut out);
        stream.write_all(&out).unwrap();
    }
    assert_eq!(session.alpn(), Some(ALPN_TURN));
    echoed
}
