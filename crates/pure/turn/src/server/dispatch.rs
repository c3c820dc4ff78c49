//! From a STUN message to whoever answers it (RFC 8489 §6.3).

use std::net::SocketAddr;

use stunner_stun::{Class, Message, Method, ParseError, attr, error_code};

use super::answer::{Asked, Refusal};
use super::auth::{Authenticated, Who};
use super::{AuthFailure, DropReason, Effect, FromClient, Server};
use crate::{AllocationId, ClientPath, Now};

/// Comprehension-required attributes that we understand, or may safely ignore where they make no sense.
pub(super) fn is_known(kind: u16) -> bool {
    matches!(
        kind,
        attr::MAPPED_ADDRESS
            | attr::USERNAME
            | attr::ERROR_CODE
            | attr::UNKNOWN_ATTRIBUTES
            | attr::REALM
            | attr::NONCE
            | attr::PASSWORD_ALGORITHM
            | attr::USERHASH
            | attr::XOR_MAPPED_ADDRESS
            | attr::CHANNEL_NUMBER
            | attr::LIFETIME
            | attr::XOR_PEER_ADDRESS
            | attr::DATA
            | attr::XOR_RELAYED_ADDRESS
            | attr::REQUESTED_ADDRESS_FAMILY
            | attr::EVEN_PORT
            | attr::REQUESTED_TRANSPORT
            | attr::DONT_FRAGMENT
            | attr::RESERVATION_TOKEN
            | attr::CONNECTION_ID
    )
}

impl Server {
    /// Anything that is not ChannelData.
    pub(super) fn message<'p>(
        &mut self,
        now: Now,
        path: &ClientPath,
        bytes: &'p [u8],
    ) -> FromClient<'p> {
        let message = match Message::parse(bytes) {
            Ok(message) => message,
            Err(error) => return self.not_a_message(path, error),
        };
        // RFC 8489 §7.3: a wrong fingerprint means another protocol.
        if message.check_fingerprint() == Some(false) {
            return self.dropped(DropReason::BadFingerprint);
        }
        match (message.class(), message.method()) {
            (Class::Request, Method::BINDING) => self.binding(path, &message),
            (
                Class::Request,
                Method::ALLOCATE
                | Method::REFRESH
                | Method::CREATE_PERMISSION
                | Method::CHANNEL_BIND
                | Method::CONNECT
                | Method::CONNECTION_BIND,
            ) => self.request(now, path, &message),
            (Class::Indication, Method::SEND) => self.send_indication(now, path, &message),
            // Keeps NAT bindings open and asks for nothing.
            (Class::Indication, Method::BINDING) => FromClient::Handled,
            // RFC 8489 §6.3: methods and classes that make no sense here are silently discarded.
            _ => self.dropped(DropReason::Unexpected),
        }
    }

    fn not_a_message(&mut self, path: &ClientPath, error: ParseError) -> FromClient<'static> {
        let dropped = self.dropped(DropReason::Malformed);
        // A stream that is out of step cannot recover; one with a broken attribute is still framed.
        let is_framed = matches!(
            error,
            ParseError::Attribute(_) | ParseError::FingerprintNotLast(_)
        );
        match path.tuple.transport.is_stream() && !is_framed {
            true => FromClient::Close,
            false => dropped,
        }
    }

    /// Binding needs no credentials and is answered in every mode (RFC 8489 §12).
    fn binding(&mut self, path: &ClientPath, message: &Message<'_>) -> FromClient<'static> {
        self.stats.count_request(message.method().0);
        let mut asked = Asked::new(path, message);
        asked.fingerprint = true;
        let unknown = message.unknown_required(is_known);
        if unknown.is_empty() {
            self.succeed(&asked, None, |writer| {
                writer.xor_address(attr::XOR_MAPPED_ADDRESS, path.mapped_address());
            });
        } else {
            let refusal = Refusal::code(error_code::UNKNOWN_ATTRIBUTE);
            self.refuse_with(&asked, None, refusal, |writer| {
                writer.unknown_attributes(unknown.as_slice());
            });
        }
        FromClient::Handled
    }

    fn request(
        &mut self,
        now: Now,
        path: &ClientPath,
        message: &Message<'_>,
    ) -> FromClient<'static> {
        let asked = Asked::new(path, message);
        let connection = match message.method() {
            Method::CONNECTION_BIND => Self::named_connection(message),
            _ => None,
        };
        if let Some(id) = connection
            && path.tuple.transport.is_stream()
            && id.shard() != self.shard
            && id.shard() < self.settings.shards
        {
            let shard = id.shard();
            let path = *path;
            self.effects.push_back(Effect::ForwardBind { shard, path });
            return FromClient::Handled;
        }
        self.stats.count_request(message.method().0);

        // The allocation that the request is about: that of its 5-tuple, or of the connection it wants to bind.
        let connection = connection.and_then(|id| self.connections.get(&id));
        let owner = match connection {
            Some(connection) => Some(connection.allocation),
            None => (self.tuples.find(&path.tuple, &self.allocations))
                .and_then(|index| self.allocations.at(index))
                .map(|(id, _)| id),
        };
        let owner = owner.and_then(|id| self.unless_over(now, id));
        let allocation = owner.and_then(|id| self.allocations.get(id));
        let authenticated = match self.authenticate(now, path, message, allocation) {
            Ok(authenticated) => authenticated,
            Err(why) => {
                let terms = self.challenge_terms(now, allocation);
                return self.refuse_unauthenticated(now, &asked, terms, why);
            }
        };
        // RFC 8489 §6.3: unknown attributes are looked at after the sender is known.
        let signer = authenticated.signer.clone();
        let unknown = message.unknown_required(is_known);
        if !unknown.is_empty() {
            let refusal = Refusal::code(error_code::UNKNOWN_ATTRIBUTE);
            self.refuse_with(&asked, Some(&signer), refusal, |writer| {
                writer.unknown_attributes(unknown.as_slice());
            });
            return FromClient::Handled;
        }
        if let Err(refusal) = self.serve(now, &asked, message, owner, authenticated) {
            let alternate: Option<SocketAddr> = match refusal.code {
                error_code::TRY_ALTERNATE => self.alternate_for(path),
                _ => None,
            };
            self.refuse_with(&asked, Some(&signer), refusal, |writer| {
                if let Some(server) = alternate {
                    writer.alternate_server(server);
                }
            });
        }
        FromClient::Handled
    }

    /// A request whose sender is known.
    fn serve(
        &mut self,
        now: Now,
        asked: &Asked,
        message: &Message<'_>,
        owner: Option<AllocationId>,
        authenticated: Authenticated,
    ) -> Result<(), Refusal> {
        if asked.method == Method::ALLOCATE {
            return self.allocate(asked, message, authenticated);
        }
        // RFC 8656 §5: later requests have to come from the user of the allocation.
        if matches!(authenticated.who, Who::Stranger) {
            let reason = AuthFailure::OtherUser;
            self.stats.count_auth_failure(reason);
            let path = asked.path;
            self.effects.push_back(Effect::AuthFailed { path, reason });
            return Err(Refusal::code(error_code::WRONG_CREDENTIALS));
        }
        let signer = authenticated.signer;
        if asked.method == Method::CONNECTION_BIND {
            return self.connection_bind(asked, message, &signer);
        }
        let id = owner.ok_or(Refusal::code(error_code::ALLOCATION_MISMATCH))?;
        if let Some(allocation) = self.allocations.get_mut(id) {
            // The caller may reach the client by another socket than before.
            allocation.path.link = asked.path.link;
        }
        match asked.method {
            Method::REFRESH => self.refresh(now, asked, message, id, &signer),
            Method::CREATE_PERMISSION => self.create_permission(now, asked, message, id, &signer),
            Method::CHANNEL_BIND => self.channel_bind(now, asked, message, id, &signer),
            _ => self.connect(now, asked, message, id, signer),
        }
    }
}
