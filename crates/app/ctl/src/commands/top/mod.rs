//! `stunnerctl top`: live dashboard of traffic, allocations and denials.
//!
//! Dataplanes are asked for their counters again and again (`sample`); two answers make a `board`, on which a `view`
//! chooses what the person wants to see. All of that is values; only `screen` touches a terminal.

mod board;
mod draw;
mod flags;
mod json;
mod sample;
mod screen;
mod table;
#[cfg(test)]
mod tests;
mod view;

use std::time::Duration;

use jiff::Zoned;
use stunner_flags::{Given, Program, UsageError, joined, values};
use stunner_process::Signals;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use self::board::Board;
use self::draw::Heading;
use self::sample::{Sample, Sampler};
use self::screen::{Input, Screen};
use self::view::{Reaction, View};
use super::{Command, Entry, at_most_one};
use crate::cli::{Globals, flags as global};
use crate::dataplanes::Dataplanes;
use crate::failure::{Failure, Outcome};
use crate::output::{Form, Machine, Output};

pub(super) static ENTRY: Entry = Entry {
    name: "top",
    aliases: &[],
    usage: "top [GATEWAY]",
    summary: "live dashboard of traffic, allocations and denials",
    has_wide: false,
    program: Program {
        name: "stunnerctl top",
        flags: joined!(flags::ALL, global::ALL),
        head: "\
Live dashboard of traffic, allocations and denials, per gateway, listener and pod

Usage:
  stunnerctl top [FLAGS] [GATEWAY]

GATEWAY is NAME or NAMESPACE/NAME; without it, all gateways of the namespace are shown. Without a terminal, and with
--once, one table is printed after two looks. -o json prints one object per interval. With --once it exits 1 when a pod
does not answer.

  stunnerctl top -n stunner udp-gateway
  stunnerctl top --admin localhost:8087       what a local `stunner run` does
",
        foot: "
Keys: q quit, s next order, r reverse it, f fold listeners and pods, p or space pause, / filter, arrows scroll.
DENIED and ERRORS count since the process began; +N are those since the last look.
",
        single_dash: false,
    },
    read: |given| Options::from_given(given).map(Command::Top),
};

/// What was said.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    gateway: Option<String>,
    interval: Duration,
    once: bool,
    admin: Option<String>,
    /// Colours are wanted: https://no-color.org.
    colour: bool,
    /// The terminal can place its cursor.
    capable: bool,
}

/// More often would be load and no news.
const SHORTEST: Duration = Duration::from_millis(100);

impl Options {
    fn from_given(given: &Given<'_>) -> Result<Options, UsageError> {
        let interval = given.value(&flags::INTERVAL, values::duration)?;
        let terminal = given.variable("TERM");
        Ok(Options {
            gateway: at_most_one(given, "`top` takes one gateway")?,
            interval: interval.unwrap_or(Duration::from_secs(2)).max(SHORTEST),
            once: given.switch(&flags::ONCE)?,
            admin: given.text(&flags::ADMIN),
            colour: given.variable("NO_COLOR").is_none(),
            capable: terminal.is_some_and(|terminal| terminal != "dumb"),
        })
    }
}

pub(super) async fn run(
    options: Options,
    globals: Globals,
    out: &mut Output<'_>,
) -> Result<Outcome, Failure> {
    let dataplanes = Dataplanes::find(
        &globals,
        options.admin.as_deref(),
        options.gateway.as_deref(),
    )
    .await?;
    dataplanes.check_name().await?;
    let scope = dataplanes.scope();
    let mut sampler = Sampler::new(dataplanes);
    // What stands in the way of the first look is a failure; later it is a line on the screen.
    let first = sampler.take().await?;
    if let [silence, ..] = first.silent().as_slice()
        && first.silent().len() == first.pods.len()
    {
        return Err((*silence).clone().into());
    }
    match &globals.form {
        Form::Machine(form) => follow(&options, form, sampler, first, out).await,
        _ if options.once || !out.is_terminal() || !options.capable => {
            once(&options, sampler, first, out).await
        }
        _ => watch(&options, scope, sampler, first).await,
    }
}

/// Two looks, one table.
async fn once(
    options: &Options,
    mut sampler: Sampler,
    first: Sample,
    out: &mut Output<'_>,
) -> Result<Outcome, Failure> {
    let second = next(options.interval, &mut sampler).await;
    let board = Board::of(Some(&first), &second);
    for silence in &board.silent {
        out.note(&silence.to_string());
    }
    out.text(&draw::plain(&View::default(), &board))?;
    Ok(outcome(&board))
}

/// As of other commands that ask dataplanes: one that does not answer is a problem.
fn outcome(board: &Board) -> Outcome {
    match board.silent.is_empty() {
        true => Outcome::Fine,
        false => Outcome::Problem,
    }
}

/// A value per interval, until somebody says stop.
async fn follow(
    options: &Options,
    form: &Machine,
    mut sampler: Sampler,
    mut before: Sample,
    out: &mut Output<'_>,
) -> Result<Outcome, Failure> {
    let signals = signals()?;
    loop {
        let now = tokio::select! {
            now = next(options.interval, &mut sampler) => now,
            () = signals.at_least(1) => return Ok(Outcome::Fine),
        };
        let board = Board::of(Some(&before), &now);
        let at = format!("{:.3}", jiff::Timestamp::now());
        out.value(form, &json::value(&board, &at))?;
        if options.once {
            return Ok(outcome(&board));
        }
        before = now;
    }
}

async fn next(interval: Duration, sampler: &mut Sampler) -> Sample {
    tokio::time::sleep(interval).await;
    sampler.take_anyway().await
}

fn signals() -> Result<Signals, Failure> {
    Signals::listen().map_err(|error| {
        Failure::new(
            format!("cannot listen for signals: {error}"),
            "the limits of this process (`ulimit -a`) may be too low",
        )
    })
}

/// The dashboard on a terminal, until somebody leaves it.
async fn watch(
    options: &Options,
    scope: String,
    sampler: Sampler,
    first: Sample,
) -> Result<Outcome, Failure> {
    let terminal_failed = |error: std::io::Error| {
        Failure::new(
            format!("the terminal cannot be used: {error}"),
            "`stunnerctl top --once` prints a table without one",
        )
    };
    let signals = signals()?;
    let mut hangup = signal(SignalKind::hangup()).map_err(terminal_failed)?;
    let mut samples = samples(options.interval, sampler);
    let mut screen = Screen::enter().map_err(terminal_failed)?;
    let mut inputs = screen::inputs();
    let mut view = View::default();
    let mut board = Board::of(None, &first);
    let mut before = first;
    loop {
        let heading = Heading {
            scope: scope.clone(),
            clock: Zoned::now().strftime("%H:%M:%S").to_string(),
            colour: options.colour,
        };
        screen
            .draw(&heading, &mut view, &board)
            .map_err(terminal_failed)?;
        tokio::select! {
            sample = samples.recv() => match sample {
                Some(now) => {
                    if !view.paused {
                        board = Board::of(Some(&before), &now);
                    }
                    before = now;
                }
                None => return Ok(Outcome::Fine),
            },
            input = inputs.recv() => match input {
                Some(Input::Key(key)) if view.press(key) == Reaction::Quit => return Ok(Outcome::Fine),
                Some(Input::Key(_) | Input::Resized) => {}
                // The terminal is gone.
                None => return Ok(Outcome::Fine),
            },
            () = signals.at_least(1) => return Ok(Outcome::Fine),
            _ = hangup.recv() => return Ok(Outcome::Fine),
        }
    }
}

/// Takes samples in a task of its own, so that keys work while a pod is slow to answer.
fn samples(interval: Duration, mut sampler: Sampler) -> mpsc::Receiver<Sample> {
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(async move {
        loop {
            let sample = next(interval, &mut sampler).await;
            if sender.send(sample).await.is_err() {
                return;
            }
        }
    });
    receiver
}
