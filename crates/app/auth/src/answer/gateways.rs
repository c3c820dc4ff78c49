//! What is known of gateways.

use std::collections::BTreeMap;
use std::fmt;

use stunner_api::NamespacedName;
use stunner_config::Config;

/// One configuration for each gateway, in the order of namespace and name.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Gateways {
    config_by_name: BTreeMap<NamespacedName, Config>,
}

impl Gateways {
    pub fn is_empty(&self) -> bool {
        self.config_by_name.is_empty()
    }

    pub fn len(&self) -> usize {
        self.config_by_name.len()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Config> {
        self.config_by_name.values()
    }

    /// The configuration that `admin.name` names.
    pub fn config(&self, admin_name: &str) -> Option<&Config> {
        self.config_by_name.get(&key(admin_name))
    }

    /// Takes note of a configuration; the one of the same `admin.name` before it is forgotten. A configuration that
    /// stands for a deletion deletes.
    pub fn apply(&mut self, config: Config) {
        let name = key(&config.admin.name);
        match config.is_deletion(&config.admin.name) {
            true => self.config_by_name.remove(&name),
            false => self.config_by_name.insert(name, config),
        };
    }

    pub fn remove(&mut self, admin_name: &str) {
        self.config_by_name.remove(&key(admin_name));
    }
}

impl FromIterator<Config> for Gateways {
    fn from_iter<I: IntoIterator<Item = Config>>(configs: I) -> Self {
        let mut gateways = Gateways::default();
        for config in configs {
            gateways.apply(config);
        }
        gateways
    }
}

impl fmt::Debug for Gateways {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.config_by_name.keys()).finish()
    }
}

/// A name without a namespace, as configurations of the legacy mode have it, comes before all others.
fn key(admin_name: &str) -> NamespacedName {
    let (namespace, name) = admin_name.split_once('/').unwrap_or(("", admin_name));
    NamespacedName::new(namespace, name)
}
