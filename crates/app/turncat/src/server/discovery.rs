//! Finding a Gateway's listener by config discovery.

use stunner_cluster::{Cds, CdsFlags, Cluster, ClusterError, ConfigId, Kubectl};
use stunner_credentials::Secret;
use thiserror::Error;

use super::gateway::{self, GatewayError};
use super::{GatewayListener, Login, Target};

/// The namespace where nothing says which.
const DEFAULT_NAMESPACE: &str = "default";

/// Why a Gateway's listener is not found.
#[derive(Debug, Error)]
pub enum DiscoveryError {
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    #[error(transparent)]
    Gateway(#[from] GatewayError),
}

impl DiscoveryError {
    pub fn hint(&self) -> Option<String> {
        match self {
            DiscoveryError::Cluster(ClusterError::NoKubeconfig) => Some(
                "name one with `--kubeconfig` or `$KUBECONFIG`, or the config discovery service with \
                 `--cds-server-address`"
                    .to_owned(),
            ),
            DiscoveryError::Cluster(error) => error.hint(),
            DiscoveryError::Gateway(error) => Some(error.hint()),
        }
    }
}

/// A listener of a Gateway, which can be asked for again: its address and credentials change.
#[derive(Debug)]
pub struct Discovery {
    cds: Cds,
    id: ConfigId,
    listener: String,
    secret: Option<Secret>,
}

impl Discovery {
    /// Finds the config discovery service. `secret` takes the place of the Gateway's own credentials.
    pub async fn find(
        name: &GatewayListener,
        kubectl: &Kubectl,
        flags: &CdsFlags,
        secret: Option<Secret>,
    ) -> Result<Discovery, DiscoveryError> {
        let (cds, context_namespace) = match &flags.address {
            Some(address) => (Cds::direct(address, flags)?, DEFAULT_NAMESPACE.to_owned()),
            None => {
                let cluster = Cluster::connect(kubectl).await?;
                let namespace = cluster.namespace().to_owned();
                (Cds::discover(&cluster, flags).await?, namespace)
            }
        };
        let said = name.namespace.clone().or_else(|| kubectl.namespace.clone());
        Ok(Discovery {
            cds: cds.by("turncat"),
            id: ConfigId {
                namespace: said.unwrap_or(context_namespace),
                name: name.gateway.clone(),
            },
            listener: name.listener.clone(),
            secret,
        })
    }

    /// The server as it is now.
    pub async fn target(&self) -> Result<Target, DiscoveryError> {
        let gateway = self.id.to_string();
        let found = self.cds.one(&self.id, None).await?;
        gateway::only_one(&found.value, &gateway, &self.listener)?;
        let config = found.config.map_err(|problems| {
            let problem = problems.iter().find(|problem| problem.is_error());
            GatewayError::Unreadable {
                gateway: gateway.clone(),
                problem: problem.map_or_else(String::new, ToString::to_string),
            }
        })?;
        let mut target = gateway::target(&config, &gateway, &self.listener)?;
        if let Some(secret) = &self.secret {
            target.login = Login::Ephemeral {
                secret: secret.clone(),
                user: None,
            };
        }
        Ok(target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_secret_is_not_shown() {
        let name = GatewayListener {
            namespace: None,
            gateway: "gw".to_owned(),
            listener: "udp".to_owned(),
        };
        let flags = CdsFlags {
            address: Some("127.0.0.1:13478".to_owned()),
            ..CdsFlags::default()
        };
        let (kubectl, secret) = (Kubectl::default(), Secret::from("pa55w0rd"));
        let discovery = Discovery::find(&name, &kubectl, &flags, Some(secret));
        let shown = format!("{:?}", discovery.await.expect("an address is enough"));
        assert!(shown.contains("gw") && !shown.contains("pa55"), "{shown}");
    }
}
