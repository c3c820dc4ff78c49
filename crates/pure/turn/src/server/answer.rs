//! Writing answers.

use std::net::SocketAddr;

use stunner_stun::{
    Class, Key, Message, MessageWriter, Method, PasswordAlgorithm, TransactionId, attr, error_code,
};

use super::{Effect, Server};
use crate::ClientPath;

/// Room for every answer: the longest realm and SOFTWARE (RFC 8489 §14.9, §14.14) with all that comes beside them.
const MAX_ANSWER: usize = 2048;

/// Offered to every client, in the order of our preference (RFC 8489 §9.2.4).
pub(super) const PASSWORD_ALGORITHMS: [PasswordAlgorithm; 2] =
    [PasswordAlgorithm::Sha256, PasswordAlgorithm::Md5];
/// The same as bytes, to compare with what clients send back.
pub(super) const PASSWORD_ALGORITHMS_VALUE: [u8; 8] = [0, 2, 0, 0, 0, 1, 0, 0];

/// What has to be known of a request to answer it, now or later.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked {
    pub path: ClientPath,
    pub method: Method,
    pub transaction: TransactionId,
    /// Whoever sends FINGERPRINT shares the port with other protocols and wants it back (RFC 8489 §7).
    pub fingerprint: bool,
}

impl Asked {
    pub(super) fn new(path: &ClientPath, message: &Message<'_>) -> Self {
        Asked {
            path: *path,
            method: message.method(),
            transaction: message.transaction_id(),
            fingerprint: message.has_fingerprint(),
        }
    }
}

/// What protects an answer: the key of the request, in the same kind of attribute.
#[derive(Debug, Clone)]
pub(super) struct Signer {
    pub key: Key,
    pub sha256: bool,
}

/// An error response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Refusal {
    pub code: u16,
    pub reason: &'static str,
}

impl Refusal {
    /// With the registered phrase.
    pub(super) fn code(code: u16) -> Self {
        let reason = error_code::reason(code);
        Refusal { code, reason }
    }

    /// 400 with the reason why.
    pub(super) fn bad_request(reason: &'static str) -> Self {
        let code = error_code::BAD_REQUEST;
        Refusal { code, reason }
    }

    /// 508 with the reason why.
    pub(super) fn capacity(reason: &'static str) -> Self {
        let code = error_code::INSUFFICIENT_CAPACITY;
        Refusal { code, reason }
    }
}

impl Server {
    /// Sends a success response.
    pub(super) fn succeed(
        &mut self,
        asked: &Asked,
        signer: Option<&Signer>,
        fill: impl FnOnce(&mut MessageWriter<'_>),
    ) {
        self.answer(asked, signer, Class::Success, fill);
    }

    /// Sends an error response.
    pub(super) fn refuse(&mut self, asked: &Asked, signer: Option<&Signer>, refusal: Refusal) {
        self.refuse_with(asked, signer, refusal, |_| {});
    }

    /// Sends an error response with more to say.
    pub(super) fn refuse_with(
        &mut self,
        asked: &Asked,
        signer: Option<&Signer>,
        refusal: Refusal,
        fill: impl FnOnce(&mut MessageWriter<'_>),
    ) {
        self.stats.count_error(refusal.code);
        self.answer(asked, signer, Class::Error, |writer| {
            writer.error(refusal.code, refusal.reason);
            fill(writer);
        });
    }

    fn answer(
        &mut self,
        asked: &Asked,
        signer: Option<&Signer>,
        class: Class,
        fill: impl FnOnce(&mut MessageWriter<'_>),
    ) {
        let mut buffer = [0; MAX_ANSWER];
        let mut writer = MessageWriter::new(&mut buffer, class, asked.method, asked.transaction);
        fill(&mut writer);
        if let Some(signer) = signer {
            // Who has not authenticated is not told what we run.
            if !self.settings.software.is_empty() {
                writer.software(&self.settings.software);
            }
            match signer.sha256 {
                true => writer.integrity_sha256(&signer.key),
                false => writer.integrity(&signer.key),
            };
        }
        if asked.fingerprint {
            writer.fingerprint();
        }
        // Nothing that a client sends makes an answer too long; a realm from the configuration that cannot be written
        // leaves the request unanswered.
        if let Ok(len) = writer.finish() {
            self.effects.push_back(Effect::Send {
                to: asked.path,
                bytes: buffer[..len].to_vec(),
            });
        }
    }

    /// Sends an indication.
    pub(super) fn indicate(
        &mut self,
        to: ClientPath,
        method: Method,
        peer: SocketAddr,
        fill: impl FnOnce(&mut MessageWriter<'_>),
    ) {
        let mut buffer = [0; 128];
        let transaction = self.random.transaction();
        let mut writer = MessageWriter::new(&mut buffer, Class::Indication, method, transaction);
        writer.xor_address(attr::XOR_PEER_ADDRESS, peer);
        fill(&mut writer);
        if let Ok(len) = writer.finish() {
            let bytes = buffer[..len].to_vec();
            self.effects.push_back(Effect::Send { to, bytes });
        }
    }
}
