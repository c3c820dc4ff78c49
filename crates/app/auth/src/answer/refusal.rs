//! Why a request gets no credentials.

use stunner_credentials::UserError;

use super::Host;

/// Each has a status, a sentence and a hint. Values of the caller are repeated shortened, secrets never.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("the query has a `%` without the two digits that belong to it")]
    Escape,
    #[error("the query is not UTF-8 text")]
    Encoding,
    #[error("the parameter `{0}` is given more than once")]
    Repeated(&'static str),
    #[error("the parameter `service` is missing")]
    NoService,
    #[error("there is no service `{0}`")]
    Service(Quoted),
    #[error("the ttl `{0}` is not a whole number")]
    TtlNoNumber(Quoted),
    #[error("the ttl `{0}` is not a time to live")]
    TtlTooShort(Quoted),
    #[error(transparent)]
    Username(UserError),
    #[error("`{0}` is not a host that clients can reach")]
    PublicAddress(Quoted),
    #[error("there is no iceTransportPolicy `{0}`")]
    Policy(Quoted),
    #[error("no gateway is known")]
    NoConfig,
    #[error("no listener matches, or none that does has an address for clients")]
    NoListener,
}

impl Refusal {
    /// The status codes of the original.
    pub fn status(&self) -> u16 {
        match self {
            Refusal::NoConfig => 500,
            Refusal::NoListener => 404,
            _ => 400,
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Refusal::Escape => "write a percent sign as `%25`",
            Refusal::Encoding => "percent-encode the UTF-8 bytes of each value",
            Refusal::Repeated(_) => "give it once",
            Refusal::NoService | Refusal::Service(_) => "add `service=turn`",
            Refusal::TtlNoNumber(_) | Refusal::TtlTooShort(_) => {
                "give the seconds that the credential is to be good for, from 1"
            }
            Refusal::Username(UserError::TooLong { .. }) => "give a shorter user name",
            Refusal::Username(UserError::ControlCharacter) => "leave control characters out",
            Refusal::PublicAddress(_) => Host::HINT,
            Refusal::Policy(_) => "give `all`, `public` or `relay`",
            Refusal::NoConfig => {
                "create a Gateway; if there is one, see the log of this service for its config discovery"
            }
            Refusal::NoListener => {
                "check namespace, gateway and listener; `stunnerctl config -a` shows the listeners and their \
                 public addresses"
            }
        }
    }
}

/// The beginning of what a caller said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quoted(String);

const MAX_QUOTED: usize = 64;

impl From<&str> for Quoted {
    fn from(text: &str) -> Self {
        let mut quoted: String = text.chars().take(MAX_QUOTED).collect();
        if quoted.len() < text.len() {
            quoted.push('…');
        }
        Quoted(quoted)
    }
}

impl std::fmt::Display for Quoted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}
