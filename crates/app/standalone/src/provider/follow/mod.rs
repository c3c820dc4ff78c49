//! Following files as they change.
//!
//! Files are replaced in many ways: written in place, renamed over, deleted and made again, or left alone while a link
//! further up swings to another folder. So events only say *when* to look; what changed is told by looking at all
//! files, and **a file is read once it has been still for [`STILLNESS`]**, so that none is believed halfway. The
//! follower has a thread of its own: a file system that hangs, or a huge file, holds up nobody who serves.

mod scan;
mod sentinel;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use stunner_manifest::{MAX_BYTES, Reading};
use tokio::sync::mpsc;

use self::scan::{Look, Scan};
use self::sentinel::Sentinel;
use super::world::{FileId, Told};
use crate::input::{Sources, read_file, read_named, read_stdin};

/// How long a file must not have changed before it is read.
pub const STILLNESS: Duration = Duration::from_millis(100);
/// How often to look though nothing was heard: not every file system tells.
const POLL: Duration = Duration::from_secs(1);
/// At least so many times as long as a look takes. Ten thousand files would keep a CPU busy otherwise.
const REST: u32 = 50;

/// How much the times of files may lag behind: the kernel reads its clock now and then.
const CLOCK_TICK: Duration = Duration::from_millis(4);

/// A file that takes longer than a blink to read. At the start the others do not wait for it.
const LARGE: u64 = 1 << 20;

/// Files that were read again, or are gone.
pub type News = Vec<(FileId, Told)>;

/// Hears of changes until it is dropped.
#[derive(Debug)]
pub struct Follower {
    news: mpsc::UnboundedReceiver<News>,
    /// Large files that are still to be read for the first time.
    deferred: BTreeSet<FileId>,
}

impl Follower {
    /// Reads all there is but for large files, without waiting, and follows it from then on.
    pub fn start(sources: Sources) -> std::io::Result<(News, Follower)> {
        let mut watch = Watch::new(sources);
        let (first, deferred) = watch.read_all();
        let (sender, news) = mpsc::unbounded_channel();
        std::thread::Builder::new()
            .name("files".to_owned())
            .spawn(move || watch.follow(&sender))?;
        Ok((first, Follower { news, deferred }))
    }

    /// The next changes.
    pub async fn next(&mut self) -> News {
        match self.news.recv().await {
            Some(news) => {
                for (file, _) in &news {
                    self.deferred.remove(file);
                }
                news
            }
            None => std::future::pending().await,
        }
    }

    /// Whether every file that there was at the start has been read.
    pub fn has_read_all(&self) -> bool {
        self.deferred.is_empty()
    }
}

/// A file that is not as it was read last.
#[derive(Debug)]
struct Pending {
    path: PathBuf,
    /// `None` when it is gone.
    look: Option<Look>,
    since: Instant,
}

#[derive(Debug)]
struct Watch {
    sources: Sources,
    /// The files as they were when they were read.
    known: BTreeMap<FileId, Look>,
    pending: BTreeMap<FileId, Pending>,
    poll: Duration,
}

impl Watch {
    fn new(sources: Sources) -> Self {
        Watch {
            sources,
            known: BTreeMap::new(),
            pending: BTreeMap::new(),
            poll: POLL,
        }
    }

    /// What there is, and the files that are too large to be waited for: they come as if they were new.
    fn read_all(&mut self) -> (News, BTreeSet<FileId>) {
        let scan = Scan::of(&self.sources);
        let (mut news, mut deferred) = (News::new(), BTreeSet::new());
        for (file, found) in scan.files {
            let is_large = matches!(found.look, Look::File { bytes, .. } if (LARGE..=MAX_BYTES).contains(&bytes));
            if is_large {
                deferred.insert(file);
                continue;
            }
            news.push((file.clone(), told_by(&file, &found.path, &found.look)));
            self.known.insert(file, found.look);
        }
        (news, deferred)
    }

    fn follow(mut self, sender: &mpsc::UnboundedSender<News>) {
        let mut sentinel = Sentinel::new();
        let mut heard = None;
        while !sender.is_closed() {
            let began = Instant::now();
            let scan = Scan::of(&self.sources);
            self.poll = POLL.max(began.elapsed() * REST).min(POLL * REST);
            // Armed before the files are compared: what changes later leaves a poke behind.
            sentinel.arm(&scan.folders);
            self.compare(scan, Instant::now(), heard);
            loop {
                heard = sentinel.wait(self.patience(Instant::now()));
                let news = self.read_still(Instant::now());
                if !news.is_empty() && sender.send(news).is_err() {
                    return;
                }
                if heard.is_some() || self.pending.is_empty() {
                    break;
                }
            }
        }
    }

    /// Until the next file may have come to rest.
    fn patience(&self, now: Instant) -> Duration {
        let due = self.pending.values().map(|pending| {
            let age = now.saturating_duration_since(pending.since);
            STILLNESS.saturating_sub(age)
        });
        due.min().unwrap_or(self.poll)
    }

    /// Notes what is not as it was, and since when. The look was taken because something was heard.
    fn compare(&mut self, scan: Scan, now: Instant, heard: Option<Instant>) {
        let known = self.known.keys();
        let found = scan.files.keys();
        let pending = self.pending.keys();
        let all: BTreeSet<FileId> = known.chain(found).chain(pending).cloned().collect();
        let mut changed = Vec::new();
        // What is found changed together is read together: a file that was moved is never there twice, or not at all.
        let mut since = heard.unwrap_or(now).min(now);
        for file in all {
            let found = scan.files.get(&file);
            let look = found.map(|found| &found.look);
            if look == self.known.get(&file) || (look.is_none() && scan.may_hide(&file)) {
                self.pending.remove(&file);
                continue;
            }
            let pending = self.pending.get(&file);
            let is_still = pending.is_some_and(|pending| pending.look.as_ref() == look);
            if !is_still {
                since = since.max(still_since(look, now, heard));
                let path = found.map(|found| found.path.clone());
                let path = path.unwrap_or_else(|| PathBuf::from(&file.name));
                changed.push((file, path, look.cloned()));
            }
        }
        for (file, path, look) in changed {
            self.pending.insert(file, Pending { path, look, since });
        }
    }

    /// Reads what has come to rest.
    fn read_still(&mut self, now: Instant) -> News {
        let mut news = News::new();
        let mut restless = BTreeMap::new();
        for (file, mut pending) in std::mem::take(&mut self.pending) {
            if now.saturating_duration_since(pending.since) < STILLNESS {
                restless.insert(file, pending);
                continue;
            }
            let told = pending.look.as_ref();
            let told = told.map(|look| told_by(&file, &pending.path, look));
            // Changed meanwhile, perhaps while it was read: another time.
            let now_looks = match scan::is_trouble(&file) {
                true => pending.look.clone(),
                // A pipe in the place of a file is no file any more.
                false => scan::look(&pending.path)
                    .filter(|look| *look != Look::Once || pending.look.as_ref() == Some(look)),
            };
            if now_looks != pending.look {
                pending.look = now_looks;
                pending.since = now;
                restless.insert(file, pending);
                continue;
            }
            match pending.look {
                Some(look) => drop(self.known.insert(file.clone(), look)),
                None => drop(self.known.remove(&file)),
            }
            news.push((file, told.unwrap_or(Told::Gone)));
        }
        self.pending = restless;
        news
    }
}

/// Since when a file is as it looks now. Looking at very many files takes its time, which is not added to the stillness:
/// the time of the last change is believed as far back as something was heard, and no further, since clocks are set.
fn still_since(look: Option<&Look>, now: Instant, heard: Option<Instant>) -> Instant {
    let looking = heard.map_or(Duration::ZERO, |heard| now.saturating_duration_since(heard));
    let age = look.and_then(Look::age).unwrap_or_default();
    let still = age.saturating_sub(CLOCK_TICK).min(looking);
    now.checked_sub(still).unwrap_or(now)
}

/// What a file has to say.
fn told_by(file: &FileId, path: &Path, look: &Look) -> Told {
    match look {
        Look::File { bytes: 0, .. } => Told::Emptied,
        Look::Trouble(problem) => Told::Reading(Reading {
            file: file.name.clone(),
            problems: vec![problem.clone()],
            ..Reading::default()
        }),
        Look::Once if path.as_os_str().is_empty() => Told::Reading(read_stdin()),
        Look::Once => Told::Reading(read_named(path, &file.name)),
        Look::File { .. } | Look::Closed(_) => Told::Reading(read_file(path, &file.name)),
    }
}
