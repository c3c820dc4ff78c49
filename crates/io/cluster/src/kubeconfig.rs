//! From what was said to the configuration of a client, by the rules of `kubectl`: one file that was named, else the
//! files of the variable merged, else the one in the home folder; flags win over files; without any of them the
//! ServiceAccount of the pod; and where there is none, an error rather than a guess.

use std::collections::HashMap;
use std::path::Path;

use kube::Config;
use kube::config::{
    AuthInfo, Cluster, Context, KubeConfigOptions, Kubeconfig, KubeconfigError, NamedAuthInfo,
    NamedCluster, NamedContext,
};

use crate::error::{ClusterError, innermost};
use crate::kubectl::Kubectl;

/// What the merged pieces are called in the kubeconfig that is made of them.
const CHOSEN: &str = "chosen";

pub(crate) async fn load(kubectl: &Kubectl) -> Result<Config, ClusterError> {
    // Whoever names a part of a kubeconfig, or a server, does not mean the pod's own account.
    let is_chosen = kubectl.server.is_some()
        || kubectl.context.is_some()
        || kubectl.cluster.is_some()
        || kubectl.user.is_some();
    let mut config = match read(kubectl)? {
        Some(kubeconfig) => of_kubeconfig(kubeconfig, kubectl).await?,
        None if kubectl.in_cluster && !is_chosen => in_cluster(kubectl)?,
        None if kubectl.server.is_some() => of_kubeconfig(Kubeconfig::default(), kubectl).await?,
        None => return Err(ClusterError::NoKubeconfig),
    };
    if let Some(namespace) = &kubectl.namespace {
        config.default_namespace = namespace.clone();
    }
    config.disable_compression |= kubectl.disable_compression;
    // The library asks an API server that is busy up to fifteen times, which takes minutes and hides what it says.
    config.default_retry = false;
    if let Some(patience) = kubectl.request_timeout {
        config.connect_timeout = Some(patience);
    }
    Ok(config)
}

/// The files merged; `None` where there is none, or nothing in them.
fn read(kubectl: &Kubectl) -> Result<Option<Kubeconfig>, ClusterError> {
    if let Some(path) = &kubectl.kubeconfig {
        return read_file(path).map(Some);
    }
    let mut merged: Option<Kubeconfig> = None;
    for path in kubectl.files.iter().filter(|path| path.exists()) {
        let next = read_file(path)?;
        merged = Some(match merged {
            Some(merged) => merged.merge(next).map_err(|error| unusable(&error))?,
            None => next,
        });
    }
    Ok(merged.filter(|kubeconfig| {
        !kubeconfig.clusters.is_empty()
            || !kubeconfig.contexts.is_empty()
            || kubeconfig.current_context.is_some()
    }))
}

fn read_file(path: &Path) -> Result<Kubeconfig, ClusterError> {
    Kubeconfig::read_from(path).map_err(|error| ClusterError::Unreadable {
        path: path.to_owned(),
        why: match &error {
            KubeconfigError::ReadConfig(source, _) => source.to_string(),
            // The text around the mistake may be a secret.
            KubeconfigError::Parse(_) => "it is not a kubeconfig in YAML".to_owned(),
            other => innermost(other),
        },
    })
}

fn unusable(error: &KubeconfigError) -> ClusterError {
    ClusterError::Kubeconfig {
        what: format!("the kubeconfig cannot be used: {error}"),
        hint: "check the files of --kubeconfig or $KUBECONFIG".to_owned(),
    }
}

fn in_cluster(kubectl: &Kubectl) -> Result<Config, ClusterError> {
    let mut config = Config::incluster_env().map_err(|error| ClusterError::Kubeconfig {
        what: format!(
            "this pod's ServiceAccount cannot be used: {}",
            innermost(&error)
        ),
        hint: "set `automountServiceAccountToken: true` in the pod, or name a kubeconfig"
            .to_owned(),
    })?;
    apply_to_user(&mut config.auth_info, kubectl);
    Ok(config)
}

/// The cluster, user and context that are meant, with what the flags say instead.
async fn of_kubeconfig(kubeconfig: Kubeconfig, kubectl: &Kubectl) -> Result<Config, ClusterError> {
    let context = context(&kubeconfig, kubectl)?;
    let cluster_name = kubectl.cluster.as_ref().or(Some(&context.cluster));
    let cluster_name = cluster_name.filter(|name| !name.is_empty());
    let mut cluster = match cluster_name {
        Some(name) => {
            let named = kubeconfig.clusters.iter().find(|it| it.name == *name);
            let names = kubeconfig.clusters.iter().map(|it| it.name.as_str());
            named
                .and_then(|named| named.cluster.clone())
                .ok_or_else(|| unknown("cluster", name, names))?
        }
        None => Cluster::default(),
    };
    let user_name = kubectl.user.as_ref().or(context.user.as_ref());
    let mut user = match user_name.filter(|name| !name.is_empty()) {
        Some(name) => {
            let named = kubeconfig.auth_infos.iter().find(|it| it.name == *name);
            let names = kubeconfig.auth_infos.iter().map(|it| it.name.as_str());
            named
                .and_then(|named| named.auth_info.clone())
                .ok_or_else(|| unknown("user", name, names))?
        }
        None => AuthInfo::default(),
    };
    apply_to_cluster(&mut cluster, kubectl);
    apply_to_user(&mut user, kubectl);
    if cluster.server.as_deref().is_none_or(str::is_empty) {
        return Err(ClusterError::Kubeconfig {
            what: "the kubeconfig does not say which API server to ask".to_owned(),
            hint:
                "choose a context with --context or `kubectl config use-context`, or give --server"
                    .to_owned(),
        });
    }
    let chosen = Kubeconfig {
        clusters: vec![NamedCluster {
            name: CHOSEN.to_owned(),
            cluster: Some(cluster),
            ..NamedCluster::default()
        }],
        auth_infos: vec![NamedAuthInfo {
            name: CHOSEN.to_owned(),
            auth_info: Some(user),
            ..NamedAuthInfo::default()
        }],
        contexts: vec![NamedContext {
            name: CHOSEN.to_owned(),
            context: Some(Context {
                cluster: CHOSEN.to_owned(),
                user: Some(CHOSEN.to_owned()),
                namespace: context.namespace.filter(|namespace| !namespace.is_empty()),
                ..Context::default()
            }),
            ..NamedContext::default()
        }],
        current_context: Some(CHOSEN.to_owned()),
        ..Kubeconfig::default()
    };
    let loaded = Config::from_custom_kubeconfig(chosen, &KubeConfigOptions::default()).await;
    loaded.map_err(|error| unusable(&error))
}

fn context(kubeconfig: &Kubeconfig, kubectl: &Kubectl) -> Result<Context, ClusterError> {
    let current = kubeconfig.current_context.as_ref();
    let name = kubectl.context.as_ref().or(current);
    let Some(name) = name.filter(|name| !name.is_empty()) else {
        return Ok(Context::default());
    };
    let named = kubeconfig.contexts.iter().find(|it| it.name == *name);
    let names = kubeconfig.contexts.iter().map(|it| it.name.as_str());
    named
        .and_then(|named| named.context.clone())
        .ok_or_else(|| unknown("context", name, names))
}

fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str>) -> ClusterError {
    let known: Vec<&str> = known.collect();
    ClusterError::Kubeconfig {
        what: format!("the kubeconfig has no {what} `{name}`"),
        hint: match known.is_empty() {
            true => format!("it has no {what} at all"),
            false => format!("it has: {}", known.join(", ")),
        },
    }
}

fn apply_to_cluster(cluster: &mut Cluster, kubectl: &Kubectl) {
    if let Some(server) = &kubectl.server {
        // As kubectl reads it: a host alone is one without TLS.
        let with_scheme = match server.contains("://") {
            true => server.clone(),
            false => format!("http://{server}"),
        };
        cluster.server = Some(with_scheme);
    }
    if let Some(path) = &kubectl.certificate_authority {
        cluster.certificate_authority = Some(path.display().to_string());
        cluster.certificate_authority_data = None;
    }
    if kubectl.insecure_skip_tls_verify {
        cluster.insecure_skip_tls_verify = Some(true);
        cluster.certificate_authority = None;
        cluster.certificate_authority_data = None;
    }
    if let Some(name) = &kubectl.tls_server_name {
        cluster.tls_server_name = Some(name.clone());
    }
}

fn apply_to_user(user: &mut AuthInfo, kubectl: &Kubectl) {
    if let Some(token) = &kubectl.token {
        user.token = Some(token.clone().into());
        user.token_file = None;
        user.username = None;
        user.password = None;
        user.exec = None;
        user.auth_provider = None;
    }
    if let Some(path) = &kubectl.client_certificate {
        user.client_certificate = Some(path.display().to_string());
        user.client_certificate_data = None;
    }
    if let Some(path) = &kubectl.client_key {
        user.client_key = Some(path.display().to_string());
        user.client_key_data = None;
    }
    if let Some(name) = &kubectl.impersonate {
        user.impersonate = Some(name.clone());
    }
    if let Some(uid) = &kubectl.impersonate_uid {
        user.impersonate_uid = Some(uid.clone());
    }
    if !kubectl.impersonate_groups.is_empty() {
        user.impersonate_groups = Some(kubectl.impersonate_groups.clone());
    }
    if !kubectl.impersonate_extra.is_empty() {
        let extra: HashMap<_, _> = kubectl.impersonate_extra.clone().into_iter().collect();
        user.impersonate_user_extra = Some(extra);
    }
}

#[cfg(test)]
mod tests;
