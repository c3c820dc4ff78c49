use std::process::Command;

use interop_tests::client::{Credentials, TurnClient};
use interop_tests::config::Transport;
use serde_json::Value;

use crate::stage::{Play, SOON, folder, play, session, talk};

const SECRET: &str = "a-secret-that-everybody-knows";

/// What the script of the example prints.
pub fn mint(secret: &str, user: &str, seconds: &str) -> Credentials {
    let mut script = Command::new(folder("ephemeral-credentials").join("mint"));
    script.args([secret, user, seconds]);
    let printed = interop_tests::process::run("mint", script, SOON).expect_success("mint");
    let minted: Value = serde_json::from_str(&printed).expect("JSON");
    let text = |name: &str| minted[name].as_str().expect("a text").to_owned();
    Credentials::new(&text("username"), &text("credential"))
}

fn client(play: &Play<'_>, credentials: Credentials) -> TurnClient {
    let client = play.client(Transport::Udp, 3478);
    client.with_credentials(credentials)
}

#[test]
fn ephemeral_credentials_work_until_they_expire() {
    let test = "ephemeral_credentials_work_until_they_expire";
    play(test, "ephemeral-credentials", &[], |play| {
        let (_, printed) = play.ice();
        let minted = || mint(SECRET, "alice", "3600");
        talk(client(play, printed), client(play, minted()));
        let refused = [
            ("expired", mint(SECRET, "alice", "-1")),
            ("of another secret", mint("guessed", "alice", "3600")),
            ("static", Credentials::new("user-1", "pass-1")),
            ("the secret itself", Credentials::new("alice", SECRET)),
        ];
        for (what, credentials) in refused {
            let answer = client(play, credentials).allocate();
            let code = answer.map_err(|refusal| refusal.code());
            assert_eq!(code, Err(Some(401)), "{what}");
        }
        let lines = play.stunner.lines();
        assert!(
            lines.iter().all(|line| !line.contains(SECRET)),
            "{lines:#?}"
        );
        session(client(play, minted()), play.peer())
    });
}
