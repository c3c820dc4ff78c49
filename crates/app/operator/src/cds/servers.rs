//! The ports of config discovery.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use stunner_api::NamespacedName;
use stunner_api::names::{cds, port};
use stunner_cds::server::{Access, BoundServer, ConfigStore, RunningServer, Server, ServerOptions};
use stunner_http::{AddressError, BindAddress, CertificateError, LiveCertificate};
use tokio::task::JoinSet;

use super::authority::{Authority, AuthorityError, LEAF_LIFE, keep};
use super::token::TokenReviewer;

/// What the licence document of the original lists, as far as it works here.
const FEATURES: [&str; 4] = [
    "DaemonSet",
    "RelayAddressDiscovery",
    "STUNServer",
    "UserQuota",
];

const TLS_FLAG: &str = "config-discovery-tls-address";

/// Why config discovery cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum CdsError {
    #[error("cannot use the address of `--{flag}`")]
    Address {
        flag: &'static str,
        source: AddressError,
    },
    #[error("cannot listen at `{address}` of `--{flag}`")]
    Listen {
        flag: &'static str,
        address: String,
        source: io::Error,
    },
    #[error("cannot serve config discovery")]
    Serve(#[from] io::Error),
    #[error("cannot make a certificate for config discovery")]
    Authority(#[from] AuthorityError),
    #[error("cannot use the certificate for config discovery")]
    Certificate(#[from] CertificateError),
}

impl CdsError {
    fn is_about_used_tls_port(&self) -> bool {
        matches!(self, Self::Listen { flag, source, .. }
            if *flag == TLS_FLAG && source.kind() == io::ErrorKind::AddrInUse)
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Address { .. } => Some("give for example `:13478`, `127.0.0.1:13478` or `off`"),
            Self::Listen { .. } => {
                Some("another process may have the port; give another address, or `off`")
            }
            Self::Serve(_) | Self::Authority(_) | Self::Certificate(_) => None,
        }
    }
}

/// The listening sockets. Clients that connect wait until there is something to serve: no config is better than a wrong
/// one, and to be told that there is none would be wrong.
#[derive(Debug)]
pub struct BoundServers {
    plain: Option<BoundServer>,
    tls: Option<BoundServer>,
    /// Another operator on this machine serves TLS there.
    tls_elsewhere: Option<u16>,
}

/// What the TLS port needs.
pub struct Tls {
    authority: Authority,
    /// Where the authority is stored.
    namespace: String,
    /// Names in the certificate.
    names: Vec<String>,
    readers: BTreeSet<NamespacedName>,
    client: Client,
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tls")
            .field("names", &self.names)
            .finish_non_exhaustive()
    }
}

/// The names by which dataplanes reach config discovery.
pub(super) fn certificate_names(namespace: &str, domain: &str, host: &str) -> Vec<String> {
    let service = cds::SERVICE;
    let mut names = vec![
        service.to_owned(),
        format!("{service}.{namespace}"),
        format!("{service}.{namespace}.svc"),
        format!("{service}.{namespace}.svc.{domain}"),
        "localhost".to_owned(),
        "127.0.0.1".to_owned(),
        "::1".to_owned(),
    ];
    if !names.iter().any(|name| name == host) {
        names.push(host.to_owned());
    }
    names
}

impl Tls {
    pub fn new(
        client: Client,
        authority: Authority,
        readers: BTreeSet<NamespacedName>,
        (namespace, domain, host): (&str, &str, &str),
    ) -> Self {
        Tls {
            authority,
            namespace: namespace.to_owned(),
            names: certificate_names(namespace, domain, host),
            readers,
            client,
        }
    }
}

impl Tls {
    /// What clients are to trust, PEM.
    pub fn authority_certificate(&self) -> &str {
        self.authority.certificate()
    }
}

impl BoundServers {
    /// Opens the listening sockets; `None` is off.
    pub fn bind(plain: Option<&str>, tls: Option<&str>) -> Result<Self, CdsError> {
        Ok(BoundServers {
            plain: bind("config-discovery-address", plain)?,
            tls: bind(TLS_FLAG, tls)?,
            tls_elsewhere: None,
        })
    }

    /// The same with the usual TLS port. Whoever runs two operators on one machine, and chose ports for all that the Go
    /// system knows of, need not know of this one: it is left to the other. What dataplanes are told stays the same,
    /// and both have the same authority.
    pub fn bind_with_usual_tls(plain: Option<&str>, tls: &str) -> Result<Self, CdsError> {
        match Self::bind(plain, Some(tls)) {
            Err(error @ CdsError::Listen { .. }) if error.is_about_used_tls_port() => {
                tracing::warn!(
                    scope = "operator",
                    "{error}: it is in use; going on without. Give this operator an address of its own, or `off`"
                );
                Ok(BoundServers {
                    tls_elsewhere: Some(port::CDS_TLS),
                    ..Self::bind(plain, None)?
                })
            }
            bound => bound,
        }
    }

    pub fn plain_port(&self) -> Option<u16> {
        port_of(self.plain.as_ref())
    }

    pub fn tls_port(&self) -> Option<u16> {
        port_of(self.tls.as_ref()).or(self.tls_elsewhere)
    }

    /// Closes the TLS port.
    pub fn without_tls(self) -> Self {
        BoundServers {
            plain: self.plain,
            tls: None,
            tls_elsewhere: None,
        }
    }

    pub fn serve(self, store: &ConfigStore, tls: Option<Tls>) -> Result<RunningServers, CdsError> {
        let mut running = RunningServers {
            servers: Vec::new(),
            tasks: JoinSet::new(),
        };
        let options = ServerOptions {
            features: FEATURES.map(str::to_owned).to_vec(),
            ..ServerOptions::default()
        };
        if let Some(plain) = self.plain {
            let server = plain.serve(store.clone(), options.clone())?;
            running.servers.push(server);
        }
        if let (Some(bound), Some(tls)) = (self.tls, tls) {
            let leaf = tls.authority.issue(&tls.names)?;
            let certificate =
                LiveCertificate::from_pem(leaf.chain.as_bytes(), leaf.key.as_bytes())?;
            let reviewer = TokenReviewer::new(tls.client.clone(), tls.readers.clone());
            let options = ServerOptions {
                access: Access::Checked(Arc::new(reviewer)),
                certificate: Some(certificate.clone()),
                ..options
            };
            running.servers.push(bound.serve(store.clone(), options)?);
            let tasks = &mut running.tasks;
            tasks.spawn(keep(tls.client, tls.namespace, tls.authority.clone()));
            tasks.spawn(rotate(tls.authority, tls.names, certificate));
        }
        Ok(running)
    }
}

fn bind(flag: &'static str, address: Option<&str>) -> Result<Option<BoundServer>, CdsError> {
    let Some(text) = address else {
        return Ok(None);
    };
    let address: BindAddress = text
        .parse()
        .map_err(|source| CdsError::Address { flag, source })?;
    let bound = Server::bind(&address).map_err(|source| CdsError::Listen {
        flag,
        address: text.to_owned(),
        source,
    })?;
    Ok(Some(bound))
}

fn port_of(bound: Option<&BoundServer>) -> Option<u16> {
    Some(bound?.local_addr().ok()?.port())
}

/// Shows a new certificate well before the old one ends. Open connections go on.
async fn rotate(authority: Authority, names: Vec<String>, certificate: LiveCertificate) {
    loop {
        tokio::time::sleep(LEAF_LIFE * 2 / 3).await;
        loop {
            let renewed = authority
                .issue(&names)
                .map_err(CdsError::from)
                .and_then(|leaf| {
                    let replaced = certificate.replace(leaf.chain.as_bytes(), leaf.key.as_bytes());
                    replaced.map_err(CdsError::from)
                });
            match renewed {
                Ok(()) => break,
                Err(error) => {
                    tracing::error!(
                        scope = "cds-server",
                        "{error}; the old certificate stays, trying again"
                    );
                    tokio::time::sleep(Duration::from_secs(3600)).await;
                }
            }
        }
        tracing::info!(scope = "cds-server", "showing a new certificate");
    }
}

/// Config discovery at work.
#[derive(Debug)]
pub struct RunningServers {
    servers: Vec<RunningServer>,
    /// Look after the certificates; they end with it.
    tasks: JoinSet<()>,
}

impl RunningServers {
    /// Tells clients to go away and stops.
    pub async fn stop(self) {
        drop(self.tasks);
        futures_util::future::join_all(self.servers.into_iter().map(RunningServer::stop)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_certificate_bears_every_name_of_the_service() {
        let names = certificate_names("sys", "cluster.local", "cds.example");
        for name in [
            "stunner-config-discovery",
            "stunner-config-discovery.sys",
            "stunner-config-discovery.sys.svc",
            "stunner-config-discovery.sys.svc.cluster.local",
            "localhost",
            "cds.example",
        ] {
            assert!(names.iter().any(|it| it == name), "{name}");
        }
    }

    #[tokio::test]
    async fn the_usual_tls_port_is_left_to_whoever_has_it() {
        let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = taken.local_addr().expect("its address").to_string();
        let plain = Some("127.0.0.1:0");
        let bound = BoundServers::bind_with_usual_tls(plain, &address).expect("plain alone");
        assert!(bound.plain_port().is_some() && bound.tls.is_none());
        assert_eq!(
            bound.tls_port(),
            Some(port::CDS_TLS),
            "what dataplanes are told"
        );
        assert!(
            BoundServers::bind(plain, Some(&address)).is_err(),
            "asked for"
        );
        let plain = BoundServers::bind_with_usual_tls(Some(&address), "127.0.0.1:0");
        assert!(plain.is_err(), "the plain port is never left to others");
    }

    #[test]
    fn an_address_that_is_none_is_said_with_its_flag() {
        let error = BoundServers::bind(Some("nowhere"), None).expect_err("no port");
        assert_eq!(
            error.to_string(),
            "cannot use the address of `--config-discovery-address`"
        );
        assert!(error.hint().is_some());
    }
}
