//! Each case written into the folder of a gateway that serves.

use std::path::Path;
use std::time::Duration;

use interop_tests::process::wait_until;

use crate::corpus::{Case, Finding, cases, differences};
use crate::corpus_root;
use crate::gateway::{Gateway, beside_a_session};

/// Gateways at a time. They mostly wait for files to come to rest.
const WORKERS: usize = 4;

/// What is said of files may come a moment later than what is served.
const SOON: Duration = Duration::from_secs(20);

#[test]
fn a_gateway_that_serves_survives_every_broken_manifest_beside_its_own() {
    let cases = cases(&corpus_root());
    std::thread::scope(|scope| {
        for number in 0..WORKERS {
            let share = cases.iter().skip(number).step_by(WORKERS);
            scope.spawn(move || {
                beside_a_session(
                    "a_gateway_that_serves_survives_every_broken_manifest_beside_its_own",
                    |gateway| lay_beside(gateway, share),
                );
            });
        }
    });
}

/// Each case comes as the one before it goes.
fn lay_beside<'a>(gateway: &Gateway, cases: impl Iterator<Item = &'a Case>) {
    let mut wrong = Vec::new();
    let mut last = None;
    for case in cases {
        let title = format!("{}/{}", case.class, case.name);
        let file = format!("case-{}", case.file);
        std::fs::write(gateway.folder.file(&file), &case.bytes).expect("a file");
        if let Some(last) = last.replace(file.clone())
            && last != file
        {
            gateway.folder.remove(&last);
        }
        gateway.step();
        gateway.assert_serves(&title);
        let file = gateway.folder.file(&file);
        if let Some(difference) = gateway.says_otherwise(&file, case) {
            wrong.push(format!("{title}\n  {difference}"));
        }
    }
    if let Some(last) = last {
        gateway.folder.remove(&last);
    }
    gateway.step();
    gateway.assert_as_at_the_start("after all cases");
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

impl Gateway {
    /// What is not said of a case as expected, after a while.
    fn says_otherwise(&self, file: &Path, case: &Case) -> Option<String> {
        let mut different = Vec::new();
        wait_until(SOON, || {
            let said = self.problems_of(file);
            different = match case.class.as_str() {
                // Where the other one is, and which counts, is another question in another folder.
                "duplicate-object" => match said.len() == case.expected.len() {
                    true => Vec::new(),
                    false => vec![format!("said {said:?}")],
                },
                _ => differences(&judged_alike(&case.expected), &judged_alike(&said)),
            };
            different.is_empty()
        });
        (!different.is_empty()).then(|| different.join("\n  "))
    }
}

/// What is an error to `check` may be a warning here, where the conditions of objects tell what comes of it.
fn judged_alike(findings: &[Finding]) -> Vec<Finding> {
    let alike = |finding: &Finding| Finding {
        severity: String::new(),
        ..finding.clone()
    };
    findings.iter().map(alike).collect()
}
