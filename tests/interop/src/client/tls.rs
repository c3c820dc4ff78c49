//! TLS for [`super::Link`], with rustls.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::client::ClientConnection;
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, ServerName};

use super::link::{LinkError, wait_readable};

#[derive(Debug)]
pub struct TlsLink {
    socket: TcpStream,
    session: ClientConnection,
}

impl TlsLink {
    pub fn connect(socket: TcpStream, ca_pem: &str, patience: Duration) -> Result<Self, LinkError> {
        let session = ClientConnection::new(
            config(ca_pem),
            ServerName::try_from("localhost").expect("a name"),
        )
        .map_err(|error| LinkError::Handshake(error.to_string()))?;
        let mut link = Self { socket, session };
        let deadline = Instant::now() + patience;
        while link.session.is_handshaking() {
            match link.session.complete_io(&mut link.socket) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if Instant::now() > deadline {
                        return Err(LinkError::Handshake("no answer in time".into()));
                    }
                    wait_readable(&[link.socket.as_raw_fd()], Duration::from_millis(200));
                }
                Err(error) => return Err(LinkError::Handshake(error.to_string())),
            }
        }
        link.flush()?;
        Ok(link)
    }

    pub fn socket(&self) -> &TcpStream {
        &self.socket
    }

    pub fn server_certificate(&self) -> Option<Vec<u8>> {
        Some(self.session.peer_certificates()?.first()?.to_vec())
    }

    pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.session.writer().write(bytes)?;
        self.flush()?;
        if count == 0 && !bytes.is_empty() {
            return Err(ErrorKind::WouldBlock.into());
        }
        Ok(count)
    }

    /// Pushes out what is encrypted already; a full socket is no error.
    pub fn flush(&mut self) -> io::Result<()> {
        while self.session.wants_write() {
            match self.session.write_tls(&mut self.socket) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.session.reader().read(buffer) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                other => return other,
            }
            if self.session.read_tls(&mut self.socket)? == 0 {
                return Ok(0);
            }
            self.session
                .process_new_packets()
                .map_err(io::Error::other)?;
        }
    }
}

fn config(ca_pem: &str) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(ca_pem.as_bytes()) {
        roots
            .add(certificate.expect("CA in PEM"))
            .expect("CA certificate");
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("protocol versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    Arc::new(config)
}
