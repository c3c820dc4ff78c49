use interop_tests::config::Transport;
use interop_tests::echo::UdpEcho;

use crate::stage::{play, refused, session, visit};

#[test]
fn media_server_is_reached_on_its_media_ports_and_nothing_else_is() {
    let test = "media_server_is_reached_on_its_media_ports_and_nothing_else_is";
    play(test, "media-server", &[], |play| {
        let client = || play.client(Transport::Udp, 3478);
        let last_port = UdpEcho::start("127.0.0.1:20000");
        visit(client(), last_port.address());
        let [below, above] =
            [9999, 20_001].map(|port| UdpEcho::start(&format!("127.0.0.1:{port}")));
        let mut session = session(client(), UdpEcho::start("127.0.0.1:10000"));
        let mut other = client();
        let closed = [
            below.address().to_string(),
            above.address().to_string(),
            "127.0.0.1:8188".to_owned(),
            "127.0.0.2:10000".to_owned(),
            play.peer().address().to_string(),
            other.allocate().expect("a relay").to_string(),
        ];
        for closed in closed {
            assert_eq!(refused(&mut session.client, &closed), Some(403), "{closed}");
        }
        other.refresh(0).expect("the end of the other");
        assert_eq!((below.seen(), above.seen()), (0, 0));
        session
    });
}
