//! Replays the checked-in corpora through the fuzz targets.

use std::path::{Path, PathBuf};

use fuzz_replay::TARGETS;

fn corpus(target: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz/corpus")
        .join(target);
    let entries = folder
        .read_dir()
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn every_corpus_file_passes_its_target() {
    for (name, target) in TARGETS {
        let files = corpus(name);
        assert!(!files.is_empty(), "target `{name}` has no corpus");
        for file in files {
            let data = std::fs::read(&file).unwrap();
            // Shown by the test harness when the target panics.
            println!("{}", file.display());
            target(&data);
        }
    }
}

#[test]
fn short_and_empty_inputs_pass_every_target() {
    for (_, target) in TARGETS {
        target(&[]);
        for byte in 0..=255 {
            target(&[byte]);
            target(&[byte; 64]);
        }
    }
}

#[test]
fn every_target_has_a_fuzz_binary() {
    for (name, _) in TARGETS {
        let manifest_dir = Path::new(env!("CARGO_MANIFEST_DIR"));
        let source = manifest_dir.join(format!("../../fuzz/fuzz_targets/{name}.rs"));
        assert!(source.is_file(), "{} is missing", source.display());
    }
}
