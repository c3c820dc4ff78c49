//! What was said about which cluster is meant, as `kubectl` takes it.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use stunner_flags::{Given, UsageError, values};

use crate::flags;

/// What the flags and the environment say about the cluster. `Debug` shows no token.
#[derive(Clone, Default)]
pub struct Kubectl {
    /// `--kubeconfig`: this file and no other.
    pub kubeconfig: Option<PathBuf>,
    /// The files of `$KUBECONFIG`, else the one in the home folder. Those that do not exist are passed over.
    pub files: Vec<PathBuf>,
    /// The process runs in a pod, and may use its ServiceAccount.
    pub in_cluster: bool,
    pub context: Option<String>,
    pub cluster: Option<String>,
    pub user: Option<String>,
    /// `-n`; what the tools do without it is theirs to say.
    pub namespace: Option<String>,
    pub server: Option<String>,
    pub token: Option<String>,
    pub impersonate: Option<String>,
    pub impersonate_groups: Vec<String>,
    pub impersonate_uid: Option<String>,
    pub impersonate_extra: BTreeMap<String, Vec<String>>,
    pub certificate_authority: Option<PathBuf>,
    pub client_certificate: Option<PathBuf>,
    pub client_key: Option<PathBuf>,
    pub insecure_skip_tls_verify: bool,
    pub tls_server_name: Option<String>,
    /// `None` for the usual one.
    pub request_timeout: Option<Duration>,
    pub disable_compression: bool,
}

impl fmt::Debug for Kubectl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kubectl")
            .field("kubeconfig", &self.kubeconfig)
            .field("files", &self.files)
            .field("context", &self.context)
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}

impl Kubectl {
    /// Reads the flags of [`flags::KUBECTL`], all of which must be in the program's table.
    pub fn read(given: &Given<'_>) -> Result<Kubectl, UsageError> {
        let on_line = given.on_command_line(&flags::KUBECONFIG);
        let kubeconfig = given.text(&flags::KUBECONFIG).filter(|_| on_line);
        let files = match given.variable("KUBECONFIG") {
            Some(list) => std::env::split_paths(&list)
                .filter(|path| !path.as_os_str().is_empty())
                .collect(),
            None => given
                .variable("HOME")
                .map(|home| PathBuf::from(home).join(".kube/config"))
                .into_iter()
                .collect(),
        };
        let path = |flag| given.text(flag).map(PathBuf::from);
        let timeout = given.value(&flags::REQUEST_TIMEOUT, values::duration)?;
        Ok(Kubectl {
            kubeconfig: kubeconfig.map(PathBuf::from),
            files,
            in_cluster: given.variable("KUBERNETES_SERVICE_HOST").is_some(),
            context: given.text(&flags::CONTEXT),
            cluster: given.text(&flags::CLUSTER),
            user: given.text(&flags::USER),
            namespace: given.text(&flags::NAMESPACE),
            server: given.text(&flags::SERVER),
            token: given.text(&flags::TOKEN),
            impersonate: given.text(&flags::AS),
            impersonate_groups: given.texts(&flags::AS_GROUP),
            impersonate_uid: given.text(&flags::AS_UID),
            impersonate_extra: extra(&given.texts(&flags::AS_USER_EXTRA))?,
            certificate_authority: path(&flags::CERTIFICATE_AUTHORITY),
            client_certificate: path(&flags::CLIENT_CERTIFICATE),
            client_key: path(&flags::CLIENT_KEY),
            insecure_skip_tls_verify: given.switch(&flags::INSECURE_SKIP_TLS_VERIFY)?,
            tls_server_name: given.text(&flags::TLS_SERVER_NAME),
            request_timeout: timeout.filter(|timeout| !timeout.is_zero()),
            disable_compression: given.switch(&flags::DISABLE_COMPRESSION)?,
        })
    }
}

fn extra(texts: &[String]) -> Result<BTreeMap<String, Vec<String>>, UsageError> {
    let mut values_by_key: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for text in texts {
        let Some((key, value)) = text.split_once('=').filter(|(key, _)| !key.is_empty()) else {
            return Err(UsageError::new(
                format!("invalid value `{text}` for `--as-user-extra`: it has no key"),
                "give KEY=VALUE",
            ));
        };
        let values = values_by_key.entry(key.to_owned()).or_default();
        values.push(value.to_owned());
    }
    Ok(values_by_key)
}
