//! The end of sessions.

use serde_json::json;
use stunner_api::NamespacedName;
use stunner_cluster::{Admin, Cluster};

use super::Options;
use super::list::printable;
use super::selection::{Found, split_id};
use crate::cli::Globals;
use crate::dataplanes::{Dataplane, failure};
use crate::failure::{Failure, Outcome};
use crate::output::{Form, Output};

/// One session is soon made again; several are an outage.
pub(super) fn sure(count: usize, yes: bool) -> Result<(), Failure> {
    match count > 1 && !yes {
        true => Err(Failure::new(
            format!("{count} sessions would end"),
            "repeat with --yes to end them",
        )),
        false => Ok(()),
    }
}

/// Ends the sessions of these ids, whatever stands in the way of some of them.
pub(super) async fn by_id(
    options: &Options,
    globals: &Globals,
    ids: &[String],
    out: &mut Output<'_>,
) -> Result<Outcome, Failure> {
    let mut outcome = Outcome::Fine;
    let mut cluster = None;
    for id in ids {
        let admin = match (&options.admin, split_id(id)) {
            (Some(address), (None, _)) => Admin::direct(address).map_err(failure)?,
            (Some(_), (Some(pod), _)) => {
                return Err(Failure::new(
                    format!("`{id}` is a session of pod {pod}"),
                    "leave --admin out to reach pods",
                ));
            }
            (None, (Some(pod), _)) => {
                let (namespace, name) = pod.split_once('/').unwrap_or(("", pod));
                if namespace.is_empty() || name.is_empty() || name.contains('/') {
                    return Err(no_id(id));
                }
                if cluster.is_none() {
                    cluster = Some(Cluster::connect(&globals.kubectl).await.map_err(failure)?);
                }
                match &cluster {
                    Some(cluster) => Admin::of_pod(cluster, &NamespacedName::new(namespace, name)),
                    None => return Err(no_id(id)),
                }
            }
            (None, (None, _)) => return Err(no_id(id)),
        };
        match admin.kill(split_id(id).1).await {
            Ok(()) => tell(id, &globals.form, out)?,
            Err(error) => {
                out.report(&failure(error));
                outcome = Outcome::Problem;
            }
        }
    }
    Ok(outcome)
}

fn tell(id: &str, form: &Form, out: &mut Output<'_>) -> Result<(), Failure> {
    match form {
        Form::Machine(form) => out.value(form, &json!({ "id": id, "ended": true })),
        _ => out.text(&format!("ended {id}\n")),
    }
}

fn no_id(id: &str) -> Failure {
    Failure::new(
        format!("`{}` does not say which pod has the session", printable(id)),
        "give NAMESPACE/POD/ID as `stunnerctl sessions` shows it, or --admin ADDR for a local `stunner run`",
    )
}

/// Ends these sessions. One that has ended by itself is no problem.
pub(super) async fn all(
    asked: &[Dataplane],
    found: &[Found],
    form: &Form,
    out: &mut Output<'_>,
) -> Result<Outcome, Failure> {
    let mut outcome = Outcome::Fine;
    for found in found {
        let mut holders = asked.iter();
        let holder = holders.find(|dataplane| match &found.pod {
            Some(pod) => dataplane.name == *pod,
            None => dataplane.gateway.is_none(),
        });
        let Some(holder) = holder else {
            continue;
        };
        match holder.admin.kill(&found.session.id).await {
            Ok(()) => tell(&found.id(), form, out)?,
            Err(error) if error.is_not_found() => {
                out.note(&format!("{} had ended already", found.id()));
            }
            Err(error) => {
                out.report(&failure(error));
                outcome = Outcome::Problem;
            }
        }
    }
    if found.is_empty() {
        out.note("no session is selected");
    }
    Ok(outcome)
}
