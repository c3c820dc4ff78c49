use interop_tests::config::Transport;
use interop_tests::echo::UdpEcho;

use crate::stage::{play, refused, session, talk, visit};

#[test]
fn quickstart_relays_to_other_clients_and_to_programs_of_this_machine() {
    let test = "quickstart_relays_to_other_clients_and_to_programs_of_this_machine";
    play(test, "quickstart", &[], |play| {
        let (urls, _) = play.ice();
        assert_eq!(urls, ["turn:10.123.0.1:3478?transport=udp"]);
        let client = || play.client(Transport::Udp, 3478);
        talk(client(), client());
        let here = UdpEcho::start("127.0.0.1:0");
        visit(client(), here.address());
        let mut session = session(client(), play.peer());
        for closed in ["169.254.169.254:80", "127.0.0.2:5000", "10.123.0.1:3478"] {
            assert_eq!(refused(&mut session.client, closed), Some(403), "{closed}");
        }
        session
    });
}
