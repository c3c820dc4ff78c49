//! Watching a configuration file.
//!
//! Files are replaced in many ways: written in place, renamed over, deleted and made again, or, for a mounted
//! ConfigMap, left alone while a symbolic link further up the path swings to another folder. So the kernel's events
//! on the folders involved only say *when* to look; whether something changed is decided by content. A slow poll
//! covers what inotify does not see (other links on the way, network file systems, exhausted watches).

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use notify::event::{AccessKind, AccessMode};
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc;

use crate::error::LoadError;
use crate::file::{READ_DEADLINE, read};
use crate::interpret::{FILE_SCOPE as SCOPE, interpret, on_one_line};
use crate::load::Update;
use crate::options::{Notice, Options};
use crate::outbox::{Outbox, Provenance, Published};

/// Publishes every good content of the file, until nobody listens.
pub(crate) async fn watch_file(path: PathBuf, options: Options, outbox: Outbox) {
    tokio::select! {
        () = outbox.closed() => {}
        () = follow(&path, &options, &outbox) => {}
    }
}

async fn follow(path: &Path, options: &Options, outbox: &Outbox) {
    let timing = &options.timing;
    let mut sentinel = Sentinel::new(path);
    let mut known: Option<Content> = None;
    loop {
        // Armed before the look: a change after the look then leaves a poke behind.
        sentinel.arm().await;
        let content = settled(path, known.as_ref(), timing.file_settle).await;
        if known.as_ref() != Some(&content) {
            handle(path, &content, options, outbox);
            known = Some(content);
        }
        sentinel
            .wait(timing.file_settle / 4, timing.file_poll)
            .await;
    }
}

/// What a look at the file found.
#[derive(Debug, PartialEq, Eq)]
enum Content {
    Text(String),
    Empty,
    Unreadable(String),
}

async fn look(path: &Path) -> Content {
    match read(path).await {
        Ok(text) => Content::Text(text),
        Err(LoadError::EmptyFile { .. }) => Content::Empty,
        Err(error) => Content::Unreadable(error.chain()),
    }
}

/// The content once two looks in a row agree, so that a file being written is not believed halfway.
async fn settled(path: &Path, known: Option<&Content>, settle: Duration) -> Content {
    let mut before = look(path).await;
    if known == Some(&before) {
        return before;
    }
    loop {
        tokio::time::sleep(settle).await;
        let now = look(path).await;
        if now == before {
            return now;
        }
        before = now;
    }
}

fn handle(path: &Path, content: &Content, options: &Options, outbox: &Outbox) {
    let place = path.display().to_string();
    let text = match content {
        Content::Text(text) => text,
        Content::Empty => {
            tracing::info!(scope = SCOPE, "ignoring empty config file {place}");
            return;
        }
        Content::Unreadable(error) => {
            tracing::warn!(scope = SCOPE, "{error}; the running config stays");
            return;
        }
    };
    let config = match interpret(text, options) {
        Ok((config, warnings)) => {
            if !warnings.is_empty() {
                tracing::warn!(scope = SCOPE, "{}", on_one_line(&place, &warnings));
            }
            config
        }
        Err(problems) => {
            let why = on_one_line(&place, &problems);
            tracing::warn!(
                scope = SCOPE,
                "ignoring a bad config, the running one stays: {why}"
            );
            options.tell(Notice::BadConfig { why });
            return;
        }
    };
    // A file need not bear the name that a discovery service would know the dataplane by.
    if config.is_deletion(&config.admin.name) {
        tracing::info!(scope = SCOPE, "ignoring deleted config in {place}");
        return;
    }
    let update = Update {
        config,
        provenance: Provenance::Live,
    };
    match outbox.publish(update, text) {
        Published::Sent => tracing::debug!(scope = SCOPE, "new config in {place}"),
        Published::Unchanged => {
            tracing::debug!(
                scope = SCOPE,
                "{place} was written, its config is unchanged"
            );
        }
    }
}

/// Wakes up when something happens in a folder on which the file's content depends.
struct Sentinel {
    path: PathBuf,
    watcher: Option<RecommendedWatcher>,
    /// Inode of each watched folder: another inode under the same name needs a new watch.
    inode_by_folder: BTreeMap<PathBuf, u64>,
    pokes: mpsc::Receiver<()>,
    /// Keeps the channel open where there is no watcher.
    _poke: mpsc::Sender<()>,
}

impl Sentinel {
    fn new(path: &Path) -> Sentinel {
        let (poke, pokes) = mpsc::channel(1);
        let on_event = poke.clone();
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            // Our own reading must not wake us.
            let merely_read = matches!(
                &event,
                Ok(event) if matches!(event.kind, EventKind::Access(kind)
                    if kind != AccessKind::Close(AccessMode::Write))
            );
            if !merely_read {
                // A full channel already says what there is to say.
                let _ = on_event.try_send(());
            }
        });
        let watcher = watcher
            .inspect_err(|error| {
                tracing::warn!(
                    scope = SCOPE,
                    "no file notifications, changes are found by polling: {error}"
                );
            })
            .ok();
        Sentinel {
            path: path.to_owned(),
            watcher,
            inode_by_folder: BTreeMap::new(),
            pokes,
            _poke: poke,
        }
    }

    /// Watches the folders that the content depends on now.
    async fn arm(&mut self) {
        let Some(watcher) = &mut self.watcher else {
            return;
        };
        let path = self.path.clone();
        let looked_up = tokio::task::spawn_blocking(move || inode_by_folder(&path));
        // Where the file system hangs there is nothing to watch; the next look tries again.
        let Ok(Ok(wanted)) = tokio::time::timeout(READ_DEADLINE, looked_up).await else {
            return;
        };
        if wanted == self.inode_by_folder {
            return;
        }
        for (folder, inode) in &self.inode_by_folder {
            if wanted.get(folder) != Some(inode) {
                // The folder may be gone, and its watch with it.
                let _ = watcher.unwatch(folder);
            }
        }
        let mut armed = BTreeMap::new();
        for (folder, inode) in wanted {
            let kept = self.inode_by_folder.get(&folder) == Some(&inode);
            // What fails is tried again at the next look.
            if kept || watcher.watch(&folder, RecursiveMode::NonRecursive).is_ok() {
                armed.insert(folder, inode);
            }
        }
        self.inode_by_folder = armed;
    }

    /// Returns some time after an event (they come in bunches), or after `poll` without one.
    async fn wait(&mut self, bunch: Duration, poll: Duration) {
        if tokio::time::timeout(poll, self.pokes.recv()).await.is_ok() {
            tokio::time::sleep(bunch).await;
            let _ = self.pokes.try_recv();
        }
    }
}

/// The folder of the name and, where it is a link, the folder of what it points to.
fn inode_by_folder(path: &Path) -> BTreeMap<PathBuf, u64> {
    let real = path.canonicalize().ok().map(|path| folder_of(&path));
    std::iter::once(folder_of(path))
        .chain(real)
        .filter_map(|folder| {
            let inode = std::fs::metadata(&folder).ok()?.ino();
            Some((folder, inode))
        })
        .collect()
}

fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => PathBuf::from("."),
        Some(parent) => parent.to_owned(),
        None => path.to_owned(),
    }
}
