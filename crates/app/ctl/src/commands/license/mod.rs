//! `stunnerctl license`: which features are included.

mod flags;

use serde_json::Value;
use stunner_cluster::Cds;
use stunner_flags::{Given, Program, UsageError, joined};

use super::{Command, Entry};
use crate::cli::{Globals, flags as global};
use crate::failure::{Failure, Outcome};
use crate::output::{Form, Output};

pub(super) static ENTRY: Entry = Entry {
    name: "license",
    aliases: &["license-status"],
    usage: "license",
    summary: "which features are included (all of them)",
    has_wide: false,
    program: Program {
        name: "stunnerctl license",
        flags: joined!(flags::ALL, global::ALL),
        head: "\
Prints which features are included: all of them, there is nothing to buy

Usage:
  stunnerctl license [FLAGS]

Also called license-status. The operator is asked, so that an older one in the cluster can be told
from this one; -o json, yaml and jsonpath give its answer as it is.
",
        foot: "",
        single_dash: false,
    },
    read: |given| Options::from_given(given).map(Command::License),
};

/// What was said: nothing.
#[derive(Debug, Clone)]
pub(crate) struct Options {}

impl Options {
    fn from_given(given: &Given<'_>) -> Result<Options, UsageError> {
        match given.positionals() {
            [] => Ok(Options {}),
            [extra, ..] => Err(UsageError::new(
                format!("unexpected argument `{extra}`"),
                "`license` takes none",
            )),
        }
    }
}

pub(super) async fn run(
    Options {}: Options,
    globals: Globals,
    out: &mut Output<'_>,
) -> Result<Outcome, Failure> {
    let cds = Cds::find(&globals.kubectl, &globals.cds).await?;
    let license = cds.by("stunnerctl").license().await?;
    match &globals.form {
        Form::Machine(form) => out.value(form, &license)?,
        Form::String => out.text(&format!("all features included ({})\n", features(&license)))?,
        _ => out.text(&summary(&license))?,
    }
    Ok(Outcome::Fine)
}

fn features(license: &Value) -> String {
    let features = license["enabledFeatures"].as_array();
    let features: Vec<&str> = features
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    match features.is_empty() {
        true => "none named".to_owned(),
        false => features.join(", "),
    }
}

fn summary(license: &Value) -> String {
    let mut text = format!(
        "Everything is included; there is no license to buy, and none to expire.\n\
         Features that the operator names: {}\n",
        features(license)
    );
    if let Some(error) = license["lastError"]
        .as_str()
        .filter(|error| !error.is_empty())
    {
        text.push_str(&format!("The operator reports: {error}\n"));
    }
    text
}
