//! `stunner check` of each case.

use std::collections::BTreeSet;

use serde_json::Value;
use standalone_tests::command::{Ended, run};

use crate::corpus::{Case, Finding, cases, differences};
use crate::{corpus_root, finding, good};

/// Processes at a time.
const WORKERS: usize = 4;

#[test]
fn every_broken_manifest_is_reported_with_file_line_and_hint() {
    let cases = cases(&corpus_root());
    assert!(cases.len() >= 200, "{}", cases.len());
    let classes: BTreeSet<&str> = cases.iter().map(|case| case.class.as_str()).collect();
    assert!(classes.len() >= 12, "{classes:?}");
    let reports: Vec<String> = std::thread::scope(|scope| {
        let worker = |number: usize| {
            let share = cases.iter().skip(number).step_by(WORKERS);
            scope.spawn(move || share.filter_map(report).collect::<Vec<_>>())
        };
        let workers: Vec<_> = (0..WORKERS).map(worker).collect();
        let ends = workers.into_iter().map(|worker| worker.join());
        ends.flat_map(|end| end.expect("a worker")).collect()
    });
    assert!(reports.is_empty(), "\n{}", reports.join("\n"));
}

/// What is not as expected of a case.
fn report(case: &Case) -> Option<String> {
    let scratch = tempfile::tempdir().expect("a folder");
    let path = scratch.path();
    std::fs::write(path.join("good.yaml"), good()).expect("a file");
    std::fs::write(path.join(&case.file), &case.bytes).expect("a file");
    let text = run(path, ["check", "good.yaml", &case.file], "");
    let mut wrong = judge(case, &text);
    let json = run(path, ["check", "-o", "json", "good.yaml", &case.file], "");
    wrong.extend(judge_json(case, &json));
    let title = format!("{}/{}", case.class, case.name);
    (!wrong.is_empty()).then(|| format!("{title}\n  {}\n{}", wrong.join("\n  "), text.stdout))
}

fn exit_code(case: &Case) -> Option<i32> {
    let is_error = case.expected.iter().any(|one| one.severity == "error");
    Some(i32::from(is_error))
}

fn judge(case: &Case, ended: &Ended) -> Vec<String> {
    let mut wrong = Vec::new();
    if (ended.code, ended.stderr.as_str()) != (exit_code(case), "") {
        wrong.push(format!("exit {:?}, stderr `{}`", ended.code, ended.stderr));
    }
    let mut said: Vec<Finding> = Vec::new();
    for line in ended.stdout.lines() {
        let hint = line.strip_prefix("  hint: ").zip(said.last_mut());
        if let Some((hint, finding)) = hint {
            finding.hint.push_str(hint);
        } else if let Some(finding) = line_finding(line, &case.file) {
            said.push(finding);
        } else {
            wrong.push(format!("no problem of the file: {line}"));
        }
    }
    wrong.extend(differences(&case.expected, &said));
    wrong
}

/// `FILE:LINE:COL: error: MESSAGE`.
fn line_finding(line: &str, file: &str) -> Option<Finding> {
    let rest = line.strip_prefix(file)?.strip_prefix(':')?;
    let (place, rest) = rest.split_once(": ")?;
    let (line, column) = place.split_once(':')?;
    let (severity, message) = rest.split_once(": ")?;
    Some(Finding {
        line: line.parse().ok()?,
        column: Some(column.parse().ok()?),
        severity: severity.to_owned(),
        message: message.to_owned(),
        hint: String::new(),
    })
}

fn judge_json(case: &Case, ended: &Ended) -> Vec<String> {
    let mut wrong = Vec::new();
    if ended.code != exit_code(case) {
        wrong.push(format!("as JSON: exit {:?}", ended.code));
    }
    let problems: Vec<Value> = serde_json::from_str(&ended.stdout).unwrap_or_default();
    let said: Vec<Finding> = problems.iter().map(finding).collect();
    wrong.extend(differences(&case.expected, &said));
    wrong.extend(
        problems
            .iter()
            .filter(|problem| problem["file"] != case.file.as_str())
            .map(|problem| format!("about another file: {problem}")),
    );
    wrong
}
