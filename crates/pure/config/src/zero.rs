//! The zero config: what a dataplane runs before it has a configuration, and what a deletion looks like.

use crate::model::{Admin, Auth, AuthMethod, Config, defaults};

/// The configuration of a dataplane that has none yet: health endpoint, no listeners, credentials nobody uses.
pub fn bootstrap(id: &str) -> Config {
    Config {
        admin: Admin {
            name: id.to_owned(),
            ..Admin::default()
        },
        auth: Auth {
            realm: defaults::REALM.to_owned(),
            method: AuthMethod::Static {
                username: defaults::DUMMY_USERNAME.to_owned(),
                password: defaults::DUMMY_PASSWORD.to_owned(),
            },
            lifetime: None,
        },
        listeners: Vec::new(),
        clusters: Vec::new(),
    }
}

impl Config {
    /// Whether this frame says that the config `id` is gone.
    ///
    /// The discovery protocol has no message for it: a deletion is a config with the id and otherwise nothing but
    /// defaults and dummy credentials. Defaults are filled in on reading, so it makes no difference which of them
    /// the sender writes out.
    pub fn is_deletion(&self, id: &str) -> bool {
        *self == bootstrap(id)
    }
}
