//! What is wrong with the manifests is told with its place: what is new, once, and what is solved.

use interop_tests::ports::free_port;
use interop_tests::process::wait_until;
use serde_json::Value;
use standalone_tests::manifests::{Folder, route_to, static_service};
use standalone_tests::stunner::{PATIENCE, Stunner};

/// The problems told so far whose message has a part.
fn told(stunner: &Stunner, part: &str) -> Vec<Value> {
    let events = stunner.events().into_iter();
    let problems = events.filter(|event| event["event"] == "problem");
    let has_part = |event: &Value| {
        event["message"]
            .as_str()
            .is_some_and(|it| it.contains(part))
    };
    problems.filter(has_part).collect()
}

fn is_about(event: &Value, file: &str) -> bool {
    event["file"].as_str().is_some_and(|it| it.ends_with(file))
}

#[test]
fn a_dangling_reference_is_told_once_with_its_place_and_solved_when_it_is() {
    let folder = Folder::quickstart(free_port());
    folder.write("route.yaml", &route_to("media", "gw", "missing"));
    let stunner = Stunner::run(&[folder.path()], &[]);
    let problem = stunner.wait_for("problem", |event| {
        event["event"] == "problem" && is_about(event, "route.yaml")
    });
    assert_eq!(problem["line"], 13, "{problem:#}");
    assert_eq!(problem["severity"], "error");
    let message = problem["message"].as_str().expect("a message");
    assert!(message.contains("missing"), "{message}");
    assert!(problem["hint"].is_string(), "{problem:#}");
    let shown = wait_until(PATIENCE, || {
        let state = stunner.state();
        let problems = state["problems"].as_array().cloned().unwrap_or_default();
        problems.iter().any(|one| is_about(one, "route.yaml"))
    });
    assert!(shown, "the console does not show it");
    // Neither lines above it nor another edit make it new.
    let moved = format!("# moved\n{}", route_to("media", "gw", "missing"));
    folder.write("route.yaml", &moved);
    let shown = wait_until(PATIENCE, || {
        let state = stunner.state();
        state["problems"].as_array().is_some_and(|problems| {
            problems
                .iter()
                .any(|one| is_about(one, "route.yaml") && one["line"] == 14)
        })
    });
    assert!(shown, "the console shows the old place");
    assert_eq!(told(&stunner, message).len(), 1, "{:#?}", stunner.events());
    let service = static_service("missing", &["127.0.0.1/32"]);
    folder.write("service.yaml", &service);
    stunner.wait_for("solved problem", |event| {
        let solved = event["solved"].as_array();
        solved.is_some_and(|solved| solved.iter().any(|one| one["message"] == message))
    });
}

#[test]
fn a_broken_edit_neither_solves_nor_repeats_what_was_wrong_elsewhere() {
    let folder = Folder::quickstart(free_port());
    let stray = route_to("stray", "gw", "missing");
    folder.write("stray.yaml", &stray);
    let stunner = Stunner::run(&[folder.path()], &[]);
    stunner.wait_for("problem", |event| {
        event["event"] == "problem" && is_about(event, "stray.yaml")
    });
    for file in ["route.yaml", "stray.yaml"] {
        let good = std::fs::read_to_string(folder.file(file)).expect("a file");
        let seen = stunner.events().len();
        folder.write(file, "kind: [unfinished");
        stunner.wait_after(seen, "syntax error", |event| {
            event["event"] == "problem" && is_about(event, file)
        });
        let seen = stunner.events().len();
        folder.write(file, &good);
        stunner.wait_after(seen, "solved", |event| event["event"] == "changed");
    }
    // What comes after all checks of what was before.
    folder.write("last.yaml", &route_to("last", "gw", "nowhere"));
    stunner.wait_for("problem", |event| {
        event["event"] == "problem" && is_about(event, "last.yaml")
    });
    let about = told(&stunner, "missing");
    assert_eq!(about.len(), 1, "{about:#?}");
    for event in stunner.events() {
        let solved = event["solved"].as_array().cloned().unwrap_or_default();
        let mut solved = solved.iter().filter_map(|one| one["message"].as_str());
        assert!(
            !solved.any(|message| message.contains("missing")),
            "{event:#}"
        );
    }
}

#[test]
fn people_are_not_flooded() {
    let folder = Folder::quickstart(free_port());
    let strays: Vec<String> = (0..100)
        .map(|number| route_to(&format!("stray-{number}"), "gw", "missing"))
        .collect();
    folder.write("strays.yaml", &strays.join("---\n"));
    let text = [("--address", "127.0.0.1"), ("--output", "text")];
    let stunner = Stunner::start_with(&[folder.path()], &[], &text);
    // The sum comes last, and the hint that belongs to it after it.
    let summed_up = ["more problems", "stunner check"].map(|part| {
        let process = stunner.process();
        process.wait_log(part, PATIENCE)
    });
    let lines = stunner.lines();
    assert_eq!(summed_up, [true; 2], "{lines:#?}");
    let errors = lines.iter().filter(|line| line.contains("strays.yaml:"));
    assert!(errors.count() <= 20, "{lines:#?}");
}

#[test]
fn nothing_is_missed_that_a_large_file_has() {
    let folder = Folder::quickstart(free_port());
    folder.write("route.yaml", &route_to("media", "gw", "last"));
    let mut services: Vec<String> = (0..9_000)
        .map(|number| static_service(&format!("service-{number}"), &["127.0.0.1/32"]))
        .collect();
    services.push(static_service("last", &["127.0.0.1/32"]));
    folder.write("services.yaml", &services.join("---\n"));
    let stunner = Stunner::run(&[folder.path()], &[]);
    stunner.wait_event("changed");
    // What comes after all checks of what was before.
    folder.write("stray.yaml", &route_to("stray", "gw", "nowhere"));
    stunner.wait_for("problem", |event| {
        event["event"] == "problem" && is_about(event, "stray.yaml")
    });
    let problems = told(&stunner, "`default/last`");
    assert!(problems.is_empty(), "{problems:#?}");
}
