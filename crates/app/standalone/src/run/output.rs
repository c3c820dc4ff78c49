//! What is told on standard output: sentences and tables for people, or one JSON object per line for programs.

mod json;
mod queue;
mod table;
mod text;

use std::io;
use std::time::Duration;

use stunner_manifest::Problem;

use self::queue::{Queue, Stream};
use super::engine::Report;
use super::summary::Summary;
use crate::cli::RunOutput;

/// More problems at once than this are counted, not listed.
const LISTED: usize = 20;

/// How the end came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stopped {
    /// The name of the signal.
    pub by: &'static str,
    /// No session was left when it ended.
    pub drained: bool,
}

/// Tells what happens. Nobody listening is no reason to stop serving, nor is somebody who listens too slowly.
#[derive(Debug, Clone)]
pub struct Output {
    form: RunOutput,
    queue: Queue,
}

impl Output {
    pub fn new(form: RunOutput) -> io::Result<Self> {
        let lost = match form {
            RunOutput::Text => text::lost,
            RunOutput::Json => json::lost,
        };
        let queue = Queue::start(io::stdout(), io::stderr(), lost)?;
        Ok(Output { form, queue })
    }

    /// What is served, once at the start.
    pub fn ready(&self, summary: &Summary) {
        self.print(match self.form {
            RunOutput::Text => text::ready(summary),
            RunOutput::Json => json::ready(summary),
        });
    }

    /// What stands in the way of serving anything.
    pub fn not_ready(&self, summary: &Summary, why: &str) {
        self.print(match self.form {
            RunOutput::Text => text::conditions(summary),
            RunOutput::Json => json::not_ready(summary, why),
        });
    }

    /// What came of a change; nothing is told of a change without effect.
    pub fn changed(&self, report: &Report, summary: &Summary) {
        self.problems(report);
        if report.is_change() {
            self.print(match self.form {
                RunOutput::Text => text::changed(report),
                RunOutput::Json => json::changed(report, summary),
            });
        }
    }

    /// The new problems of a report. People get as many as they can read, programs all.
    pub fn problems(&self, report: &Report) {
        let mut problems: Vec<&Problem> = report.new_problems.iter().collect();
        let mut more = 0;
        if self.form == RunOutput::Text && problems.len() > LISTED {
            problems.sort_by_key(|problem| problem.severity);
            more = problems.len() - LISTED;
            problems.truncate(LISTED);
        }
        for problem in problems {
            self.problem(problem, report.held.get(&problem.file).copied());
        }
        if more > 0 {
            self.complain(text::more_problems(more));
        }
    }

    /// A fault of a file, and how many of its objects stay as they were.
    pub fn problem(&self, problem: &Problem, held: Option<usize>) {
        match self.form {
            RunOutput::Text => self.complain(text::problem(problem, held)),
            RunOutput::Json => self.print(json::problem(problem, held)),
        }
    }

    /// A server beside the gateways that could not be started.
    pub fn no_server(&self, problem: &super::servers::NotServed) {
        match self.form {
            RunOutput::Text => {
                self.complain(format!("warning: {problem}\n  hint: {}\n", problem.hint()));
            }
            RunOutput::Json => {
                self.complain(format!("warning: {problem}; {}\n", problem.hint()));
                self.print(json::no_server(problem));
            }
        }
    }

    pub fn draining(&self, sessions: u64, seconds: u64) {
        if self.form == RunOutput::Text {
            self.print(text::draining(sessions, seconds));
        }
    }

    pub fn stopped(&self, stopped: Stopped) {
        self.print(match self.form {
            RunOutput::Text => text::stopped(stopped),
            RunOutput::Json => json::stopped(stopped),
        });
    }

    fn print(&self, text: String) {
        self.queue.send(Stream::Out, text);
    }

    /// On standard error, where compilers tell it.
    pub fn complain(&self, text: String) {
        self.queue.send(Stream::Err, text);
    }

    /// Waits until all has been told, or nobody has listened for so long.
    pub fn flush(&self, at_most: Duration) {
        self.queue.flush(at_most);
    }
}
