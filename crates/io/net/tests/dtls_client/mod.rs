//! A DTLS client of the OpenSSL library over datagrams in memory.

use std::collections::VecDeque;
use std::io::{self, Read, Write};

use openssl::ssl::{
    HandshakeError, MidHandshakeSslStream, Ssl, SslContext, SslMethod, SslOptions, SslStream,
    SslVerifyMode,
};
use openssl::x509::X509;
use stunner_net::dtls::Datagrams;

use crate::certificates::Made;

/// The client's end of the wire.
#[derive(Debug, Default)]
pub struct Wire {
    pub incoming: VecDeque<Vec<u8>>,
    pub outgoing: Vec<Vec<u8>>,
}

impl Read for Wire {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let datagram = self.incoming.pop_front().ok_or(io::ErrorKind::WouldBlock)?;
        buffer[..datagram.len()].copy_from_slice(&datagram);
        Ok(datagram.len())
    }
}

impl Write for Wire {
    fn write(&mut self, datagram: &[u8]) -> io::Result<usize> {
        self.outgoing.push(datagram.to_vec());
        Ok(datagram.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub enum Client {
    Shaking(MidHandshakeSslStream<Wire>),
    Done(SslStream<Wire>),
}

impl Client {
    pub fn new(made: &Made, alpn: Option<&[u8]>, mtu: u32) -> Self {
        let mut builder = SslContext::builder(SslMethod::dtls()).unwrap();
        builder.set_options(SslOptions::NO_QUERY_MTU);
        builder.set_verify(SslVerifyMode::PEER);
        builder
            .cert_store_mut()
            .add_cert(X509::from_pem(&made.root).unwrap())
            .unwrap();
        if let Some(alpn) = alpn {
            builder.set_alpn_protos(alpn).unwrap();
        }
        let mut ssl = Ssl::new(&builder.build()).unwrap();
        ssl.set_mtu(mtu).unwrap();
        Self::wrap(ssl.connect(Wire::default()))
    }

    fn wrap(result: Result<SslStream<Wire>, HandshakeError<Wire>>) -> Self {
        match result {
            Ok(stream) => Self::Done(stream),
            Err(HandshakeError::WouldBlock(stream)) => Self::Shaking(stream),
            Err(error) => panic!("client handshake: {error}"),
        }
    }

    fn wire(&mut self) -> &mut Wire {
        match self {
            Self::Shaking(stream) => stream.get_mut(),
            Self::Done(stream) => stream.get_mut(),
        }
    }

    pub fn take_outgoing(&mut self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.wire().outgoing)
    }

    pub fn give(&mut self, datagrams: &Datagrams) {
        let datagrams: Vec<_> = datagrams.iter().map(<[u8]>::to_vec).collect();
        self.wire().incoming.extend(datagrams);
    }

    pub fn go_on(self) -> Self {
        match self {
            Self::Shaking(stream) => Self::wrap(stream.handshake()),
            done => done,
        }
    }

    pub fn stream(&mut self) -> &mut SslStream<Wire> {
        match self {
            Self::Done(stream) => stream,
            Self::Shaking(_) => panic!("still shaking hands"),
        }
    }
}
