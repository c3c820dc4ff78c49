//! How fast it is. Times are printed for every binary and judged for an optimised one.

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use interop_tests::echo::UdpEcho;
use interop_tests::ports::free_port;
use standalone_tests::manifests::{Folder, class, gateway, route, route_to, static_service};
use standalone_tests::stunner::{Stunner, client, is_release};

/// Of a file before it is read.
const STILLNESS: Duration = Duration::from_millis(100);
const ROUTES: usize = 1_000;

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
    let mut best = Duration::MAX;
    for _ in 0..3 {
        let began = Instant::now();
        let stunner = Stunner::start(&[folder.path()], &[]);
        let first = first_relayed(ports[9], &echo);
        let last = first_relayed(ports[0], &echo);
        let took = began.elapsed();
        println!(
            "cold start, 10 Gateways: {took:?} (through the first and the last: {first}, {last} tries)"
        );
        best = best.min(took);
        drop(stunner);
    }
    if is_release() {
        assert!(best < Duration::from_millis(200), "{best:?}");
    }
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
    let deadline = Instant::now() + Duration::from_secs(20);
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
        let mut best = Duration::MAX;
        for round in 0..3 {
            let number = 500 + round;
            let edited = |at: usize| match at == number {
                true => "target".to_owned(),
                false => format!("svc-{at}"),
            };
            match in_one_file {
                true => folder.replace("routes.yaml", &all(&edited).join("---\n")),
                false => folder.replace(&format!("route-{number}.yaml"), &route(number, "target")),
            }
            let began = Instant::now();
            while client.permit(peer).is_err() {
                assert!(
                    began.elapsed() < Duration::from_secs(20),
                    "the edit has no effect"
                );
                std::thread::sleep(Duration::from_millis(1));
            }
            let took = began.elapsed();
            println!(
                "edit of one route of {ROUTES}, {}: {took:?}",
                if in_one_file {
                    "in one file"
                } else {
                    "a file each"
                }
            );
            best = best.min(took);
            // Back again, so that the next edit has an effect.
            match in_one_file {
                true => folder.replace("routes.yaml", &all(&own).join("---\n")),
                false => folder.replace(
                    &format!("route-{number}.yaml"),
                    &route(number, &own(number)),
                ),
            }
            while client.permit(peer).is_ok() {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        if is_release() {
            assert!(best < STILLNESS + Duration::from_millis(100), "{best:?}");
        }
        drop(stunner);
    }
}
