//! The corpus of broken manifests: `broken/CLASS/CASE.yaml` (or `.yml`, `.json`), and what is to be said about it in
//! `broken/CLASS/CASE.expect`.
//!
//! An expectation looks like what `stunner check` prints:
//!
//! ```text
//! 12:7 error: unknown field `portocol`
//!   hint: did you mean `protocol`
//! ```
//!
//! The column may be left out. Message and hint are parts of what is really said, several parts with ` … ` between them.
//! Everything that is said must be expected. Each case is read together with `broken/good.yaml`, which nothing
//! may be said about; the Gateways of cases use other ports, so that this holds while they run, too. What is too large for a repository is described by `CASE.recipe`: lines `file NAME`, `text TEXT` and `repeat COUNT TEXT`,
//! where the texts know `\n`, `\0` and `\xHH`.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

pub struct Case {
    pub class: String,
    pub name: String,
    /// Name of the file, without folders.
    pub file: String,
    pub bytes: Vec<u8>,
    pub expected: Vec<Finding>,
}

/// What is said, or to be said, about a place of a file.
#[derive(Debug, Clone)]
pub struct Finding {
    pub line: u32,
    pub column: Option<u32>,
    pub severity: String,
    pub message: String,
    pub hint: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.line)?;
        if let Some(column) = self.column {
            write!(f, ":{column}")?;
        }
        write!(f, " {}: {}", self.severity, self.message)?;
        write!(f, "\n    hint: {}", self.hint)
    }
}

impl Finding {
    /// Whether this, as an expectation, is met by what was said.
    fn is_met_by(&self, said: &Finding) -> bool {
        self.line == said.line
            && (self.column.is_none() || self.column == said.column)
            && self.severity == said.severity
            && has_parts(&said.message, &self.message)
            && has_parts(&said.hint, &self.hint)
            && !said.hint.is_empty()
    }
}

fn has_parts(text: &str, parts: &str) -> bool {
    let mut rest = text;
    parts.split(" … ").all(|part| match rest.find(part) {
        Some(at) => {
            rest = &rest[at + part.len()..];
            true
        }
        None => false,
    })
}

/// What is missing in `said`, and what is too much.
pub fn differences(expected: &[Finding], said: &[Finding]) -> Vec<String> {
    let mut open: Vec<&Finding> = said.iter().collect();
    let mut differences = Vec::new();
    for finding in expected {
        match open.iter().position(|said| finding.is_met_by(said)) {
            Some(at) => {
                open.remove(at);
            }
            None => differences.push(format!("expected {finding}")),
        }
    }
    differences.extend(open.iter().map(|said| format!("but said {said}")));
    differences
}

/// All cases of the corpus in a folder, by class and name.
pub fn cases(root: &Path) -> Vec<Case> {
    let mut cases = Vec::new();
    for folder in sorted(root) {
        if !folder.is_dir() {
            continue;
        }
        for path in sorted(&folder) {
            if path
                .extension()
                .is_some_and(|extension| extension != "expect")
            {
                cases.push(case(&path));
            }
        }
    }
    cases
}

fn sorted(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

fn case(path: &Path) -> Case {
    let text = |part: Option<&std::ffi::OsStr>| part.unwrap().to_string_lossy().into_owned();
    let expect = path.with_extension("expect");
    let expect =
        fs::read_to_string(&expect).unwrap_or_else(|error| panic!("{}: {error}", expect.display()));
    let bytes = fs::read(path).unwrap();
    let (file, bytes) = if path
        .extension()
        .is_some_and(|extension| extension == "recipe")
    {
        made(&String::from_utf8(bytes).unwrap())
    } else {
        (text(path.file_name()), bytes)
    };
    Case {
        class: text(path.parent().and_then(Path::file_name)),
        name: text(path.file_stem()),
        file,
        bytes,
        expected: findings(&expect),
    }
}

/// What a recipe makes: a name and a content.
fn made(recipe: &str) -> (String, Vec<u8>) {
    let (mut file, mut bytes) = (String::new(), Vec::new());
    for line in recipe.lines() {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "file" => file = rest.to_owned(),
            "text" => bytes.extend(unescaped(rest)),
            "repeat" => {
                let (count, text) = rest.split_once(' ').expect("repeat COUNT TEXT");
                bytes.extend(unescaped(text).repeat(count.parse().expect("a count")));
            }
            _ => {}
        }
    }
    (file, bytes)
}

fn unescaped(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match (byte, byte == b'\\') {
            (_, true) => match rest.next() {
                Some(b'n') => b'\n',
                Some(b'0') => 0,
                Some(b'x') => {
                    let digits: Vec<u8> = rest.by_ref().take(2).collect();
                    let digits = String::from_utf8(digits).unwrap();
                    u8::from_str_radix(&digits, 16).expect("two digits")
                }
                other => panic!("unknown escape {other:?}"),
            },
            (byte, false) => byte,
        });
    }
    bytes
}

fn findings(text: &str) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        if let Some(hint) = line.strip_prefix("  hint:") {
            findings.last_mut().expect("a problem before its hint").hint = hint.trim().to_owned();
            continue;
        }
        let (head, message) = line
            .split_once(':')
            .map_or((line, ""), |_| split_head(line));
        let (place, severity) = head.split_once(' ').expect("LINE[:COL] severity");
        let (line, column) = match place.split_once(':') {
            Some((line, column)) => (line, Some(column.parse().expect("a column"))),
            None => (place, None),
        };
        findings.push(Finding {
            line: line.parse().expect("a line"),
            column,
            severity: severity.to_owned(),
            message: message.trim().to_owned(),
            hint: String::new(),
        });
    }
    findings
}

/// `12:7 error` and what is after the colon.
fn split_head(line: &str) -> (&str, &str) {
    let end = ["error:", "warning:"]
        .iter()
        .filter_map(|word| line.find(word).map(|at| at + word.len()))
        .min()
        .unwrap_or_else(|| panic!("no severity: {line}"));
    (&line[..end - 1], &line[end..])
}
