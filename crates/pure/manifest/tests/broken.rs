//! Every broken manifest of the corpus is told about as its author expected: line, column, severity, message and hint,
//! nothing more, and no secret.

#[path = "broken_corpus/mod.rs"]
mod corpus;

use std::collections::BTreeMap;
use std::fs;

use corpus::{Case, Finding, differences};
use stunner_manifest::{Problem, Reading, check, read};

fn good() -> Reading {
    read(
        "good.yaml",
        &fs::read(corpus::root().join("good.yaml")).unwrap(),
    )
}

fn problems(case: &Case) -> Vec<Problem> {
    check(&[good(), read(&case.file, &case.bytes)])
}

fn said(problem: &Problem) -> Finding {
    let field = match problem.field.as_str() {
        "" => String::new(),
        field => format!("{field}: "),
    };
    Finding {
        line: problem.line,
        column: Some(problem.column),
        severity: problem.severity.as_str().to_owned(),
        message: format!("{field}{}", problem.message),
        hint: problem.hint.clone().unwrap_or_default(),
    }
}

#[test]
fn the_folder_that_cases_are_laid_beside_is_in_order() {
    let problems = check(&[good()]);
    assert_eq!(problems, [], "{problems:#?}");
}

#[test]
fn every_case_is_told_about_as_expected() {
    let mut report = String::new();
    for case in corpus::cases(&corpus::root()) {
        let problems = problems(&case);
        let mut found: Vec<String> = problems
            .iter()
            .filter(|problem| problem.file != case.file)
            .map(|problem| format!("about another file: {problem}"))
            .collect();
        let said: Vec<Finding> = problems
            .iter()
            .filter(|problem| problem.file == case.file)
            .map(said)
            .collect();
        found.extend(differences(&case.expected, &said));
        if !found.is_empty() {
            report += &format!("{}/{}\n  {}\n", case.class, case.name, found.join("\n  "));
        }
    }
    assert!(report.is_empty(), "\n{report}");
}

#[test]
fn there_are_two_hundred_cases_of_a_dozen_classes() {
    let mut cases_by_class: BTreeMap<String, usize> = BTreeMap::new();
    for case in corpus::cases(&corpus::root()) {
        assert!(!case.expected.is_empty(), "{}/{}", case.class, case.name);
        *cases_by_class.entry(case.class).or_default() += 1;
    }
    assert!(cases_by_class.values().sum::<usize>() >= 200);
    assert!(cases_by_class.len() >= 12, "{cases_by_class:?}");
}

/// Secret values of the corpus hold this word, in plain or in base64, or are lines of PEM.
#[test]
fn no_secret_is_repeated() {
    for case in corpus::cases(&corpus::root()) {
        let text = String::from_utf8_lossy(&case.bytes);
        let secrets: Vec<&str> = text
            .split(|c: char| !(c.is_ascii_alphanumeric() || "+/=".contains(c)))
            .filter(|word| word.len() >= 48 && !word.starts_with("aaaa"))
            .chain(["swordfish", "sword:fish", "c3dvcmRmaXNo", "12345678"])
            .collect();
        for problem in problems(&case) {
            let shown = format!("{problem}{problem:?}");
            for secret in &secrets {
                assert!(!shown.contains(secret), "{}/{}", case.class, case.name);
            }
        }
    }
}
