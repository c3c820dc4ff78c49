//! DTLS for [`super::Link`], with OpenSSL.

use std::io::{self, Read, Write};
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use openssl::ssl::{ErrorCode, SslConnector, SslMethod, SslOptions, SslStream};
use openssl::x509::X509;

use super::link::{LinkError, wait_readable};

/// One datagram per read and per write, as OpenSSL's DTLS wants it.
#[derive(Debug)]
struct Datagrams(UdpSocket);

impl Read for Datagrams {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.recv(buffer)
    }
}

impl Write for Datagrams {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.send(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[derive(Debug)]
pub struct DtlsLink {
    stream: SslStream<Datagrams>,
}

impl DtlsLink {
    pub fn connect(socket: UdpSocket, ca_pem: &str, patience: Duration) -> Result<Self, LinkError> {
        let failed = |error: &dyn std::fmt::Display| LinkError::Handshake(error.to_string());
        let mut builder =
            SslConnector::builder(SslMethod::dtls()).map_err(|error| failed(&error))?;
        builder.set_options(SslOptions::NO_QUERY_MTU);
        let root = X509::from_pem(ca_pem.as_bytes()).map_err(|error| failed(&error))?;
        builder
            .cert_store_mut()
            .add_cert(root)
            .map_err(|error| failed(&error))?;
        let connection = builder
            .build()
            .configure()
            .map_err(|error| failed(&error))?;
        let mut ssl = connection
            .into_ssl("localhost")
            .map_err(|error| failed(&error))?;
        ssl.set_mtu(1200).map_err(|error| failed(&error))?;
        let mut stream = SslStream::new(ssl, Datagrams(socket)).map_err(|error| failed(&error))?;
        let deadline = Instant::now() + patience;
        loop {
            match stream.connect() {
                Ok(()) => return Ok(Self { stream }),
                Err(error) if error.code() == ErrorCode::WANT_READ && Instant::now() < deadline => {
                    // Calling again after a pause also repeats a flight whose timer has run out.
                    wait_readable(
                        &[stream.get_ref().0.as_raw_fd()],
                        Duration::from_millis(100),
                    );
                }
                Err(error) => return Err(failed(&error)),
            }
        }
    }

    pub fn socket(&self) -> &UdpSocket {
        &self.stream.get_ref().0
    }

    pub fn server_certificate(&self) -> Option<Vec<u8>> {
        self.stream.ssl().peer_certificate()?.to_der().ok()
    }

    pub fn send(&mut self, frame: &[u8]) -> Result<(), LinkError> {
        match self.stream.ssl_write(frame) {
            Ok(_) => Ok(()),
            Err(error) if matches!(error.code(), ErrorCode::WANT_READ | ErrorCode::WANT_WRITE) => {
                Ok(())
            }
            Err(error) => Err(closed_or(error)),
        }
    }

    pub fn receive(&mut self, scratch: &mut [u8]) -> Result<Option<Vec<u8>>, LinkError> {
        match self.stream.ssl_read(scratch) {
            Ok(length) => Ok(Some(scratch[..length].to_vec())),
            Err(error) if matches!(error.code(), ErrorCode::WANT_READ | ErrorCode::WANT_WRITE) => {
                Ok(None)
            }
            Err(error) => Err(closed_or(error)),
        }
    }
}

fn closed_or(error: openssl::ssl::Error) -> LinkError {
    if error.code() == ErrorCode::ZERO_RETURN {
        return LinkError::Closed;
    }
    match error.into_io_error() {
        Ok(error) => error.into(),
        Err(error) => LinkError::Io(io::Error::other(error)),
    }
}
