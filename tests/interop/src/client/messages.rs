//! Credentials, and messages as the test client hands them over.

use std::net::SocketAddr;

use base64::Engine as _;
use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;
use stunner_stun::{Class, Key, Message, TransactionId, attr, channel_data};

#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    pub user: String,
    pub password: String,
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Credentials")
            .field("user", &self.user)
            .finish_non_exhaustive()
    }
}

impl Credentials {
    pub fn new(user: &str, password: &str) -> Self {
        Self {
            user: user.to_owned(),
            password: password.to_owned(),
        }
    }

    /// The time-limited credential of the REST scheme: the password signs the user name.
    pub fn ephemeral(user: &str, secret: &str) -> Self {
        let mut mac = Hmac::<Sha1>::new_from_slice(secret.as_bytes()).expect("any key length");
        mac.update(user.as_bytes());
        let password =
            base64::engine::general_purpose::STANDARD.encode(mac.finalize().into_bytes());
        Self {
            user: user.to_owned(),
            password,
        }
    }
}

pub fn long_term_key(credentials: &Credentials, realm: &str) -> Key {
    Key::md5(&credentials.user, realm, &credentials.password)
}

/// An answer to a request.
#[derive(Debug, Clone)]
pub struct Response {
    bytes: Vec<u8>,
}

impl Response {
    pub fn message(&self) -> Message<'_> {
        Message::parse(&self.bytes).expect("checked when it came in")
    }

    pub fn is_success(&self) -> bool {
        self.message().class() == Class::Success
    }

    /// The error code; 0 for a success.
    pub fn code(&self) -> u16 {
        match self.message().error() {
            Some(Ok(error)) => error.code,
            _ => 0,
        }
    }

    pub fn realm(&self) -> Option<String> {
        text(self.message().realm())
    }

    pub fn nonce(&self) -> Option<String> {
        text(self.message().nonce())
    }

    pub fn relayed(&self) -> Option<SocketAddr> {
        self.message().xor_address(attr::XOR_RELAYED_ADDRESS)?.ok()
    }

    pub fn mapped(&self) -> Option<SocketAddr> {
        self.message().xor_address(attr::XOR_MAPPED_ADDRESS)?.ok()
    }

    pub fn lifetime(&self) -> Option<u32> {
        self.message().lifetime()?.ok()
    }

    pub fn length(&self) -> usize {
        self.bytes.len()
    }
}

fn text<E>(field: Option<Result<&str, E>>) -> Option<String> {
    field?.ok().map(str::to_owned)
}

/// Something that arrived.
#[derive(Debug, Clone)]
pub enum Incoming {
    Response(TransactionId, Response),
    Channel(u16, Vec<u8>),
    Data(SocketAddr, Vec<u8>),
    /// An indication other than Data, such as ConnectionAttempt.
    Indication(Response),
}

impl Incoming {
    /// `None` for bytes that are no TURN message.
    pub fn parse(bytes: Vec<u8>) -> Option<Self> {
        if channel_data::is_channel_data(&bytes) {
            let data = channel_data::parse(&bytes).ok()?;
            return Some(Self::Channel(data.number, data.payload.to_vec()));
        }
        let message = Message::parse(&bytes).ok()?;
        match message.class() {
            Class::Success | Class::Error => {
                let id = message.transaction_id();
                Some(Self::Response(id, Response { bytes }))
            }
            Class::Indication => {
                match (message.xor_address(attr::XOR_PEER_ADDRESS), message.data()) {
                    (Some(Ok(peer)), Some(data)) => Some(Self::Data(peer, data.to_vec())),
                    _ => Some(Self::Indication(Response { bytes })),
                }
            }
            Class::Request => None,
        }
    }
}
