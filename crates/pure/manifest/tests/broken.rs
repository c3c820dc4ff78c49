//! Every broken manifest of the corpus is told about as its author expected: line, column, severity, message and hint,
//! nothing more, and no secret.

#[path = "broken_corpus/mod.rs"]
mod corpus;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use corpus::{Case, Finding, differences};
use stunner_manifest::{Problem, Reading, check, read};

/// All cases with what is said about them.
static CASES: LazyLock<Vec<(Case, Vec<Problem>)>> = LazyLock::new(|| {
    let told = |case: Case| {
        let problems = check(&[good(), read(&case.file, &case.bytes)]);
        (case, problems)
    };
    corpus::cases(&root()).into_iter().map(told).collect()
});

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/broken")
}

fn good() -> Reading {
    let path = root().join("good.yaml");
    read("good.yaml", &fs::read(path).unwrap())
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
    for (case, problems) in CASES.iter() {
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
    let mut cases_by_class: BTreeMap<&str, usize> = BTreeMap::new();
    for (case, _) in CASES.iter() {
        assert!(!case.expected.is_empty(), "{}/{}", case.class, case.name);
        *cases_by_class.entry(&case.class).or_default() += 1;
    }
    assert!(cases_by_class.values().sum::<usize>() >= 200);
    assert!(cases_by_class.len() >= 12, "{cases_by_class:?}");
}

/// Secret values of the corpus hold one of a few words, in plain or in base64, or are lines of PEM.
#[test]
fn no_secret_is_repeated() {
    for (case, problems) in CASES.iter().filter(|(case, _)| case.class != "too-large") {
        let text = String::from_utf8_lossy(&case.bytes);
        let secrets: Vec<&str> = text
            .split(|c: char| !(c.is_ascii_alphanumeric() || "+/=".contains(c)))
            .filter(|word| word.len() >= 48 && !word.starts_with("aaaa"))
            .chain(["swordfish", "sword:fish", "c3dvcmRmaXNo", "12345678"])
            .collect();
        for problem in problems {
            let shown = format!("{problem}{problem:?}");
            for secret in &secrets {
                assert!(!shown.contains(secret), "{}/{}", case.class, case.name);
            }
        }
    }
}

/// Files are seen half written, and with all kinds of slips.
#[test]
fn damage_of_any_kind_gives_problems_and_no_panic() {
    const STEPS: usize = 4;
    const SLIPS: &[u8] = b"{}[]:-\"'&*!\t";
    let good = good();
    let tell = |case: &Case, bytes: &[u8]| {
        let problems = check(&[good.clone(), read(&case.file, bytes)]);
        assert!(
            problems
                .iter()
                .all(|problem| problem.line > 0 && problem.column > 0)
        );
    };
    let small = |(case, _): &&(Case, Vec<Problem>)| case.bytes.len() < 4096;
    for (number, (case, _)) in CASES.iter().filter(small).enumerate() {
        for step in 0..STEPS {
            let turn = number * STEPS + step;
            let at = case.bytes.len() * (1 + turn % 31) / 32;
            tell(case, &case.bytes[..at]);
            let mut damaged = case.bytes.clone();
            if let Some(byte) = damaged.get_mut(at) {
                *byte = SLIPS[turn % SLIPS.len()];
            }
            tell(case, &damaged);
        }
    }
}
