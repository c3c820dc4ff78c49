//! What the flags of every command mean.

use stunner_cluster::flags::NAMESPACE;
use stunner_cluster::{CdsFlags, Kubectl};
use stunner_flags::{Given, UsageError};

use super::flags;
use crate::output::Form;

/// What every command is told.
#[derive(Debug, Clone)]
pub(crate) struct Globals {
    pub(crate) form: Form,
    /// As given; a command that needs one falls back to that of the kubeconfig's context.
    pub(crate) namespace: Option<String>,
    pub(crate) all_namespaces: bool,
    /// Which cluster is meant.
    pub(crate) kubectl: Kubectl,
    /// Where config discovery is.
    pub(crate) cds: CdsFlags,
    /// Log levels by scope.
    pub(crate) log: String,
}

impl Globals {
    pub(super) fn from_given(given: &Given<'_>) -> Result<Globals, UsageError> {
        let log = match given.switch(&flags::VERBOSE)? {
            true => "all:TRACE".to_owned(),
            // The Kubernetes client logs as an error what becomes an error of the command, with its hint, anyway.
            false => given
                .text(&flags::LOG_LEVEL)
                .unwrap_or_else(|| format!("{},kube_client:DISABLE", flags::LOG_LEVEL.default)),
        };
        Ok(Globals {
            form: Form::read(given)?,
            namespace: given.text(&NAMESPACE),
            all_namespaces: given.switch(&flags::ALL_NAMESPACES)?,
            kubectl: Kubectl::read(given)?,
            cds: CdsFlags::read(given)?,
            log,
        })
    }
}
