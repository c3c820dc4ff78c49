//! What was said on the command line.

use std::fmt;
use std::time::Duration;

use stunner_api::names;
use stunner_client::ServerUri;
use stunner_config::AuthMethod;
use stunner_flags::{Given, UsageError, values};

use super::flags;
use super::gather::Network;
use crate::commands::at_most_one;

const TIMEOUT: Duration = Duration::from_secs(5);

/// What was said. `Debug` shows no credentials.
#[derive(Clone)]
pub(crate) struct Options {
    /// `NAME` or `NAMESPACE/NAME`.
    pub(super) gateway: Option<String>,
    pub(super) listener: Option<String>,
    pub(super) no_network: bool,
    pub(super) timeout: Duration,
    pub(super) controller: String,
    /// Servers to look at instead of a cluster.
    pub(super) turn: Vec<String>,
    pub(super) admin: Option<String>,
    pub(super) auth: Option<AuthMethod>,
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("gateway", &self.gateway)
            .field("listener", &self.listener)
            .field("no_network", &self.no_network)
            .finish_non_exhaustive()
    }
}

impl Options {
    pub(super) fn from_given(given: &Given<'_>) -> Result<Options, UsageError> {
        let gateway = at_most_one(
            given,
            "give one Gateway as NAME or NAMESPACE/NAME, or none for all",
        )?;
        let turn = given.texts(&flags::TURN);
        let admin = given.text(&flags::ADMIN);
        let no_network = given.switch(&flags::NO_NETWORK)?;
        let elsewhere = !turn.is_empty() || admin.is_some();
        if let (Some(gateway), false) = (&gateway, turn.is_empty()) {
            return Err(UsageError::new(
                format!("`{gateway}` is a Gateway, and `--turn` means servers that know none"),
                "leave out either",
            ));
        }
        if elsewhere && no_network {
            return Err(UsageError::new(
                "with `--no-network` there is nothing to find out about a server without a cluster",
                "leave it out",
            ));
        }
        if gateway.as_deref().is_some_and(|gateway| {
            gateway.split('/').count() > 2 || gateway.split('/').any(str::is_empty)
        }) {
            return Err(UsageError::new(
                format!("`{}` names no Gateway", gateway.unwrap_or_default()),
                "give it as NAME or NAMESPACE/NAME",
            ));
        }
        Ok(Options {
            gateway,
            listener: given.text(&flags::LISTENER),
            no_network,
            timeout: given
                .value(&flags::TIMEOUT, values::duration)?
                .filter(|timeout| !timeout.is_zero())
                .unwrap_or(TIMEOUT),
            controller: given
                .text(&flags::CONTROLLER_NAME)
                .unwrap_or_else(|| names::CONTROLLER_NAME.to_owned()),
            turn,
            admin,
            auth: auth(given)?,
        })
    }

    pub(super) fn network(&self) -> Network {
        Network {
            timeout: self.timeout,
            auth: self.auth.clone(),
        }
    }

    /// The servers of `--turn`. What is wrong with one is no mistake of usage.
    pub(super) fn servers(&self) -> Result<Vec<ServerUri>, crate::failure::Failure> {
        let read = self.turn.iter().map(|text| {
            text.parse::<ServerUri>().map_err(|error| {
                crate::failure::Failure::new(
                    error,
                    "write for example `turn:turn.example.org:3478?transport=udp`",
                )
            })
        });
        read.collect()
    }
}

fn auth(given: &Given<'_>) -> Result<Option<AuthMethod>, UsageError> {
    let (username, password) = (given.text(&flags::USERNAME), given.text(&flags::PASSWORD));
    match (username, password, given.text(&flags::SECRET)) {
        (None, None, None) => Ok(None),
        (Some(username), Some(password), None) => {
            Ok(Some(AuthMethod::Static { username, password }))
        }
        (None, None, Some(secret)) => Ok(Some(AuthMethod::Ephemeral { secret })),
        (_, _, Some(_)) => Err(UsageError::new(
            "`--secret` makes a user name and a password of its own",
            "give either `--secret`, or `--username` and `--password`",
        )),
        _ => Err(UsageError::new(
            "`--username` and `--password` belong together",
            "give both, or `--secret`",
        )),
    }
}
