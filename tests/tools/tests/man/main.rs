//! The manual pages in `docs/man` are those that the programs' tables of flags give, and `man` can show them.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn pages() -> [(&'static str, String); 7] {
    [
        ("stunner", stunner_standalone::cli::man()),
        ("stunnerd", stunner_dataplane::cli::man()),
        ("stunner-gateway-operator", stunner_operator::cli::man()),
        ("stunnerctl", stunnerctl::cli::man()),
        ("turncat", turncat::cli::man()),
        ("icetester", icetester::cli::man()),
        ("authd", stunner_auth::cli::man()),
    ]
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/man")
}

#[test]
fn the_pages_are_up_to_date() {
    for (name, page) in pages() {
        let path = folder().join(format!("{name}.1"));
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&path, &page).expect("the page can be written");
        }
        let written = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            written == page,
            "docs/man/{name}.1 is out of date: run UPDATE=1 cargo test -p tools-tests --test man"
        );
    }
}

/// The typesetter warns about what it does not understand.
#[test]
fn the_pages_can_be_typeset() {
    for (name, _) in pages() {
        let path = folder().join(format!("{name}.1"));
        let groff = Command::new("groff")
            .args(["-man", "-Tutf8", "-ww", "-z"])
            .arg(&path)
            .stdin(Stdio::null())
            .output();
        match groff {
            Ok(done) => {
                let said = String::from_utf8_lossy(&done.stderr).into_owned();
                assert!(done.status.success() && said.is_empty(), "{name}: {said}");
            }
            Err(_) => {
                println!("skipped: groff is not installed");
                return;
            }
        }
    }
}

#[test]
fn every_flag_of_a_command_is_on_its_page() {
    let (_, page) = &pages()[3];
    for flag in [
        "watch",
        "pod\\-address",
        "cds\\-server\\-address",
        "kubeconfig",
        "packet\\-rate",
    ] {
        assert!(page.contains(&format!("\\-\\-{flag}\\fR")), "--{flag}");
    }
}
