//! How to log in at a server.

use stunner_credentials::{Secret, mint, mint_bare};
use stunner_turn::client::Credentials;

/// Minted credentials are good for an hour, as the original's are; every reconnection mints a new one.
const TTL_SECONDS: u64 = 3600;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Login {
    /// No credential: for servers that ask for none.
    Anonymous,
    Password {
        username: String,
        password: Secret,
    },
    /// Credentials minted from a shared secret; without a user the name is a bare time.
    Ephemeral {
        secret: Secret,
        user: Option<String>,
    },
}

impl Login {
    /// What to show the server now.
    pub fn credentials(&self, now_unix: u64) -> Credentials {
        let minted = match self {
            Login::Anonymous => return Credentials::None,
            Login::Password { username, password } => {
                return Credentials::Static {
                    username: username.clone(),
                    password: password.expose().to_owned(),
                };
            }
            Login::Ephemeral { secret, user } => match user {
                Some(user) => mint(secret.expose(), now_unix, TTL_SECONDS, user),
                None => mint_bare(secret.expose(), now_unix, TTL_SECONDS),
            },
        };
        Credentials::Static {
            username: minted.username,
            password: minted.password,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minted_names_carry_their_expiry_and_the_user_if_there_is_one() {
        let name = |user: Option<&str>| {
            let login = Login::Ephemeral {
                secret: "s".into(),
                user: user.map(str::to_owned),
            };
            match login.credentials(1000) {
                Credentials::Static { username, .. } => username,
                Credentials::None => String::new(),
            }
        };
        assert_eq!(name(None), "4600");
        assert_eq!(name(Some("ann")), "4600:ann");
    }

    #[test]
    fn secrets_are_not_shown() {
        let login = Login::Password {
            username: "u".to_owned(),
            password: "pa55".into(),
        };
        assert!(!format!("{login:?}").contains("pa55"));
    }
}
