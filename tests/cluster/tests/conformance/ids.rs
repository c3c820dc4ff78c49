//! Every id of the suites has a step.

/// First letters of the ids and how many cases there are.
const SUITES: [(&str, u32); 6] = [
    ("S", 10),
    ("LE", 4),
    ("L", 79),
    ("ME", 10),
    ("M", 75),
    ("F", 15),
];

const SOURCES: &[&str] = &[
    include_str!("finalizer.rs"),
    include_str!("legacy.rs"),
    include_str!("legacy_attachment.rs"),
    include_str!("legacy_dynamic.rs"),
    include_str!("legacy_endpoints.rs"),
    include_str!("managed.rs"),
    include_str!("managed_deployment.rs"),
    include_str!("managed_endpoints.rs"),
    include_str!("managed_many.rs"),
    include_str!("managed_routes.rs"),
    include_str!("managed_service.rs"),
];

#[test]
fn every_case_of_the_go_suites_has_a_step() {
    // The formatter may break the line after `step(`.
    let sources = SOURCES.concat().split_whitespace().collect::<String>();
    let missing = SUITES
        .into_iter()
        .flat_map(|(letters, count)| (1..=count).map(move |number| format!("{letters}{number}")))
        .filter(|id| !sources.contains(&format!("step(\"{id}\"")))
        .collect::<Vec<_>>();
    assert!(missing.is_empty(), "cases without a step: {missing:?}");
}
