//! Sessions whose client says nothing for a while: the server gives back what memory it can, and must take the next
//! packet from either side as if nothing had been.

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use interop_tests::client::Incoming;
use interop_tests::config::Transport;
use interop_tests::process::wait_until;
use interop_tests::scene::{Scene, assert_alive};

/// Longer than any pause after which the server tidies up.
const PAUSE: Duration = Duration::from_secs(8);

#[test]
fn a_peer_may_break_the_silence_of_a_quiet_client() {
    let mut scene = Scene::start();
    let peer = UdpSocket::bind("127.0.0.1:0").expect("bind");
    let peer_address = peer.local_addr().expect("address");
    let mut quiet = Vec::new();
    for mut session in scene.sessions() {
        session.permit(peer_address).expect("permit");
        let relayed = relayed_of(&scene, &session.link.local().to_string());
        quiet.push((session, relayed));
    }
    let begun = Instant::now();
    std::thread::sleep(PAUSE);
    for (session, relayed) in &mut quiet {
        let transport = session.link.transport();
        peer.send_to(b"are you there", *relayed).expect("send");
        let incoming = session.receive(Duration::from_secs(20)).expect("receive");
        assert!(
            matches!(&incoming, Some(Incoming::Data(from, data)) if *from == peer_address && data == b"are you there"),
            "{transport:?} after {:?} of silence: {incoming:?}",
            begun.elapsed()
        );
    }
    assert!(scene.server.is_running(), "stunnerd ended");
    let mut sessions: Vec<_> = quiet.into_iter().map(|(session, _)| session).collect();
    assert_alive(&mut sessions, "after the silence");
}

/// Taking a listener away says goodbye to its clients, also to those that have been quiet.
#[test]
fn a_quiet_client_can_be_ended() {
    let mut scene = Scene::start();
    let sessions = scene.sessions();
    std::thread::sleep(PAUSE);
    scene.apply(|config| {
        for transport in Transport::ALL {
            config.remove_listener(transport.name());
        }
    });
    let ended = wait_until(Duration::from_secs(20), || {
        scene.server.allocation_count() == Some(0)
    });
    assert!(scene.server.is_running(), "stunnerd ended");
    assert!(ended, "sessions of a listener that is gone");
    drop(sessions);
}

/// The relayed address of the session of `client`, from the admin API.
fn relayed_of(scene: &Scene, client: &str) -> std::net::SocketAddr {
    let list = interop_tests::http::get(scene.server.admin_address(), "/api/v1/sessions")
        .expect("sessions")
        .json();
    let sessions = list["sessions"].as_array().expect("a list");
    let session = sessions
        .iter()
        .find(|session| session["client"] == client)
        .expect("the client's session");
    session["relayed"][0]
        .as_str()
        .expect("an address")
        .parse()
        .expect("an address")
}
