//! Keeping what runs at what the files say.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

use super::console::Console;
use super::engine::{Engine, Findings};
use super::output::Output;
use super::servers::Urls;
use super::summary::Summary;
use super::unix_seconds;
use crate::provider::{Follower, News};

/// How soon a port that another process has is tried again.
const RETRY: Duration = Duration::from_secs(3);

/// What wants attention.
#[derive(Debug)]
pub enum Call {
    /// Files have changed.
    News(News),
    /// What could not be had may be had now, or a drain is over.
    Retry,
    /// A check has ended; `None` when it could not tell anything.
    Checked(Option<Findings>),
}

/// Has the engine and everybody who is to hear of it.
#[derive(Debug)]
pub struct Attendant {
    pub engine: Engine,
    follower: Follower,
    pub output: Output,
    urls: Urls,
    console: Arc<Console>,
    retry_at: Instant,
    /// A check under way. There is one at a time, so that a check of very many files never piles up.
    checking: Option<JoinHandle<Findings>>,
}

impl Attendant {
    pub fn new(
        engine: Engine,
        follower: Follower,
        output: Output,
        urls: Urls,
        console: Arc<Console>,
    ) -> Self {
        let mut attendant = Attendant {
            engine,
            follower,
            output,
            urls,
            console,
            retry_at: Instant::now() + RETRY,
            checking: None,
        };
        attendant.check();
        attendant
    }

    /// The next thing to attend to. Whoever gives up waiting loses nothing.
    pub async fn next(&mut self) -> Call {
        let checked = async {
            match &mut self.checking {
                Some(checking) => checking.await.ok(),
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            // An edit comes before what is said about the edit before it.
            biased;
            news = self.follower.next() => Call::News(news),
            findings = checked => Call::Checked(findings),
            () = self.engine.fleet().stirs() => Call::Retry,
            () = sleep_until(self.retry_at) => Call::Retry,
        }
    }

    pub async fn answer(&mut self, call: Call) {
        let mut report = match call {
            Call::News(news) => self.engine.take(news).await,
            Call::Checked(findings) => {
                self.checking = None;
                match findings {
                    Some(findings) => self.engine.hear(findings),
                    None => return,
                }
            }
            Call::Retry => {
                self.retry_at = Instant::now() + RETRY;
                match self.engine.fleet().wants_retry() {
                    true => self.engine.retry().await,
                    false => return,
                }
            }
        };
        if !report.is_empty() {
            report.sessions = self.engine.fleet().sessions();
            let summary = Summary::of(&self.engine, &self.urls, unix_seconds());
            self.output.changed(&report, &summary);
            self.console.publish(&self.engine);
        }
        self.check();
    }

    /// Has what is in force checked, once it is in force. It takes longer than an edit may.
    fn check(&mut self) {
        // While a large file is still to be read, references to what it holds would be in the air.
        if self.checking.is_none()
            && self.follower.has_read_all()
            && let Some(question) = self.engine.question()
        {
            self.checking = Some(tokio::task::spawn_blocking(|| question.answer()));
        }
    }
}
