//! What the flags of every command mean.

use stunner_cluster::flags::NAMESPACE;
use stunner_cluster::{CdsFlags, Kubectl};
use stunner_flags::{Given, UsageError, Wrong};
use stunner_telemetry::logging::LogSpec;

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
    pub(super) fn from_given(given: &Given<'_>, has_wide: bool) -> Result<Globals, UsageError> {
        // A flag on the command line beats the other one's variable; of two flags `--loglevel` says more.
        let verbose = given.switch(&flags::VERBOSE)?;
        let verbose_first =
            given.on_command_line(&flags::VERBOSE) && !given.on_command_line(&flags::LOG_LEVEL);
        let log = match given.value(&flags::LOG_LEVEL, levels)? {
            Some(said) if !(verbose && verbose_first) => said,
            _ if verbose => "all:TRACE".to_owned(),
            _ => flags::LOG_LEVEL.default.to_owned(),
        };
        // The Kubernetes client logs as an error what becomes an error of the command, with its hint, anyway; and what
        // it cannot read, which may hold secrets.
        let log = match log.contains("kube_client") {
            true => log,
            false => log + ",kube_client:DISABLE",
        };
        Ok(Globals {
            form: Form::read(given, has_wide)?,
            namespace: given.text(&NAMESPACE),
            all_namespaces: given.switch(&flags::ALL_NAMESPACES)?,
            kubectl: Kubectl::read(given)?,
            cds: CdsFlags::read(given)?,
            log,
        })
    }
}

fn levels(text: &str) -> Result<String, Wrong> {
    match LogSpec::parse(text).1.first() {
        None => Ok(text.to_owned()),
        Some(_) => Err(Wrong {
            why: "it holds something that is not SCOPE:LEVEL".to_owned(),
            hint: "give pairs such as `all:WARN,cluster:DEBUG`; levels are ERROR, WARN, INFO, DEBUG, TRACE and DISABLE",
        }),
    }
}
