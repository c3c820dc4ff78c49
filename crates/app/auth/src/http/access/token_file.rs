//! Tokens that the operator of the service keeps in a file.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use subtle::{Choice, ConstantTimeEq as _};

const SCOPE: &str = "auth";

/// A file with a token on each line, and comments, which begin with `#`, as no token does (RFC 6750 §2.1). It is read
/// anew for every request, because mounted Secrets rotate; several lines let the old token and the new one be good for a
/// while. Whoever takes the tokens out lets nobody in; a file that is missing may be about to be replaced.
pub struct TokenFile {
    path: PathBuf,
    known: Mutex<Known>,
}

struct Known {
    /// What the file held when it could last be read.
    tokens: Vec<String>,
    look: Look,
}

/// How a look at the file went; a change of it is said in the log.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Look {
    Tokens,
    Empty,
    Unreadable(io::ErrorKind),
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
        let tokens = tokens(&text);
        if tokens.is_empty() {
            return Err(TokenFileError::Empty {
                path: path.to_owned(),
            });
        }
        let look = Look::Tokens;
        Ok(TokenFile {
            path: path.to_owned(),
            known: Mutex::new(Known { tokens, look }),
        })
    }

    pub(super) async fn holds(&self, token: &str) -> bool {
        let read = tokio::fs::read_to_string(&self.path).await;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let look = match read {
            Ok(text) => {
                known.tokens = tokens(&text);
                match known.tokens.is_empty() {
                    true => Look::Empty,
                    false => Look::Tokens,
                }
            }
            Err(error) => Look::Unreadable(error.kind()),
        };
        if known.look != look {
            self.tell(look, known.tokens.len());
            known.look = look;
        }
        // Every token is compared to its end, so that the time taken tells nothing.
        let same = |found: Choice, one: &String| found | one.as_bytes().ct_eq(token.as_bytes());
        known.tokens.iter().fold(Choice::from(0), same).into()
    }

    fn tell(&self, look: Look, count: usize) {
        let path = self.path.display();
        match look {
            Look::Tokens => {
                tracing::info!(scope = SCOPE, "the token file {path} holds {count} tokens")
            }
            Look::Empty => tracing::warn!(
                scope = SCOPE,
                "the token file {path} holds no token any more: none is good until it does"
            ),
            Look::Unreadable(why) => tracing::warn!(
                scope = SCOPE,
                "cannot read the token file {path}: {why}; the {count} tokens that it held stay good (hint: empty the \
                 file to let nobody in)"
            ),
        }
    }
}

fn tokens(text: &str) -> Vec<String> {
    let lines = text.lines().map(str::trim);
    let tokens = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    tokens.map(str::to_owned).collect()
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
        std::fs::write(&path, " \n# none yet\n").expect("write");
        assert!(matches!(
            TokenFile::open(&path),
            Err(TokenFileError::Empty { .. })
        ));
        std::fs::write(&path, "# ours\none\n\n  # theirs\ntwo").expect("write");
        let file = TokenFile::open(&path).expect("tokens");
        assert!(file.holds("one").await && file.holds("two").await);
        for no_token in ["", "on", "one\n", "# ours", "# theirs"] {
            assert!(!file.holds(no_token).await, "{no_token:?}");
        }
        std::fs::write(&path, "three\n").expect("write");
        assert!(file.holds("three").await && !file.holds("one").await);
        std::fs::remove_file(&path).expect("remove");
        assert!(file.holds("three").await);
        assert!(!format!("{file:?}").contains("three"));
    }

    #[tokio::test]
    async fn an_emptied_file_lets_nobody_in_also_when_it_goes_after_that() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("tokens");
        std::fs::write(&path, "one").expect("write");
        let file = TokenFile::open(&path).expect("tokens");
        for nothing in ["", " \n", "# revoked: one\n"] {
            assert!(file.holds("one").await);
            std::fs::write(&path, nothing).expect("write");
            assert!(!file.holds("one").await, "{nothing:?}");
            std::fs::remove_file(&path).expect("remove");
            assert!(!file.holds("one").await, "{nothing:?}");
            std::fs::write(&path, "one").expect("write");
        }
    }
}
