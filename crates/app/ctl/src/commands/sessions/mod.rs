//! `stunnerctl sessions`: live allocations, and the end of them.

mod flags;
mod kill;
mod list;
mod selection;
#[cfg(test)]
mod tests;

use stunner_cluster::{Admin, Sessions};
use stunner_flags::{Given, Program, UsageError, joined};

use self::selection::{Address, Found, Selection};
use super::{Command, Entry, at_most_one};
use crate::cli::{Globals, flags as global};
use crate::dataplanes::{Dataplane, Dataplanes, ask_all};
use crate::failure::{Failure, Outcome};
use crate::output::{Form, Output};

pub(super) static ENTRY: Entry = Entry {
    name: "sessions",
    aliases: &[],
    usage: "sessions [GATEWAY]",
    summary: "live allocations: list them, or end some",
    has_wide: true,
    program: Program {
        name: "stunnerctl sessions",
        flags: joined!(flags::ALL, global::ALL),
        head: "\
Lists live allocations: user, client, relayed address, peers, age and payload bytes; or ends some of them

Usage:
  stunnerctl sessions [FLAGS] [GATEWAY]

GATEWAY is NAME or NAMESPACE/NAME; without it, all gateways of the namespace are asked. An ID says which pod has the
session. -o wide adds listener, transports, idle time, time left and packets.

  stunnerctl sessions -n stunner udp-gateway
  stunnerctl sessions --client 198.51.100.7
  stunnerctl sessions --kill stunner/udp-gateway-7c9f-x2/0-17-3
  stunnerctl sessions --username ann --kill-selected --yes
  stunnerctl sessions --admin localhost:8087 -o json
",
        foot: "
A client whose session ends learns of it by its next request and may allocate again: to keep a user out, change the
credentials too.
",
        single_dash: false,
    },
    read: |given| Options::from_given(given).map(Command::Sessions),
};

/// What was said.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    gateway: Option<String>,
    admin: Option<String>,
    selection: Selection,
    action: Action,
    wide: bool,
}

#[derive(Debug, Clone)]
enum Action {
    List,
    Kill { ids: Vec<String>, yes: bool },
    KillSelected { yes: bool },
}

impl Options {
    fn from_given(given: &Given<'_>) -> Result<Options, UsageError> {
        let selection = Selection {
            user: given.text(&flags::USERNAME),
            client: given.value(&flags::CLIENT, Address::read)?,
            peer: given.value(&flags::PEER, Address::read)?,
            listener: given.text(&flags::LISTENER),
        };
        let yes = given.switch(&flags::YES)?;
        let ids = given.texts(&flags::KILL);
        let selected = given.switch(&flags::KILL_SELECTED)?;
        let action = match (ids.is_empty(), selected) {
            (true, false) => Action::List,
            (true, true) if selection.is_empty() => {
                return Err(UsageError::new(
                    "`--kill-selected` without a selection would end every session",
                    "say which: --username, --client, --peer or --listener",
                ));
            }
            (true, true) => Action::KillSelected { yes },
            (false, false) if selection.is_empty() => Action::Kill { ids, yes },
            (false, _) => {
                return Err(UsageError::new(
                    "`--kill` names its sessions itself",
                    "give --kill ID, or a selection with --kill-selected",
                ));
            }
        };
        Ok(Options {
            gateway: at_most_one(given, "`sessions` takes one gateway")?,
            admin: given.text(&flags::ADMIN),
            selection,
            action,
            wide: given.text(&global::OUTPUT).as_deref() == Some("wide"),
        })
    }
}

pub(super) async fn run(
    options: Options,
    globals: Globals,
    out: &mut Output<'_>,
) -> Result<Outcome, Failure> {
    if let Action::Kill { ids, yes } = &options.action {
        kill::sure(ids.len(), *yes)?;
        return kill::by_id(&options, &globals, ids, out).await;
    }
    let dataplanes = Dataplanes::find(
        &globals,
        options.admin.as_deref(),
        options.gateway.as_deref(),
    )
    .await?;
    dataplanes.check_name().await?;
    let (asked, found, outcome) = look(&dataplanes, &options.selection, out).await?;
    if let Action::KillSelected { yes } = options.action {
        if found.len() > 1 && !yes {
            out.text(&list::table(&found, options.wide))?;
        }
        kill::sure(found.len(), yes)?;
        let ended = kill::all(&asked, &found, &globals.form, out).await?;
        return Ok(worse(outcome, ended));
    }
    match &globals.form {
        Form::Machine(form) => {
            for found in &found {
                out.value(form, &list::value(found))?;
            }
        }
        _ => out.text(&list::table(&found, options.wide))?,
    }
    Ok(outcome)
}

/// Asks everybody. Pods that do not answer are told of and make it a problem; where nobody answers there is no result.
async fn look(
    dataplanes: &Dataplanes,
    selection: &Selection,
    out: &mut Output<'_>,
) -> Result<(Vec<Dataplane>, Vec<Found>, Outcome), Failure> {
    let asked = dataplanes.some().await?;
    let filter = selection.filter();
    let told = ask_all(&asked, |admin: Admin| {
        let filter = filter.clone();
        async move { admin.sessions(&filter).await }
    })
    .await;
    let mut outcome = Outcome::Fine;
    let mut silent = Vec::new();
    let mut found = Vec::new();
    for (dataplane, told) in asked.iter().zip(told) {
        match told {
            Ok(Sessions { sessions, .. }) => {
                let meant = sessions.into_iter().filter(|session| {
                    dataplanes.wanted().covers_listener(&session.listener)
                        && selection.covers(session)
                });
                found.extend(meant.map(|session| Found {
                    pod: dataplane.gateway.is_some().then(|| dataplane.name.clone()),
                    session,
                }));
            }
            Err(silence) => {
                silent.push(silence);
                outcome = Outcome::Problem;
            }
        }
    }
    if silent.len() == asked.len()
        && let Some(silence) = silent.first()
    {
        return Err(silence.clone().into());
    }
    for silence in silent {
        out.note(&silence.to_string());
    }
    Ok((asked, found, outcome))
}

fn worse(one: Outcome, other: Outcome) -> Outcome {
    match one {
        Outcome::Fine => other,
        Outcome::Problem => one,
    }
}
