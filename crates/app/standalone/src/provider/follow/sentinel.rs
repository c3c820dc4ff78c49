//! Waking up when something happens in a folder.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use notify::event::{AccessKind, AccessMode};
use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher};

/// Events come in bunches: one look serves for all of a bunch.
const BUNCH: Duration = Duration::from_millis(4);

pub(super) struct Sentinel {
    watcher: Option<RecommendedWatcher>,
    /// Inode of each watched folder: another inode under the same name needs a new watch.
    inode_by_folder: BTreeMap<PathBuf, u64>,
    pokes: mpsc::Receiver<()>,
    /// Keeps the channel open where there is no watcher.
    _poke: mpsc::SyncSender<()>,
}

impl std::fmt::Debug for Sentinel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sentinel")
            .field("folders", &self.inode_by_folder)
            .finish_non_exhaustive()
    }
}

impl Sentinel {
    pub(super) fn new() -> Self {
        let (poke, pokes) = mpsc::sync_channel(1);
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
                    scope = "files",
                    "no file notifications, changes are found by polling: {error}"
                );
            })
            .ok();
        Sentinel {
            watcher,
            inode_by_folder: BTreeMap::new(),
            pokes,
            _poke: poke,
        }
    }

    /// Watches these folders and no others. What fails is tried again at the next look.
    pub(super) fn arm(&mut self, folders: &BTreeSet<PathBuf>) {
        let Some(watcher) = &mut self.watcher else {
            return;
        };
        let inode = |folder: &PathBuf| Some(std::fs::metadata(folder).ok()?.ino());
        let wanted: BTreeMap<&PathBuf, u64> = folders
            .iter()
            .filter_map(|folder| Some((folder, inode(folder)?)))
            .collect();
        self.inode_by_folder.retain(|folder, inode| {
            let stays = wanted.get(folder) == Some(inode);
            if !stays {
                // The folder may be gone, and its watch with it.
                let _ = watcher.unwatch(folder);
            }
            stays
        });
        for (folder, inode) in wanted {
            if !self.inode_by_folder.contains_key(folder)
                && watcher.watch(folder, RecursiveMode::NonRecursive).is_ok()
            {
                self.inode_by_folder.insert(folder.clone(), inode);
            }
        }
    }

    /// Returns soon after something happened, with when that was, or after this time.
    pub(super) fn wait(&mut self, time: Duration) -> Option<Instant> {
        let began = Instant::now();
        self.pokes.recv_timeout(time).ok()?;
        let heard = Instant::now();
        let left = time.saturating_sub(began.elapsed());
        std::thread::sleep(BUNCH.min(left));
        let _ = self.pokes.try_recv();
        Some(heard)
    }
}
