//! Making a client.

use std::path::{Path, PathBuf};
use std::time::Duration;

use axum::http::{HeaderValue, header};
use kube::config::{InClusterError, KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};

/// Longer than any watch: the server ends those before. What stays silent for longer is a dead connection.
const READ_TIMEOUT: Duration = Duration::from_secs(300);

/// Why there is no client.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    #[error("cannot use the kubeconfig file `{}`", path.display())]
    File {
        path: PathBuf,
        source: KubeconfigProblem,
    },
    #[error("there is no cluster to work for: no kubeconfig, and this is not a pod")]
    NoCluster {
        kubeconfig: Box<KubeconfigError>,
        source: Box<InClusterError>,
    },
    #[error("cannot use the kubeconfig")]
    Kubeconfig(#[source] KubeconfigProblem),
    #[error("cannot make a client for the API server")]
    Client(#[source] Box<kube::Error>),
}

/// What is wrong with a kubeconfig.
#[derive(Debug, thiserror::Error)]
pub enum KubeconfigProblem {
    /// Where, and not what: the library would show the lines around it, and there are tokens in such files.
    #[error("it is not the YAML of a kubeconfig: see line {line}, column {column}")]
    Yaml { line: u64, column: u64 },
    #[error(transparent)]
    Other(Box<KubeconfigError>),
}

impl From<KubeconfigError> for KubeconfigProblem {
    fn from(error: KubeconfigError) -> Self {
        match error {
            KubeconfigError::Parse(error) => {
                let place = error.location();
                KubeconfigProblem::Yaml {
                    line: place.map_or(1, |place| place.line()),
                    column: place.map_or(1, |place| place.column()),
                }
            }
            other => KubeconfigProblem::Other(Box::new(other)),
        }
    }
}

impl ConnectError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::File { .. } | Self::Kubeconfig(_) => {
                "`kubectl --kubeconfig FILE version` shows whether the file works"
            }
            Self::NoCluster { .. } => {
                "give a kubeconfig by --kubeconfig or KUBECONFIG, or run in a pod with a ServiceAccount"
            }
            Self::Client(_) => "check the certificates and keys that the kubeconfig names",
        }
    }
}

/// A way to a cluster.
pub struct Connection {
    pub client: Client,
    /// What the client was made from: the API server's address, how to trust it, and our own credentials.
    pub config: Config,
}

/// A client by the given kubeconfig file, else by `KUBECONFIG` or the file in the home folder, else by the pod's
/// ServiceAccount. Nothing is sent yet.
pub async fn connect(kubeconfig: Option<&Path>) -> Result<Connection, ConnectError> {
    // Several libraries of this program bring TLS; the provider is named, so that none has to guess.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut config = config(kubeconfig).await?;
    config.read_timeout = Some(READ_TIMEOUT);
    config.reset_reader_on_write = true;
    // Who did it, in the API server's audit log.
    config.headers.push((
        header::USER_AGENT,
        HeaderValue::from_static(concat!(
            "stunner-gateway-operator/",
            env!("CARGO_PKG_VERSION")
        )),
    ));
    tracing::info!(
        scope = "operator",
        "working for the API server at {}",
        config.cluster_url
    );
    let client = Client::try_from(config.clone());
    let client = client.map_err(|error| ConnectError::Client(Box::new(error)))?;
    Ok(Connection { client, config })
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection")
            .field("cluster_url", &self.config.cluster_url)
            .finish_non_exhaustive()
    }
}

async fn config(path: Option<&Path>) -> Result<Config, ConnectError> {
    let options = KubeConfigOptions::default();
    if let Some(path) = path {
        let refused = |error: KubeconfigError| ConnectError::File {
            path: path.to_owned(),
            source: error.into(),
        };
        let kubeconfig = Kubeconfig::read_from(path).map_err(refused)?;
        let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
        return config.map_err(refused);
    }
    match Config::from_kubeconfig(&options).await {
        Ok(config) => Ok(config),
        // A file that is there and broken is what the user meant; one that is missing is not.
        Err(kubeconfig) if is_missing(&kubeconfig) => {
            Config::incluster().map_err(|error| ConnectError::NoCluster {
                kubeconfig: Box::new(kubeconfig),
                source: Box::new(error),
            })
        }
        Err(error) => Err(ConnectError::Kubeconfig(error.into())),
    }
}

fn is_missing(error: &KubeconfigError) -> bool {
    match error {
        KubeconfigError::FindPath => true,
        KubeconfigError::ReadConfig(error, _) => error.kind() == std::io::ErrorKind::NotFound,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error;
    use std::io::Write;

    use super::*;

    #[tokio::test]
    async fn a_broken_kubeconfig_is_told_without_its_content() {
        for text in ["token: hush\nusers: [\n", "hush", "users: hush"] {
            let mut file = tempfile::NamedTempFile::new().expect("a file");
            file.write_all(text.as_bytes()).expect("written");
            let error = connect(Some(file.path())).await.expect_err("broken");
            let cause = error.source().expect("a cause");
            let told = format!("{error} {error:?} {cause}");
            assert!(!told.contains("hush"), "{told}");
            assert!(cause.to_string().contains("line"), "{cause}");
        }
    }
}
