//! Every complete manifest of the documents that describe the product goes through `stunner translate`.
//!
//! The manifests are in `seeds/DOCUMENT/`, the results beside them in `seeds/DOCUMENT/out/`: notices as comments, then
//! what was printed. A manifest alone shows that it is accepted; `whole-*` are several of one document together with
//! what the documents take for granted (`seeds/around/`), and show what comes of them. `UPDATE=1` writes the results.

use std::path::{Path, PathBuf};

use standalone_tests::command::run;
use standalone_tests::golden::compare;

fn seeds() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds")
}

/// The manifests of a document, by number.
fn manifests(document: &str) -> Vec<String> {
    let folder = seeds().join(document);
    let entries = std::fs::read_dir(&folder).expect("a folder of manifests");
    let names = entries
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names
        .filter(|name| name.ends_with(".yaml"))
        .map(|name| format!("{document}/{name}"))
        .collect();
    names.sort();
    names
}

/// The result of translating some manifests, which must be accepted.
fn translated(paths: &[String]) -> String {
    let words = ["translate", "-o", "yaml"].into_iter();
    let ended = run(&seeds(), words.chain(paths.iter().map(String::as_str)), "");
    assert_eq!(ended.code, Some(0), "{paths:?}\n{}", ended.stderr);
    let notices = ended.stderr.lines().map(|line| format!("# {line}\n"));
    notices.collect::<String>() + &ended.stdout
}

fn compare_all(results: impl IntoIterator<Item = (PathBuf, String)>) {
    let differences = results.into_iter();
    let differences: Vec<String> = differences
        .filter_map(|(path, found)| compare(&path, &found).err())
        .collect();
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn every_manifest_is_accepted_and_gives_the_same_as_before() {
    let documents = [("000", 4), ("001", 11), ("002", 10)];
    let mut results = Vec::new();
    for (document, count) in documents {
        let manifests = manifests(document);
        assert_eq!(manifests.len(), count, "{manifests:?}");
        for manifest in manifests {
            let name = manifest.replace(&format!("{document}/"), "");
            let path = seeds().join(document).join("out").join(name);
            let found = translated(&[manifest]);
            results.push((path, found));
        }
    }
    compare_all(results);
}

#[test]
fn manifests_of_one_document_together_give_gateways() {
    let wholes: [(&str, &str, &[usize]); 7] = [
        ("000", "whole", &[1, 2, 3, 4]),
        ("001", "whole-services", &[1, 2, 3, 4, 5, 6, 7, 11]),
        ("001", "whole-official-route", &[1, 2, 3, 8, 11]),
        ("001", "whole-static-service", &[1, 2, 3, 9, 10, 11]),
        ("002", "whole-services", &[1, 2, 3, 4, 5, 6, 10]),
        ("002", "whole-official-route", &[1, 2, 3, 7, 10]),
        ("002", "whole-static-service", &[1, 2, 3, 8, 9, 10]),
    ];
    let results = wholes.into_iter().map(|(document, name, numbers)| {
        let manifests = manifests(document);
        let mut paths: Vec<String> = numbers
            .iter()
            .map(|number| manifests[number - 1].clone())
            .collect();
        paths.push("around".to_owned());
        let path = seeds()
            .join(document)
            .join("out")
            .join(format!("{name}.yaml"));
        (path, translated(&paths))
    });
    compare_all(results);
}

#[test]
fn a_folder_with_all_manifests_of_a_document_is_accepted_too() {
    for document in ["000", "001", "002"] {
        translated(&[document.to_owned()]);
    }
}
