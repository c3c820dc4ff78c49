//! Reading a configuration file.

use std::io;
use std::path::Path;
use std::time::Duration;

use tokio::io::AsyncReadExt;

use crate::error::{LoadError, MAX_CONFIG_BYTES};

/// A file system that hangs must not hang its reader.
pub(crate) const READ_DEADLINE: Duration = Duration::from_secs(10);

/// The text of a config file. An empty file is an error: it is most likely one that is about to be written.
pub(crate) async fn read(path: &Path) -> Result<String, LoadError> {
    let failed = |source: io::Error| LoadError::File {
        path: path.to_owned(),
        source,
    };
    let bytes = tokio::time::timeout(READ_DEADLINE, read_bytes(path))
        .await
        .map_err(|_| failed(io::ErrorKind::TimedOut.into()))?
        .map_err(failed)?;
    let place = || path.display().to_string();
    match bytes.len() {
        0 => Err(LoadError::EmptyFile {
            path: path.to_owned(),
        }),
        len if len > MAX_CONFIG_BYTES => Err(LoadError::TooLarge { place: place() }),
        _ => String::from_utf8(bytes).map_err(|_| LoadError::NotText { place: place() }),
    }
}

async fn read_bytes(path: &Path) -> io::Result<Vec<u8>> {
    let file = tokio::fs::File::open(path).await?;
    let mut bytes = Vec::new();
    file.take(MAX_CONFIG_BYTES as u64 + 1)
        .read_to_end(&mut bytes)
        .await?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn files_that_hold_no_config_are_told_apart() {
        let dir = tempfile::tempdir().expect("tempdir");
        let path = dir.path().join("c.yaml");
        let place = path.display().to_string();
        let say = |error: LoadError| error.chain();
        assert_eq!(
            say(read(&path).await.expect_err("missing")),
            format!("cannot read config file `{place}`: No such file or directory (os error 2)")
        );
        std::fs::write(&path, "").expect("write");
        assert_eq!(
            say(read(&path).await.expect_err("empty")),
            format!("config file `{place}` is empty")
        );
        std::fs::write(&path, [0xff, 0xfe]).expect("write");
        assert_eq!(
            say(read(&path).await.expect_err("binary")),
            format!("the config from `{place}` is not UTF-8 text")
        );
        std::fs::write(&path, vec![b' '; MAX_CONFIG_BYTES + 1]).expect("write");
        assert_eq!(
            say(read(&path).await.expect_err("large")),
            format!("the config from `{place}` is larger than 16 MiB")
        );
        let folder = read(dir.path()).await.expect_err("folder");
        assert_eq!(folder.hint().as_deref(), Some("give a file, not a folder"));
    }
}
