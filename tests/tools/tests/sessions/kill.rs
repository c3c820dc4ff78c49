//! The end of sessions.

use interop_tests::ended::Ended;

use crate::scenery::{CHANNEL, Scenery};

fn ids(scenery: &Scenery) -> Vec<String> {
    let listed = scenery
        .ctl(&["sessions", "-o", "jsonpath={.id}"])
        .with_code(0);
    listed.stdout.lines().map(str::to_owned).collect()
}

fn told(ran: &Ended, part: &str) {
    assert!(ran.stderr.contains(part), "{part} is missing: {ran:#?}");
}

#[test]
fn a_session_ends_by_its_id_and_the_others_go_on() {
    let scenery = Scenery::start();
    let mut sessions = [scenery.session(), scenery.session_at(scenery.two)];
    let id = ids(&scenery);
    let listed = scenery.ctl(&["sessions", "one", "-o", "jsonpath={.id}"]);
    let first = listed.stdout.trim();
    assert!(id.contains(&first.to_owned()), "{id:?}");
    let killed = scenery.ctl(&["sessions", "--kill", first]).with_code(0);
    assert_eq!(killed.stdout, format!("ended {first}\n"));
    assert_eq!(
        sessions[0]
            .refresh(600)
            .err()
            .and_then(|refusal| refusal.code()),
        Some(437)
    );
    assert!(sessions[1].echoes(CHANNEL, b"still here"));
    let again = scenery.ctl(&["sessions", "--kill", first]).with_code(1);
    told(&again, "there is no session");
    told(&again, "hint: ");
}

#[test]
fn more_than_one_session_ends_only_with_yes() {
    let scenery = Scenery::start();
    let mut sessions = [scenery.session(), scenery.session()];
    let ids = ids(&scenery);
    let refused = scenery
        .ctl(&["sessions", "--kill", &ids[0], "--kill", &ids[1]])
        .with_code(1);
    told(&refused, "error: 2 sessions would end");
    told(&refused, "hint: repeat with --yes");
    let selected = scenery
        .ctl(&["sessions", "--username", "user-1", "--kill-selected"])
        .with_code(1);
    told(&selected, "error: 2 sessions would end");
    assert!(
        ids.iter().all(|id| selected.stdout.contains(id)),
        "{selected:?}"
    );
    for session in &mut sessions {
        assert!(session.echoes(CHANNEL, b"still here"));
    }
    let ended = scenery
        .ctl(&[
            "sessions",
            "--client",
            "127.0.0.1",
            "--kill-selected",
            "--yes",
        ])
        .with_code(0);
    assert_eq!(ended.stdout.lines().count(), 2, "{ended:?}");
    for session in &mut sessions {
        assert_eq!(
            session
                .refresh(600)
                .err()
                .and_then(|refusal| refusal.code()),
            Some(437)
        );
    }
    let nobody = scenery
        .ctl(&["sessions", "--client", "127.0.0.1", "--kill-selected"])
        .with_code(0);
    told(&nobody, "no session is selected");
}

#[test]
fn a_single_selected_session_ends_without_yes() {
    let scenery = Scenery::start();
    let session = scenery.session();
    let client = session.link.local().to_string();
    let ended = scenery
        .ctl(&["sessions", "--client", &client, "--kill-selected"])
        .with_code(0);
    assert!(ended.stdout.starts_with("ended "), "{ended:?}");
}

#[test]
fn ending_without_saying_what_is_wrong_usage() {
    let scenery = Scenery::start();
    for (arguments, error) in [
        (
            &["sessions", "--kill-selected"][..],
            "without a selection would end every session",
        ),
        (
            &["sessions", "--kill", "0-1-1", "--username", "ann"][..],
            "`--kill` names its sessions itself",
        ),
        (&["sessions", "--client", "nowhere"][..], "it is no address"),
        (&["sessions", "one", "two"][..], "unexpected argument `two`"),
    ] {
        let ran = scenery.ctl(arguments).with_code(2);
        told(&ran, error);
    }
}
