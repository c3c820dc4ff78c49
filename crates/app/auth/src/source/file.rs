//! Configurations from a file, or from the files of a folder.

use std::collections::BTreeMap;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use stunner_config::{Config, ParseOptions, Problem, parse_with};

use super::{Teller, documents};
use crate::answer::Gateways;

const SCOPE: &str = "auth";
/// Between two looks. A content is believed when two looks in a row agree on it, so that a file being written is not
/// believed halfway; looking works on every file system, and for the links of a mounted ConfigMap.
const LOOK_EVERY: Duration = Duration::from_millis(300);
const STAYS: &str = "what it said before stays";
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// Why files cannot be served from.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("cannot read the configuration `{}`", path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("the configuration `{}` cannot be used: {why}", path.display())]
    Broken { path: PathBuf, why: String },
    #[error("there is no configuration in `{}`", path.display())]
    Empty { path: PathBuf },
}

impl FileError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            FileError::Unreadable { .. } => "check the path of --config and the file's permissions",
            FileError::Broken { .. } => "`stunnerd check FILE` shows all problems and their places",
            FileError::Empty { .. } => {
                "put dataplane configurations there, in files that end in .yaml, .yml or .json"
            }
        }
    }
}

/// Files that are followed.
#[derive(Debug)]
pub struct ConfigFiles {
    path: PathBuf,
    /// What each file gave when it could last be read.
    configs_by_file: BTreeMap<PathBuf, Vec<Config>>,
    texts_by_file: Texts,
}

/// What became of a look.
struct Taken {
    /// Whether other configurations count from now on.
    has_changed: bool,
    problems: Vec<FileError>,
}

/// By file, its content as a look finds it, or why it cannot be read.
type Texts = BTreeMap<PathBuf, Result<String, String>>;

impl ConfigFiles {
    /// Reads the files for the first time. In a folder a file that is broken or cannot be read is passed over with a
    /// warning; a single one is an error, and so is a folder with nothing but such files. A folder without files and a
    /// list without gateways are what they are: there may be gateways later.
    pub fn open(path: &Path) -> Result<ConfigFiles, FileError> {
        let unreadable = |source| FileError::Unreadable {
            path: path.to_owned(),
            source,
        };
        let is_folder = std::fs::metadata(path).map_err(unreadable)?.is_dir();
        let texts = look(path).map_err(unreadable)?;
        let mut files = ConfigFiles {
            path: path.to_owned(),
            configs_by_file: BTreeMap::new(),
            texts_by_file: Texts::new(),
        };
        let problems = files.take(texts).problems;
        let is_empty = files.configs_by_file.values().all(Vec::is_empty);
        match problems.into_iter().next() {
            Some(problem) if !is_folder || is_empty => return Err(problem),
            None if !is_folder && files.configs_by_file.is_empty() => {
                return Err(FileError::Empty {
                    path: path.to_owned(),
                });
            }
            _ => {}
        }
        if is_empty {
            let place = path.display();
            tracing::warn!(scope = SCOPE, "there is no gateway in {place} so far");
        }
        Ok(files)
    }

    /// What the files say. Where two have a configuration of one name, the first file counts.
    pub fn gateways(&self) -> Gateways {
        let mut gateways = Gateways::default();
        for (path, config) in self
            .configs_by_file
            .iter()
            .flat_map(|(path, configs)| configs.iter().map(move |config| (path, config)))
        {
            let name = &config.admin.name;
            if gateways.config(name).is_some() {
                tracing::warn!(
                    scope = SCOPE,
                    "{}: there is another configuration named {name}, this one is left out",
                    path.display()
                );
                continue;
            }
            gateways.apply(config.clone());
        }
        gateways
    }

    /// Tells what the files say after every change, for ever.
    pub async fn follow(mut self, teller: Teller) {
        let mut before: Option<Texts> = None;
        let mut failures = 0u32;
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            let path = self.path.clone();
            let looked = tokio::task::spawn_blocking(move || look(&path)).await;
            let place = self.path.display();
            let now = match looked {
                Ok(Ok(now)) => now,
                Ok(Err(error)) => {
                    // Once may be the moment of a replacement.
                    failures = failures.saturating_add(1);
                    if failures == 2 {
                        tracing::warn!(
                            scope = SCOPE,
                            "cannot read {place} any more, {STAYS}: {error}"
                        );
                    }
                    continue;
                }
                Err(_) => continue,
            };
            if failures >= 2 {
                tracing::info!(scope = SCOPE, "{place} can be read again");
            }
            failures = 0;
            if now != self.texts_by_file && before.as_ref() == Some(&now) {
                // What is wrong is said in the log.
                if self.take(now.clone()).has_changed {
                    teller.tell(self.gateways());
                    tracing::info!(scope = SCOPE, "read {} anew", self.path.display());
                }
            }
            before = Some(now);
        }
    }

    /// Takes what a look found. A file that is empty or cannot be read or used keeps what it was; one that is gone from a
    /// folder takes its gateways with it.
    fn take(&mut self, texts: Texts) -> Taken {
        let files = self.configs_by_file.len();
        self.configs_by_file
            .retain(|path, _| texts.contains_key(path));
        let mut taken = Taken {
            has_changed: self.configs_by_file.len() < files,
            problems: Vec::new(),
        };
        for (path, text) in &texts {
            if self.texts_by_file.get(path) == Some(text) {
                continue;
            }
            let is_known = self.configs_by_file.contains_key(path);
            let text = match text {
                Ok(text) => text,
                Err(why) => {
                    let place = path.display();
                    match is_known {
                        true => tracing::warn!(
                            scope = SCOPE,
                            "cannot read {place} any more, {STAYS}: {why}"
                        ),
                        false => tracing::warn!(scope = SCOPE, "cannot read {place}: {why}"),
                    }
                    taken.problems.push(FileError::Unreadable {
                        path: path.clone(),
                        source: io::Error::other(why.clone()),
                    });
                    continue;
                }
            };
            if is_blank(text) {
                if is_known {
                    let place = path.display();
                    tracing::warn!(
                        scope = SCOPE,
                        "{place} holds no configuration any more, {STAYS}"
                    );
                }
                continue;
            }
            match read(path, text) {
                Ok(configs) => {
                    self.configs_by_file.insert(path.clone(), configs);
                    taken.has_changed = true;
                }
                Err(broken) => {
                    match is_known {
                        true => tracing::warn!(scope = SCOPE, "{broken}; {STAYS}"),
                        false => tracing::warn!(scope = SCOPE, "{broken}"),
                    }
                    taken.problems.push(broken);
                }
            }
        }
        self.texts_by_file = texts;
        taken
    }
}

/// Whether nothing is said at all. An empty list says that there is no gateway.
fn is_blank(text: &str) -> bool {
    let is_nothing = |line: &str| line.is_empty() || line.starts_with('#') || line == "---";
    text.lines().map(str::trim).all(is_nothing)
}

fn read(path: &Path, text: &str) -> Result<Vec<Config>, FileError> {
    let parse = ParseOptions {
        expand_env: false,
        // Whether the certificates can be served is the dataplane's business.
        judge_listeners: false,
    };
    let mut configs = Vec::new();
    for document in documents(text) {
        let parsed = parse_with(&document, &|_| None, parse).map_err(|problems| {
            let first = problems.iter().find(|problem| problem.is_error());
            FileError::Broken {
                path: path.to_owned(),
                why: first
                    .map(Problem::to_string)
                    .unwrap_or_default()
                    .replace('\n', " "),
            }
        })?;
        let names = parsed
            .config
            .listeners
            .iter()
            .map(|listener| &listener.name);
        for name in names.filter(|name| name.split('/').count() != 3) {
            tracing::warn!(
                scope = SCOPE,
                "{}: listener `{name}` is left out, its name is not NAMESPACE/GATEWAY/LISTENER",
                path.display()
            );
        }
        configs.push(parsed.config);
    }
    Ok(configs)
}

/// The contents now. In a folder only files that look like configurations count, and hidden names do not.
fn look(path: &Path) -> io::Result<Texts> {
    let said = |error: io::Error| error.to_string();
    if !std::fs::metadata(path)?.is_dir() {
        let text = text(path).map_err(said);
        return Ok(Texts::from([(path.to_owned(), text)]));
    }
    let mut texts = Texts::new();
    for entry in std::fs::read_dir(path)? {
        let file = entry?.path();
        let name = file.file_name().and_then(|name| name.to_str());
        let is_hidden = name.is_none_or(|name| name.starts_with('.'));
        let extension = file.extension().and_then(|extension| extension.to_str());
        if is_hidden || !matches!(extension, Some("yaml" | "yml" | "json")) || file.is_dir() {
            continue;
        }
        match text(&file) {
            // It went while the folder was being read.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            text => {
                texts.insert(file, text.map_err(said));
            }
        }
    }
    Ok(texts)
}

/// Reads a file, so far as one may be read: a pipe would keep the reader until somebody writes, and a device may have no
/// end, whatever length it tells.
fn text(path: &Path) -> io::Result<String> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path)?;
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(io::Error::other("it is larger than 16 MiB"));
    }
    String::from_utf8(bytes).map_err(|_| io::Error::other("it is not UTF-8 text"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(name: &str) -> String {
        format!(
            "version: v1\nadmin: {{name: {name}}}\nauth: {{type: ephemeral, credentials: {{secret: s}}}}\n\
             listeners: [{{name: {name}/udp, public_address: 192.0.2.1}}]\n"
        )
    }

    fn names(files: &ConfigFiles) -> Vec<String> {
        let gateways = files.gateways();
        gateways
            .iter()
            .map(|config| config.admin.name.clone())
            .collect()
    }

    #[test]
    fn a_folder_is_the_sum_of_its_files() {
        let dir = tempfile::tempdir().expect("a folder");
        let write =
            |name: &str, text: &str| std::fs::write(dir.path().join(name), text).expect("write");
        write("b.yaml", &(config("ns/b") + "---\n" + &config("ns/a")));
        write(
            "c.json",
            r#"{"version":"v1","admin":{"name":"ns/c"},"auth":{"type":"none"}}"#,
        );
        write("broken.yml", "version: v9\n");
        write(".hidden.yaml", &config("ns/hidden"));
        write("notes.txt", "not a config");
        let files = ConfigFiles::open(dir.path()).expect("files");
        assert_eq!(names(&files), ["ns/a", "ns/b", "ns/c"]);
    }

    #[test]
    fn a_file_that_breaks_keeps_what_it_was_and_one_that_goes_takes_it_along() {
        let dir = tempfile::tempdir().expect("a folder");
        let at = |name: &str| dir.path().join(name);
        std::fs::write(at("a.yaml"), config("ns/a")).expect("write");
        std::fs::write(at("b.yaml"), config("ns/b")).expect("write");
        let mut files = ConfigFiles::open(dir.path()).expect("files");
        std::fs::write(at("a.yaml"), "version: [").expect("write");
        let mut take = || {
            let taken = files.take(look(dir.path()).expect("a look"));
            (taken.has_changed, taken.problems.len(), names(&files))
        };
        let both = || vec!["ns/a".to_owned(), "ns/b".to_owned()];
        assert_eq!(take(), (false, 1, both()), "broken is not read anew");
        for nothing in ["", "\n", "# nothing\n"] {
            std::fs::write(at("b.yaml"), nothing).expect("write");
            assert_eq!(take(), (false, 0, both()), "{nothing:?}");
        }
        std::fs::remove_file(at("a.yaml")).expect("remove");
        assert_eq!(take(), (true, 0, vec!["ns/b".to_owned()]));
        std::fs::write(at("b.yaml"), "{\"items\": []}").expect("write");
        assert_eq!(take(), (true, 0, vec![]), "an empty list is a list");
    }

    #[test]
    fn a_file_that_cannot_be_read_hides_no_other() {
        let dir = tempfile::tempdir().expect("a folder");
        let write = |name: &str, bytes: &[u8]| {
            std::fs::write(dir.path().join(name), bytes).expect("write");
        };
        write("a.yaml", config("ns/a").as_bytes());
        write("b.yaml", b"\xff");
        let mut files = ConfigFiles::open(dir.path()).expect("files");
        assert_eq!(names(&files), ["ns/a"]);
        // While there is such a file, others come, and one that can be read no more keeps what it was.
        write("a.yaml", b"\xff");
        write("c.yaml", config("ns/c").as_bytes());
        let taken = files.take(look(dir.path()).expect("a look"));
        assert_eq!((taken.has_changed, taken.problems.len()), (true, 1));
        assert_eq!(names(&files), ["ns/a", "ns/c"]);
        write("b.yaml", config("ns/b").as_bytes());
        files.take(look(dir.path()).expect("a look"));
        assert_eq!(names(&files), ["ns/a", "ns/b", "ns/c"]);
    }

    #[test]
    fn where_no_file_can_be_read_the_first_is_named() {
        let dir = tempfile::tempdir().expect("a folder");
        let bad = dir.path().join("b.yaml");
        std::fs::write(&bad, b"\xff").expect("write");
        for path in [dir.path(), &bad] {
            let error = ConfigFiles::open(path).expect_err("a problem");
            assert!(
                matches!(&error, FileError::Unreadable { path, .. } if *path == bad),
                "{error:?}"
            );
        }
    }

    #[test]
    fn a_file_is_read_up_to_a_limit_whatever_length_it_tells() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("a.yaml");
        let said = |length: u64| {
            let file = std::fs::File::create(&path).expect("a file");
            file.set_len(length).expect("a length");
            text(&path)
                .map(|text| text.len() as u64)
                .map_err(|error| error.to_string())
        };
        assert_eq!(said(MAX_BYTES), Ok(MAX_BYTES));
        assert_eq!(
            said(MAX_BYTES + 1),
            Err("it is larger than 16 MiB".to_owned())
        );
        // A device tells no length, and this one has no end.
        let endless = text(Path::new("/dev/zero")).expect_err("a problem");
        assert_eq!(endless.to_string(), "it is not a regular file");
    }

    #[test]
    fn what_cannot_be_started_with_is_said() {
        let dir = tempfile::tempdir().expect("a folder");
        let open = |name: &str| ConfigFiles::open(&dir.path().join(name));
        assert!(matches!(
            open("missing.yaml"),
            Err(FileError::Unreadable { .. })
        ));
        std::fs::write(dir.path().join("blank.yaml"), "\n# later\n").expect("write");
        assert!(matches!(open("blank.yaml"), Err(FileError::Empty { .. })));
        let secret = "version: v1\nauth: {type: static, credentials: {username: u, password: hush}}\nlisteners: [{name: a/b/c, port: hush}]\n";
        std::fs::write(dir.path().join("bad.yaml"), secret).expect("write");
        let error = open("bad.yaml").expect_err("a problem");
        assert!(matches!(error, FileError::Broken { .. }));
    }

    #[test]
    fn a_place_for_gateways_may_have_none_so_far() {
        let dir = tempfile::tempdir().expect("a folder");
        assert!(names(&ConfigFiles::open(dir.path()).expect("an empty folder")).is_empty());
        let list = dir.path().join("none.json");
        std::fs::write(&list, r#"{"items":[]}"#).expect("write");
        for path in [&list, dir.path()] {
            assert!(names(&ConfigFiles::open(path).expect("an empty list")).is_empty());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_change_is_told() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("a.yaml");
        std::fs::write(&path, config("ns/a")).expect("write");
        let files = ConfigFiles::open(&path).expect("a file");
        let (teller, known) = super::super::Teller::new();
        teller.tell(files.gateways());
        let following = tokio::spawn(files.follow(teller));
        let until = async |name: &str| {
            while known.gateways().config(name).is_none() {
                tokio::time::sleep(LOOK_EVERY).await;
            }
        };
        until("ns/a").await;
        assert!(known.is_ready());
        std::fs::write(&path, config("ns/new")).expect("write");
        until("ns/new").await;
        assert_eq!(known.gateways().len(), 1);
        std::fs::remove_file(&path).expect("remove");
        tokio::time::sleep(10 * LOOK_EVERY).await;
        assert_eq!(known.gateways().len(), 1, "what was read stays");
        std::fs::write(&path, config("ns/again")).expect("write");
        until("ns/again").await;
        following.abort();
    }
}
