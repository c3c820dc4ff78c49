//! Tokens that the operator of the service keeps in a file.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use subtle::{Choice, ConstantTimeEq as _};

/// A file with a token on each line. It is read anew for every request, because mounted Secrets rotate; several lines
/// let the old token and the new one be good for a while.
pub struct TokenFile {
    path: PathBuf,
    /// What the file held when it could last be read.
    tokens: Mutex<Vec<String>>,
}

#[derive(Debug, thiserror::Error)]
pub enum TokenFileError {
    #[error("cannot read the token file `{}`", path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("the token file `{}` holds no token", path.display())]
    Empty { path: PathBuf },
}

impl TokenFile {
    pub fn open(path: &Path) -> Result<TokenFile, TokenFileError> {
        let text = std::fs::read_to_string(path).map_err(|source| TokenFileError::Unreadable {
            path: path.to_owned(),
            source,
        })?;
        let tokens = tokens(&text).ok_or_else(|| TokenFileError::Empty {
            path: path.to_owned(),
        })?;
        Ok(TokenFile {
            path: path.to_owned(),
            tokens: Mutex::new(tokens),
        })
    }

    pub(super) async fn holds(&self, token: &str) -> bool {
        let read = tokio::fs::read_to_string(&self.path).await.ok();
        let mut known = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        // A file that is being replaced is missing or empty for a moment.
        match read.as_deref().and_then(tokens) {
            Some(tokens) => *known = tokens,
            None => tracing::warn!(
                scope = "auth",
                "the token file {} holds no token; those that it held stay good",
                self.path.display()
            ),
        }
        // Every token is compared to its end, so that the time taken tells nothing.
        let same = |found: Choice, one: &String| found | one.as_bytes().ct_eq(token.as_bytes());
        known.iter().fold(Choice::from(0), same).into()
    }
}

fn tokens(text: &str) -> Option<Vec<String>> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let tokens: Vec<String> = lines.map(str::to_owned).collect();
    (!tokens.is_empty()).then_some(tokens)
}

impl fmt::Debug for TokenFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TokenFile").field(&self.path).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn tokens_rotate_with_the_file_and_outlive_its_absence() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("tokens");
        assert!(matches!(
            TokenFile::open(&path),
            Err(TokenFileError::Unreadable { .. })
        ));
        std::fs::write(&path, " \n").expect("write");
        assert!(matches!(
            TokenFile::open(&path),
            Err(TokenFileError::Empty { .. })
        ));
        std::fs::write(&path, "one\n\ntwo").expect("write");
        let file = TokenFile::open(&path).expect("tokens");
        assert!(file.holds("one").await && file.holds("two").await);
        assert!(!file.holds("").await && !file.holds("on").await && !file.holds("one\n").await);
        std::fs::write(&path, "three\n").expect("write");
        assert!(file.holds("three").await && !file.holds("one").await);
        std::fs::remove_file(&path).expect("remove");
        assert!(file.holds("three").await);
        assert!(!format!("{file:?}").contains("three"));
    }
}
