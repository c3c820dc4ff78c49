use interop_tests::config::Transport;
use interop_tests::echo::UdpEcho;
use interop_tests::netns::SERVER;

use crate::stage::{play, refused, session, talk};

#[test]
fn public_turn_lets_clients_talk_over_udp_and_tcp_and_keeps_the_machine_closed() {
    let test = "public_turn_lets_clients_talk_over_udp_and_tcp_and_keeps_the_machine_closed";
    play(test, "public-turn", &[], |play| {
        let (urls, _) = play.ice();
        let wanted = ["udp", "tcp"].map(|way| format!("turn:{SERVER}:3478?transport={way}"));
        assert_eq!(urls, wanted);
        let client = |transport| play.client(transport, 3478);
        talk(client(Transport::Udp), client(Transport::Udp));
        talk(client(Transport::Tcp), client(Transport::Tcp));
        talk(client(Transport::Udp), client(Transport::Tcp));
        // What listens on the gateway's own machine, by any of its addresses.
        let [here, outside] = ["127.0.0.1", SERVER].map(|ip| UdpEcho::start(&format!("{ip}:0")));
        let mut last = session(client(Transport::Tcp), play.peer());
        let closed = [
            here.address().to_string(),
            outside.address().to_string(),
            format!("{SERVER}:3478"),
            "169.254.169.254:80".to_owned(),
            "224.0.0.1:5000".to_owned(),
            "0.0.0.0:5000".to_owned(),
            "255.255.255.255:5000".to_owned(),
        ];
        for closed in closed {
            assert_eq!(refused(&mut last.client, &closed), Some(403), "{closed}");
        }
        assert_eq!((here.seen(), outside.seen()), (0, 0));
        last
    });
}
