//! What can stand between a tool and what it asks for.

use std::path::PathBuf;

use kube::client::AuthError;
use stunner_cds::{LoadError, OriginError};

/// What servers need in order to learn whose a token is.
pub(crate) const TOKEN_REVIEWS: &str = "tokenreviews.authentication.k8s.io";

/// What streams into pods need.
pub(crate) const PORT_FORWARD: &str = "pods/portforward";

pub(crate) const API_SERVER: &str = "the API server";

const LOG_IN: &str = "log in again, or give another --context, --user or --token";

/// Why something in a cluster, or beside one, could not be asked. [`ClusterError::hint`] says what to do.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// Nothing says which cluster is meant.
    #[error("there is no kubeconfig, and this is not running inside a cluster")]
    NoKubeconfig,
    /// A kubeconfig that cannot be used.
    #[error("{what}")]
    Kubeconfig { what: String, hint: String },
    #[error("cannot read the kubeconfig `{}`: {why}", path.display())]
    Unreadable { path: PathBuf, why: String },
    /// Nobody answers; `what` is reached by connecting to it.
    #[error("{what} cannot be reached: {why}")]
    Unreachable { what: String, why: String },
    /// The API server does not know who this is.
    #[error("the API server does not accept the credentials: {said}")]
    Unauthorized { said: String },
    /// RBAC says no.
    #[error("not permitted to {} {resource} in {}: {said}", verb.replace(',', " and "), place(namespace.as_deref()))]
    Forbidden {
        /// Several are separated by commas.
        verb: &'static str,
        /// Such as `pods`, `pods/portforward` or `gateways.gateway.networking.k8s.io`.
        resource: String,
        /// `None` for the whole cluster.
        namespace: Option<String>,
        /// The API server's words.
        said: String,
    },
    /// What was asked for does not exist.
    #[error("{what} not found")]
    NotFound { what: String, hint: String },
    /// Several answer to the description.
    #[error("several {what} found: {}", names.join(", "))]
    Ambiguous {
        /// In the plural.
        what: &'static str,
        names: Vec<String>,
        hint: String,
    },
    /// It exists, but none of it is ready.
    #[error("{what} is not ready: {}", names.join(", "))]
    NotReady { what: String, names: Vec<String> },
    /// The API server answers, but cannot do it now: too many ask, or something behind it fails.
    #[error("the API server cannot do it now ({code}): {said}")]
    Unavailable { code: u16, said: String },
    /// The API server refused for another reason; its words.
    #[error("the API server refused: {said}")]
    Refused { code: u16, said: String },
    /// An HTTP server answered with an error.
    #[error("{place} answered {code}: {error}")]
    Status {
        place: String,
        code: u16,
        error: String,
        /// Empty where it gave none.
        hint: String,
    },
    /// An answer that makes no sense.
    #[error("the answer of {place} is not understood: {why}")]
    Malformed { place: String, why: String },
    /// An address on the command line that is none.
    #[error(transparent)]
    Address(#[from] OriginError),
    /// The discovery service.
    #[error(transparent)]
    Cds(#[from] LoadError),
}

fn place(namespace: Option<&str>) -> String {
    match namespace {
        Some(namespace) => format!("namespace `{namespace}`"),
        None => "the whole cluster".to_owned(),
    }
}

impl ClusterError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            ClusterError::NoKubeconfig => {
                "name one with --kubeconfig or $KUBECONFIG, or reach things without Kubernetes: \
                 --cds-server-address, --auth-server-address, --pod-address or --admin"
            }
            ClusterError::Kubeconfig { hint, .. }
            | ClusterError::NotFound { hint, .. }
            | ClusterError::Ambiguous { hint, .. }
            | ClusterError::Status { hint, .. } => hint,
            ClusterError::Unreadable { .. } => {
                "check the path in --kubeconfig or $KUBECONFIG and the file's permissions"
            }
            ClusterError::Unreachable { .. } => {
                "check that it runs and that the address and the port are right"
            }
            ClusterError::Unauthorized { .. } => LOG_IN,
            ClusterError::Forbidden {
                verb,
                resource,
                namespace,
                ..
            } => return Some(rule(verb, resource, namespace.as_deref())),
            ClusterError::NotReady { .. } => {
                "wait until it is, or see why with `kubectl describe pod`"
            }
            ClusterError::Address(error) => error.hint(),
            ClusterError::Cds(error) => return error.hint(),
            ClusterError::Unavailable { code: 429, .. } => {
                "too many ask it at once; try again in a while"
            }
            ClusterError::Unavailable { .. } => {
                "try again in a while; `kubectl get --raw '/readyz?verbose'` says what is wrong with it"
            }
            ClusterError::Refused { code: 409, .. } => {
                "somebody else has made or changed it meanwhile; try again"
            }
            ClusterError::Refused { .. } => {
                "check that --context or --server means the right cluster, and that its version is a supported one"
            }
            ClusterError::Malformed { .. } => {
                "check that the address and the port are those of the right program, and that its version fits this one"
            }
        };
        (!hint.is_empty()).then(|| hint.to_owned())
    }

    /// Whether this says no to the one who asks, rather than that nobody could be asked.
    pub fn is_forbidden(&self) -> bool {
        matches!(self, ClusterError::Forbidden { .. })
    }

    pub fn is_not_found(&self) -> bool {
        matches!(
            self,
            ClusterError::NotFound { .. }
                | ClusterError::Status { code: 404, .. }
                | ClusterError::Cds(LoadError::Status { status: 404, .. })
        )
    }

    /// Whether the API server said no, so that nothing came of what was asked. Otherwise something may have.
    pub fn is_refusal(&self) -> bool {
        matches!(
            self,
            ClusterError::Unauthorized { .. }
                | ClusterError::Forbidden { .. }
                | ClusterError::NotFound { .. }
                | ClusterError::Unavailable { code: 429, .. }
                | ClusterError::Refused { .. }
        )
    }

    /// What a request to the API server came to.
    pub(crate) fn of_kube(error: &kube::Error, asked: &Asked<'_>) -> ClusterError {
        match error {
            kube::Error::Api(status) => ClusterError::of_status(status, asked),
            kube::Error::Auth(error) => ClusterError::of_credentials(error),
            kube::Error::SerdeError(error) => ClusterError::Malformed {
                place: API_SERVER.to_owned(),
                // The place of the mistake, not the text around it, which may be a secret.
                why: format!(
                    "unexpected JSON at line {} column {}",
                    error.line(),
                    error.column()
                ),
            },
            error => ClusterError::Unreachable {
                what: API_SERVER.to_owned(),
                why: innermost(error),
            },
        }
    }

    /// What stands in the way of the credentials that a kubeconfig promises. What a program of its own wrote may hold
    /// them, so that of it only the beginning of what it complains about is repeated.
    pub(crate) fn of_credentials(error: &AuthError) -> ClusterError {
        let (what, hint) = match error {
            AuthError::AuthExecStart(source) => (
                format!(
                    "the program that the kubeconfig has for credentials cannot be run: {source}"
                ),
                "install it, or give --token",
            ),
            AuthError::AuthExecRun { out, .. } => {
                let complaint = String::from_utf8_lossy(&out.stderr);
                let line = complaint.lines().find(|line| !line.trim().is_empty());
                let line: String = line.unwrap_or_default().chars().take(200).collect();
                let line = match line.trim() {
                    "" => String::new(),
                    line => format!(": {line}"),
                };
                (
                    format!(
                        "the program that the kubeconfig has for credentials failed ({}){line}",
                        out.status
                    ),
                    LOG_IN,
                )
            }
            AuthError::AuthExecParse(_) => (
                "the program that the kubeconfig has for credentials gave none".to_owned(),
                LOG_IN,
            ),
            other => (
                format!(
                    "the credentials of the kubeconfig cannot be used: {}",
                    innermost(other)
                ),
                LOG_IN,
            ),
        };
        ClusterError::Kubeconfig {
            what,
            hint: hint.to_owned(),
        }
    }

    pub(crate) fn of_status(status: &kube::core::Status, asked: &Asked<'_>) -> ClusterError {
        let said = status.message.clone();
        match status.code {
            401 => ClusterError::Unauthorized { said },
            403 => ClusterError::Forbidden {
                verb: asked.verb,
                resource: asked.resource.to_owned(),
                namespace: asked.namespace.map(str::to_owned),
                said,
            },
            // Pods are listed before they are reached: what is missing may be the pod by now, and may be its node.
            // Other failures are those of the node, too.
            404 | 500.. if asked.resource == PORT_FORWARD => ClusterError::Unreachable {
                what: asked.what(),
                why: said,
            },
            // The namespace of something new may be missing as well as its kind.
            404 if asked.verb == "create" => ClusterError::Refused { code: 404, said },
            404 => ClusterError::NotFound {
                what: asked.what(),
                hint: match asked.name {
                    Some(_) => "check the name and the namespace".to_owned(),
                    None => {
                        "the cluster does not serve this kind; are its CRDs installed?".to_owned()
                    }
                },
            },
            code @ (429 | 500..) => ClusterError::Unavailable { code, said },
            code => ClusterError::Refused { code, said },
        }
    }
}

/// What was asked of the API server, to say it in errors.
pub(crate) struct Asked<'a> {
    pub(crate) verb: &'static str,
    pub(crate) resource: &'a str,
    pub(crate) namespace: Option<&'a str>,
    pub(crate) name: Option<&'a str>,
}

impl Asked<'_> {
    fn what(&self) -> String {
        let kind = self.resource.split(['/', '.']).next().unwrap_or_default();
        let kind = kind.strip_suffix('s').unwrap_or(kind);
        match (self.namespace, self.name) {
            (Some(namespace), Some(name)) => format!("{kind} {namespace}/{name}"),
            (_, Some(name)) => format!("{kind} {name}"),
            _ => self.resource.to_owned(),
        }
    }
}

/// The role that would permit it.
fn rule(verb: &str, resource: &str, namespace: Option<&str>) -> String {
    match namespace {
        // A role that every cluster has.
        None if resource == TOKEN_REVIEWS => {
            "bind the ClusterRole that permits it, `kubectl create clusterrolebinding NAME \
             --clusterrole=system:auth-delegator --serviceaccount=NAMESPACE:ACCOUNT`"
                .to_owned()
        }
        Some(namespace) => format!(
            "ask for a Role that permits it, `kubectl create role NAME -n {namespace} --verb={verb} \
             --resource={resource}`, and a RoleBinding to it"
        ),
        None => format!(
            "ask for a ClusterRole that permits it, `kubectl create clusterrole NAME --verb={verb} \
             --resource={resource}`, and a ClusterRoleBinding to it, or name a namespace that you may read \
             (-n, --cds-server-namespace, --auth-service-namespace)"
        ),
    }
}

/// The words of the libraries around it ("ServiceError: client error (Connect)") say less than the cause itself.
pub(crate) fn innermost(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}
