//! Where listeners are open.

use std::net::{SocketAddr, TcpStream};

use interop_tests::client::{Credentials, TurnClient};
use interop_tests::config::Transport;
use interop_tests::ports::free_port;
use standalone_tests::manifests::{Folder, PASSWORD, USER, class, gateway};
use standalone_tests::stunner::Stunner;

/// Whether a UDP and a TCP listener can be had at an address of this host.
fn open_at(host: &str, udp: u16, tcp: u16) -> [bool; 2] {
    let at = |port| SocketAddr::new(host.parse().expect("an address"), port);
    let mut client = TurnClient::connect(Transport::Udp, at(udp), "")
        .with_credentials(Credentials::new(USER, PASSWORD));
    [
        client.allocate().is_ok(),
        TcpStream::connect(at(tcp)).is_ok(),
    ]
}

#[test]
fn a_gateway_of_loopback_is_open_to_nobody_else() {
    let (udp, tcp) = (free_port(), free_port());
    let folder = Folder::default();
    folder.write("class.yaml", &class());
    let listeners = [("udp", "TURN-UDP", udp), ("tcp", "TURN-TCP", tcp)];
    folder.write("gateway.yaml", &gateway("gw", &listeners));
    // 127.0.0.2 stands for any other address of this host.
    for (address, elsewhere) in [("127.0.0.1", false), ("192.0.2.1", true)] {
        let stunner = Stunner::run(&[folder.path()], &["--address", address]);
        assert_eq!(open_at("127.0.0.1", udp, tcp), [true; 2], "{address}");
        assert_eq!(open_at("127.0.0.2", udp, tcp), [elsewhere; 2], "{address}");
        drop(stunner);
    }
}

#[test]
fn a_loopback_address_of_ones_own_is_the_only_one() {
    let (udp, tcp) = (free_port(), free_port());
    let folder = Folder::default();
    folder.write("class.yaml", &class());
    let listeners = [("udp", "TURN-UDP", udp), ("tcp", "TURN-TCP", tcp)];
    folder.write("gateway.yaml", &gateway("gw", &listeners));
    let _stunner = Stunner::run(&[folder.path()], &["--address", "127.0.0.3"]);
    for (host, open) in [("127.0.0.3", true), ("127.0.0.1", false)] {
        assert_eq!(open_at(host, udp, tcp), [open; 2], "{host}");
    }
}
