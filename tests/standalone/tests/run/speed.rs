//! How fast it is. Times are printed for every binary and judged for an optimised one.

use std::net::{SocketAddr, UdpSocket};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use interop_tests::client::{Credentials, TurnClient};
use interop_tests::config::Transport;
use interop_tests::echo::UdpEcho;
use interop_tests::pki::TestCa;
use interop_tests::ports::free_port;
use interop_tests::process::wait_until;
use interop_tests::rounds::{Round, Rounds};
use standalone_tests::manifests::{
    Folder, PASSWORD, USER, class, gateway, route, route_to, static_service,
};
use standalone_tests::stunner::{Stunner, client, is_release};

/// Of a file before it is read.
const STILLNESS: Duration = Duration::from_millis(100);
const ROUTES: usize = 1_000;
/// How long anything may take at all.
const PATIENCE: Duration = Duration::from_secs(20);

/// Judges an optimised binary only.
#[track_caller]
fn judge(rounds: &Rounds, limit: Duration) {
    if is_release() {
        rounds.judge(limit);
    }
}

#[test]
fn ten_gateways_relay_within_200_ms_of_a_cold_start() {
    let echo = UdpEcho::start("127.0.0.1:0");
    let ports: Vec<u16> = (0..10).map(|_| free_port()).collect();
    let folder = Folder::default();
    folder.write("class.yaml", &class());
    for (number, port) in ports.iter().enumerate() {
        let name = format!("gw-{number}");
        let text = format!(
            "{}---\n{}",
            gateway(&name, &[("udp", "TURN-UDP", *port)]),
            route(&name, &name, &["127.0.0.1/32"])
        );
        folder.write(&format!("{name}.yaml"), &text);
    }
    let _ = standalone_tests::binary::stunner();
    let mut rounds = Rounds::default();
    while rounds.want_more() {
        let round = Round::begin();
        let stunner = Stunner::start(&[folder.path()], &[]);
        let first = first_relayed(ports[9], &echo);
        let last = first_relayed(ports[0], &echo);
        println!("through the last and the first after {first} and {last} tries");
        rounds.add("cold start, 10 Gateways", round.end());
        drop(stunner);
    }
    judge(&rounds, Duration::from_millis(200));
}

/// Certificates to parse, TCP listeners, and nothing of the binary or the manifests in the page cache.
#[test]
fn ten_gateways_with_tls_relay_within_200_ms_of_a_cold_start_from_disk() {
    let (echo, ca) = (UdpEcho::start("127.0.0.1:0"), TestCa::new());
    let identity = ca.ecdsa("turn.example.test");
    let folder = Folder::default();
    folder.write("class.yaml", &class());
    let mut ports = Vec::new();
    for number in 0..10 {
        let (name, udp, tls) = (format!("gw-{number}"), free_port(), free_port());
        let listeners = gateway(&name, &[("udp", "TURN-UDP", udp), ("tls", "TURN-TLS", tls)]);
        let text = format!(
            "{listeners}    tls:\n      certificateRefs:\n      - name: {name}\n---\n\
             apiVersion: v1\nkind: Secret\nmetadata:\n  name: {name}\n  namespace: default\n\
             data:\n  tls.crt: {}\n  tls.key: {}\n---\n{}",
            identity.cert_base64(),
            identity.key_base64(),
            route(&name, &name, &["127.0.0.1/32"])
        );
        folder.write(&format!("{name}.yaml"), &text);
        ports.push((udp, tls));
    }
    let binary = standalone_tests::binary::stunner();
    let mut rounds = Rounds::default();
    while rounds.want_more() {
        forget(binary);
        for number in 0..10 {
            forget(&folder.file(&format!("gw-{number}.yaml")));
        }
        let round = Round::begin();
        let stunner = Stunner::start(&[folder.path()], &[]);
        let (udp, tls) = ports[9];
        first_relayed(udp, &echo);
        let server = SocketAddr::from(([127, 0, 0, 1], tls));
        let credentials = Credentials::new(USER, PASSWORD);
        TurnClient::connect(Transport::Tls, server, ca.root_pem())
            .with_credentials(credentials)
            .join(0x4000, echo.address());
        rounds.add("cold start from disk, 10 Gateways with TLS", round.end());
        drop(stunner);
    }
    judge(&rounds, Duration::from_millis(200));
}

/// Asks the kernel to drop a file from its cache; it does so for pages that nobody has mapped.
fn forget(path: &Path) {
    let asked = Command::new("dd")
        .arg(format!("if={}", path.display()))
        .args(["iflag=nocache", "count=0", "status=none"])
        .status();
    assert!(asked.is_ok_and(|status| status.success()), "dd");
}

/// Whether a Binding request is answered at once. A datagram to a port that nobody has comes back as an ICMP error.
fn answers(port: u16) -> bool {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let wait = Duration::from_millis(2);
    socket.set_read_timeout(Some(wait)).expect("a timeout");
    socket.connect(("127.0.0.1", port)).expect("loopback");
    let mut request = [0_u8; 20];
    // Binding request, no attributes, magic cookie (RFC 8489 §5).
    request[1] = 1;
    request[4..8].copy_from_slice(&[0x21, 0x12, 0xa4, 0x42]);
    let answered = socket.send(&request).is_ok() && socket.recv(&mut [0_u8; 512]).is_ok();
    if !answered {
        std::thread::sleep(Duration::from_millis(1));
    }
    answered
}

/// Tries until a packet came back through the port; how often.
fn first_relayed(port: u16, echo: &UdpEcho) -> usize {
    let deadline = Instant::now() + PATIENCE;
    let mut tries = 0;
    while Instant::now() < deadline {
        tries += 1;
        if answers(port) {
            client(port).join(0x4000, echo.address());
            return tries;
        }
    }
    panic!("no gateway at {port}");
}

#[test]
fn an_edit_of_one_route_of_1000_takes_effect_within_100_ms_beyond_the_stillness() {
    for in_one_file in [false, true] {
        let port = free_port();
        let folder = Folder::default();
        folder.write("class.yaml", &class());
        folder.write("gateway.yaml", &gateway("gw", &[("udp", "TURN-UDP", port)]));
        folder.write("target.yaml", &static_service("target", &["127.9.9.9/32"]));
        let services: Vec<String> = (0..ROUTES)
            .map(|number| {
                let prefix = format!("127.1.{}.{}/32", number / 250, number % 250);
                static_service(&format!("svc-{number}"), &[&prefix])
            })
            .collect();
        folder.write("services.yaml", &services.join("---\n"));
        let route =
            |number: usize, backend: &str| route_to(&format!("route-{number}"), "gw", backend);
        let all = |backend: &dyn Fn(usize) -> String| -> Vec<String> {
            (0..ROUTES)
                .map(|number| route(number, &backend(number)))
                .collect()
        };
        let own = |number: usize| format!("svc-{number}");
        if in_one_file {
            folder.write("routes.yaml", &all(&own).join("---\n"));
        } else {
            for (number, text) in all(&own).iter().enumerate() {
                folder.write(&format!("route-{number}.yaml"), text);
            }
        }
        let stunner = Stunner::run(&[folder.path()], &[]);
        let mut client = client(port);
        client.allocate().expect("an allocation");
        let peer = "127.9.9.9:1".parse().expect("an address");
        assert!(client.permit(peer).is_err());
        let mut rounds = Rounds::default();
        for number in 500.. {
            if !rounds.want_more() {
                break;
            }
            let edited = |at: usize| match at == number {
                true => "target".to_owned(),
                false => format!("svc-{at}"),
            };
            match in_one_file {
                true => folder.replace("routes.yaml", &all(&edited).join("---\n")),
                false => folder.replace(&format!("route-{number}.yaml"), &route(number, "target")),
            }
            let round = Round::begin();
            while client.permit(peer).is_err() {
                assert!(round.elapsed() < PATIENCE, "the edit has no effect");
                std::thread::sleep(Duration::from_millis(1));
            }
            let what = match in_one_file {
                true => "edit of one route of 1,000 in one file",
                false => "edit of one route of 1,000, a file each",
            };
            rounds.add(what, round.end());
            // Back again, so that the next edit has an effect.
            match in_one_file {
                true => folder.replace("routes.yaml", &all(&own).join("---\n")),
                false => folder.replace(
                    &format!("route-{number}.yaml"),
                    &route(number, &own(number)),
                ),
            }
            let gone = wait_until(PATIENCE, || client.permit(peer).is_err());
            assert!(gone, "the edit back has no effect");
        }
        judge(&rounds, STILLNESS + Duration::from_millis(100));
        drop(stunner);
    }
}
