use std::process::Command;

use interop_tests::client::TurnClient;
use interop_tests::config::Transport;
use interop_tests::netns::{CLIENT, Link, SERVER};
use interop_tests::skip::{self, Missing};
use serde_json::Value;
use standalone_tests::stunner::Stunner;

use crate::stage::{CHANNEL, Play, SOON, address, assert_closed, assert_good, folder, sockets};

pub const SERVER_V6: &str = "2001:db8:5::1";
pub const CLIENT_V6: &str = "2001:db8:5::2";

/// Gives both hosts an IPv6 address, and a way out by IPv6.
pub fn with_ipv6() -> Result<Link, Missing> {
    skip::ipv6()?;
    let link = Link::create()?;
    link.on_server(|| lead_out(SERVER_V6, CLIENT_V6));
    link.on_client(|| lead_out(CLIENT_V6, SERVER_V6));
    Ok(link)
}

/// In the namespace of the calling thread.
fn lead_out(own: &str, other: &str) {
    // Without duplicate address detection, which takes a second.
    let own = format!("{own}/64");
    for arguments in [
        vec!["addr", "add", &own, "dev", "eth0", "nodad"],
        vec!["-6", "route", "add", "default", "via", other],
    ] {
        let status = Command::new("ip").args(arguments).status();
        assert!(status.expect("ip").success());
    }
}

/// Asks for a relay of a family (REQUESTED-ADDRESS-FAMILY, RFC 8656 18.6).
fn allocate(client: &mut TurnClient, is_v6: bool) -> std::net::SocketAddr {
    let family = if is_v6 { 2 } else { 1 };
    let answer = client.allocate_with(|request| {
        request.attribute(0x0017, &[family, 0, 0, 0]);
    });
    answer.expect("an allocation").relayed().expect("a relay")
}

#[test]
fn dual_stack_relays_to_both_families_whichever_way_clients_come() {
    let test = "dual_stack_relays_to_both_families_whichever_way_clients_come";
    let link = match with_ipv6() {
        Ok(link) => link,
        Err(missing) => return skip::report(test, &missing),
    };
    link.on_server(|| {
        let output = [("--output", "json")];
        let mut stunner = Stunner::start_with(&[&folder("dual-stack")], &[], &output);
        let ready = stunner.wait_event("ready");
        assert_good(&ready);
        assert_eq!(
            ready["iceServers"][0]["urls"],
            serde_json::json!([
                format!("turn:{SERVER}:3478?transport=udp"),
                format!("turn:[{SERVER_V6}]:3478?transport=udp"),
                format!("turn:{SERVER}:3478?transport=tcp"),
                format!("turn:[{SERVER_V6}]:3478?transport=tcp"),
            ])
        );
        let play = Play {
            link: &link,
            stunner: &stunner,
            ready: ready.clone(),
        };
        let peers = [CLIENT, CLIENT_V6].map(|ip| play.peer_at(ip));
        for transport in [Transport::Udp, Transport::Tcp] {
            for server in [SERVER, SERVER_V6] {
                for peer in &peers {
                    let peer = peer.address();
                    let mut client = play.client_at(transport, address(server, 3478));
                    let relay = allocate(&mut client, peer.is_ipv6());
                    let own = if peer.is_ipv6() { SERVER_V6 } else { SERVER };
                    assert_eq!(relay.ip(), address(own, 0).ip(), "{transport:?} {server}");
                    client.bind(CHANNEL, peer).expect("a peer of that family");
                    assert!(client.echoes(CHANNEL, b"both ways"), "{server} to {peer}");
                    client.refresh(0).expect("the end of the session");
                }
            }
        }
        stunner.signal(libc::SIGTERM);
        let status = stunner.wait_end(SOON).expect("the end");
        assert_eq!(status.code(), Some(0));
        assert_closed(&sockets(&ready));
    });
}

#[test]
fn dual_stack_serves_one_family_where_there_is_no_other() {
    let test = "dual_stack_serves_one_family_where_there_is_no_other";
    crate::stage::play(test, "dual-stack", &[], |play| {
        let mut other = play.client(Transport::Udp, 3478);
        let answer = other.allocate_with(|request| {
            request.attribute(0x0017, &[2, 0, 0, 0]);
        });
        let code = answer.map(|_| ()).map_err(|refusal| refusal.code());
        assert_eq!(code, Err(Some(440)));
        let gateways: &Value = &play.ready["gateways"];
        assert_eq!(gateways[0]["addresses"], serde_json::json!([SERVER]));
        crate::stage::session(play.client(Transport::Tcp, 3478), play.peer())
    });
}
