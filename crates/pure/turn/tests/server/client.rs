//! A client that says exactly what a test wants it to say.

use stunner_stun::{
    Class, Key, Message, MessageWriter, Method, PasswordAlgorithm, TransactionId, attr, userhash,
};
use stunner_turn::server::FromClient;
use stunner_turn::{ClientPath, ClientTransport, FiveTuple, LinkId};

use crate::world::{LISTENER, World, addr};

/// How a request proves its sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// MD5 key, MESSAGE-INTEGRITY, no algorithms: clients before RFC 8489.
    Classic,
    /// PASSWORD-ALGORITHM(S) and MESSAGE-INTEGRITY-SHA256.
    Modern(PasswordAlgorithm),
    None,
}

#[derive(Debug, Clone)]
pub struct TestClient {
    pub path: ClientPath,
    pub username: String,
    pub password: String,
    pub proof: Proof,
    pub use_userhash: bool,
    pub fingerprint: bool,
    pub realm: String,
    pub nonce: Vec<u8>,
    pub transaction: u64,
    /// Stay with the transaction id of the last request.
    pub repeat: bool,
}

impl TestClient {
    pub fn new(transport: ClientTransport, client: &str) -> Self {
        let client = addr(client);
        let local = match client.is_ipv4() {
            true => addr("203.0.113.1:3478"),
            false => addr("[2001:db8::1]:3478"),
        };
        TestClient {
            path: ClientPath {
                tuple: FiveTuple {
                    transport,
                    client,
                    local,
                },
                listener: LISTENER,
                link: LinkId(1),
                accepting: true,
            },
            username: "user".into(),
            password: "pass".into(),
            proof: Proof::Classic,
            use_userhash: false,
            fingerprint: false,
            realm: String::new(),
            nonce: Vec::new(),
            transaction: u64::from(client.port()) << 32,
            repeat: false,
        }
    }

    pub fn udp(client: &str) -> Self {
        Self::new(ClientTransport::Udp, client)
    }

    pub fn tcp(client: &str) -> Self {
        Self::new(ClientTransport::Tcp, client)
    }

    pub fn with_credentials(mut self, username: &str, password: &str) -> Self {
        self.username = username.into();
        self.password = password.into();
        self
    }

    /// Takes the password that belongs to an ephemeral user name.
    pub fn with_ephemeral(self, username: &str, secret: &str) -> Self {
        let password = stunner_credentials::password(secret, username);
        self.with_credentials(username, &password)
    }

    pub fn key(&self) -> Key {
        match self.proof {
            Proof::Modern(PasswordAlgorithm::Sha256) => {
                Key::sha256(&self.username, &self.realm, &self.password)
            }
            _ => Key::md5(&self.username, &self.realm, &self.password),
        }
    }

    /// A request with whatever credentials the client has by now.
    pub fn compose(
        &mut self,
        method: Method,
        fill: impl FnOnce(&mut MessageWriter<'_>),
    ) -> Vec<u8> {
        if !self.repeat {
            self.transaction += 1;
        }
        let mut id = [0x77; 12];
        id[..8].copy_from_slice(&self.transaction.to_be_bytes());
        let mut buffer = vec![0; 70_000];
        let mut writer = MessageWriter::new(&mut buffer, Class::Request, method, TransactionId(id));
        fill(&mut writer);
        if !self.nonce.is_empty() && self.proof != Proof::None {
            match self.use_userhash {
                true => writer.userhash(&userhash(&self.username, &self.realm)),
                false => writer.username(&self.username),
            };
            writer
                .realm(&self.realm)
                .attribute(attr::NONCE, &self.nonce);
            match self.proof {
                Proof::Modern(algorithm) => writer
                    .attribute(attr::PASSWORD_ALGORITHMS, &[0, 2, 0, 0, 0, 1, 0, 0])
                    .password_algorithm(algorithm)
                    .integrity_sha256(&self.key()),
                _ => writer.integrity(&self.key()),
            };
        }
        if self.fingerprint {
            writer.fingerprint();
        }
        let len = writer.finish().unwrap();
        buffer.truncate(len);
        buffer
    }

    /// Sends a request as it is and gives the answer, if one came.
    pub fn try_ask(
        &mut self,
        world: &mut World,
        method: Method,
        fill: impl FnOnce(&mut MessageWriter<'_>),
    ) -> Option<Answer> {
        let bytes = self.compose(method, fill);
        let outcome = world.deliver(&self.path, &bytes);
        assert!(!matches!(outcome, FromClient::Relay(_)));
        let answer = world.answer_to(&self.path)?;
        assert_eq!(answer.message().transaction_id().0, bytes[8..20]);
        Some(answer)
    }

    /// Sends a request, answering the first challenge; checks that what is signed is signed well.
    pub fn ask(
        &mut self,
        world: &mut World,
        method: Method,
        fill: impl Fn(&mut MessageWriter<'_>),
    ) -> Answer {
        if self.nonce.is_empty() {
            let challenge = self.try_ask(world, method, &fill).expect("a challenge");
            if challenge.code() != 401 {
                return challenge;
            }
            self.learn(&challenge);
        }
        let answer = self.try_ask(world, method, &fill).expect("an answer");
        if answer.message().has_integrity() || answer.message().has_integrity_sha256() {
            assert!(
                answer.is_signed_for(self),
                "the answer's integrity is wrong"
            );
        }
        answer
    }

    /// Takes realm and nonce from a challenge.
    pub fn learn(&mut self, challenge: &Answer) {
        let message = challenge.message();
        self.realm = message.realm().unwrap().unwrap().to_owned();
        self.nonce = message.get(attr::NONCE).unwrap().to_vec();
    }

    pub fn allocate(&mut self, world: &mut World) -> Answer {
        self.allocate_with(world, |_| {})
    }

    pub fn allocate_with(
        &mut self,
        world: &mut World,
        fill: impl Fn(&mut MessageWriter<'_>),
    ) -> Answer {
        self.ask(world, Method::ALLOCATE, |writer| {
            writer.requested_transport(17);
            fill(writer);
        })
    }

    pub fn allocate_tcp(&mut self, world: &mut World) -> Answer {
        self.ask(world, Method::ALLOCATE, |writer| {
            writer.requested_transport(6);
        })
    }

    pub fn refresh(&mut self, world: &mut World, lifetime: Option<u32>) -> Answer {
        self.ask(world, Method::REFRESH, |writer| {
            if let Some(lifetime) = lifetime {
                writer.lifetime(lifetime);
            }
        })
    }

    pub fn permit(&mut self, world: &mut World, peers: &[&str]) -> Answer {
        self.ask(world, Method::CREATE_PERMISSION, |writer| {
            for peer in peers {
                writer.xor_address(attr::XOR_PEER_ADDRESS, addr(peer));
            }
        })
    }

    pub fn bind(&mut self, world: &mut World, number: u16, peer: &str) -> Answer {
        self.ask(world, Method::CHANNEL_BIND, |writer| {
            writer
                .channel_number(number)
                .xor_address(attr::XOR_PEER_ADDRESS, addr(peer));
        })
    }

    pub fn connect(&mut self, world: &mut World, peer: &str) -> Option<Answer> {
        assert!(!self.nonce.is_empty());
        self.try_ask(world, Method::CONNECT, |writer| {
            writer.xor_address(attr::XOR_PEER_ADDRESS, addr(peer));
        })
    }

    pub fn connection_bind(&mut self, world: &mut World, id: u32) -> Answer {
        self.ask(world, Method::CONNECTION_BIND, |writer| {
            writer.connection_id(id);
        })
    }

    pub fn send_indication(&self, peer: &str, payload: &[u8]) -> Vec<u8> {
        indication(Method::SEND, |writer| {
            writer
                .xor_address(attr::XOR_PEER_ADDRESS, addr(peer))
                .data(payload);
        })
    }
}

pub fn indication(method: Method, fill: impl FnOnce(&mut MessageWriter<'_>)) -> Vec<u8> {
    let mut buffer = vec![0; 70_000];
    let id = TransactionId([0x66; 12]);
    let mut writer = MessageWriter::new(&mut buffer, Class::Indication, method, id);
    fill(&mut writer);
    let len = writer.finish().unwrap();
    buffer.truncate(len);
    buffer
}

pub fn channel_data(number: u16, payload: &[u8]) -> Vec<u8> {
    let mut bytes = stunner_stun::channel_data::header(number, payload.len() as u16).to_vec();
    bytes.extend_from_slice(payload);
    bytes
}

/// A message from the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub bytes: Vec<u8>,
}

impl Answer {
    pub fn new(bytes: Vec<u8>) -> Self {
        let answer = Answer { bytes };
        let message = answer.message();
        if message.class() == Class::Error {
            let error = message.error().expect("ERROR-CODE").expect("well formed");
            assert!(!error.reason.is_empty(), "ERROR-CODE has a reason");
        }
        answer
    }

    pub fn message(&self) -> Message<'_> {
        Message::parse(&self.bytes).expect("the server writes well-formed messages")
    }

    /// 200 for success, 0 for an indication.
    pub fn code(&self) -> u16 {
        let message = self.message();
        match message.class() {
            Class::Success => 200,
            Class::Error => message.error().unwrap().unwrap().code,
            _ => 0,
        }
    }

    pub fn lifetime(&self) -> u32 {
        self.message().lifetime().unwrap().unwrap()
    }

    pub fn relayed(&self) -> Vec<std::net::SocketAddr> {
        let addresses = self.message().xor_addresses(attr::XOR_RELAYED_ADDRESS);
        addresses.map(Result::unwrap).collect()
    }

    pub fn is_signed(&self) -> bool {
        self.message().has_integrity() || self.message().has_integrity_sha256()
    }

    pub fn is_signed_for(&self, client: &TestClient) -> bool {
        match client.proof {
            Proof::Modern(_) => self.message().verify_integrity_sha256(&client.key()),
            _ => self.message().verify_integrity(&client.key()),
        }
    }
}
