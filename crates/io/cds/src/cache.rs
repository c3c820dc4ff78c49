//! The last good configuration on disk, for a start without the discovery service.
//!
//! The text is kept as it was received, not as it was understood: `$STUNNER_ADDR` in it must become the address of
//! the pod that reads it back, which need not be the one that wrote it.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::id::{ConfigId, encode};
use crate::interpret::CDS_SCOPE as SCOPE;

/// One configuration's place in the cache directory.
#[derive(Debug, Clone)]
pub struct ConfigCache {
    path: PathBuf,
}

impl ConfigCache {
    /// The id is escaped, so that no id can name a file outside `dir`.
    pub fn new(dir: &Path, id: &ConfigId) -> ConfigCache {
        let name = encode(&id.to_string());
        ConfigCache {
            path: dir.join(format!("{name}.json")),
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The text kept last, if there is one.
    pub(crate) async fn load(&self) -> Option<String> {
        match tokio::fs::read_to_string(&self.path).await {
            Ok(text) => Some(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                tracing::warn!(
                    scope = SCOPE,
                    "cannot read the cached config {}: {error}",
                    self.path.display()
                );
                None
            }
        }
    }

    /// Keeps a text. A failure is logged and otherwise without effect.
    pub(crate) async fn store(&self, text: Arc<str>) {
        let cache = self.clone();
        let stored = tokio::task::spawn_blocking(move || cache.replace(&text)).await;
        match stored {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(
                scope = SCOPE,
                "cannot keep the config in the cache {}: {error}",
                self.path.display()
            ),
            Err(error) => tracing::warn!(scope = SCOPE, "config cache task failed: {error}"),
        }
    }

    /// Readers see the old text or the new one, never a part; and only the owner can read either, for it holds
    /// credentials and keys.
    fn replace(&self, text: &str) -> io::Result<()> {
        let dir = self.path.parent().unwrap_or(Path::new("."));
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(dir)?;
        let draft = self
            .path
            .with_extension(format!("json.{}", std::process::id()));
        // A draft left by a killed process may have been made under another umask or by another user.
        match fs::remove_file(&draft) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let written = (|| {
            let mut file = fs::OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(&draft)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            fs::rename(&draft, &self.path)
        })();
        if written.is_err() {
            let _ = fs::remove_file(&draft);
        }
        written
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_file_is_private_replaced_whole_and_named_after_the_escaped_id() {
        let dir = tempfile::tempdir().expect("tempdir");
        let dir = dir.path().join("made/on/demand");
        let id = ConfigId::parse("../etc pass/wd").err();
        assert!(id.is_some());
        let id = ConfigId::parse("..ns/gw 1").expect("id");
        let cache = ConfigCache::new(&dir, &id);
        for text in ["one", "two"] {
            cache.replace(text).expect("stored");
            assert_eq!(fs::read_to_string(cache.path()).expect("read"), text);
        }
        assert_eq!(cache.path(), dir.join("..ns%2Fgw%201.json"));
        let mode = fs::metadata(cache.path())
            .expect("metadata")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(fs::read_dir(&dir).expect("dir").count(), 1);
    }
}
