//! Edits while sessions live.

use std::time::Duration;

use interop_tests::echo::UdpEcho;
use interop_tests::ports::free_port;
use interop_tests::process::wait_until;
use standalone_tests::manifests::{Folder, class, class_with, gateway, route, static_service};
use standalone_tests::stunner::{Stunner, client};

const PATIENCE: Duration = Duration::from_secs(20);

fn peer(text: &str) -> std::net::SocketAddr {
    text.parse().expect("an address")
}

#[test]
fn an_edit_takes_effect_and_ends_no_session() {
    let (port, echo) = (free_port(), UdpEcho::start("127.0.0.1:0"));
    let folder = Folder::quickstart(port);
    let stunner = Stunner::run(&[folder.path()], &[]);
    let mut client = client(port);
    client.join(0x4000, echo.address());
    assert!(client.permit(peer("127.0.1.7:5000")).is_err());
    folder.replace(
        "route.yaml",
        &route("media", "gw", &["127.0.0.0/24", "127.0.1.7/32"]),
    );
    let changed = stunner.wait_event("changed");
    assert_eq!(changed["objects"][0]["change"], "changed");
    assert_eq!(changed["objects"][0]["kind"], "StaticService");
    assert_eq!(changed["objects"][0]["name"], "media");
    assert_eq!(changed["sessions"]["kept"], 1);
    assert_eq!(changed["sessions"]["ended"], 0);
    assert!(client.permit(peer("127.0.1.7:5000")).is_ok());
    assert!(client.echoes(0x4000, b"after the edit"));
}

#[test]
fn a_broken_edit_keeps_the_last_good_state() {
    let (port, echo) = (free_port(), UdpEcho::start("127.0.0.1:0"));
    let folder = Folder::quickstart(port);
    let stunner = Stunner::run(&[folder.path()], &[]);
    let mut client = client(port);
    client.join(0x4000, echo.address());
    for (file, text) in [
        (
            "route.yaml",
            "apiVersion: stunner.l7mp.io/v1\nkind: UDPRoute\nmetadata: {name: [".to_owned(),
        ),
        (
            "gateway.yaml",
            gateway("gw", &[("udp", "TURN-UDP", port)]).replace("port: ", "port: x"),
        ),
        (
            "route.yaml",
            route("media", "gw", &["127.0.0.0/24"]).replace("127.0.0.0/24", "no prefix"),
        ),
        ("gateway.yaml", "\u{0}\u{1}binary\u{2}".to_owned()),
        ("class.yaml", String::new()),
    ] {
        let seen = stunner.events().len();
        folder.write(file, &text);
        // What is found out about the edit before it may still come.
        stunner.wait_after(seen, &format!("problem of {file}"), |event| {
            let named = event["file"].as_str().unwrap_or_default();
            event["event"] == "problem" && event["severity"] == "error" && named.ends_with(file)
        });
        assert!(client.echoes(0x4000, b"still here"), "{file}");
        let mut newcomer = standalone_tests::stunner::client(port);
        newcomer.join(0x4001, echo.address());
    }
    // What is whole again is followed again.
    let seen = stunner.events().len();
    folder.write("route.yaml", &route("media", "gw", &["127.0.2.0/24"]));
    stunner.wait_after(seen, "solved problem", |event| {
        let solved = event["solved"].as_array();
        event["event"] == "changed" && solved.is_some_and(|solved| !solved.is_empty())
    });
    assert!(wait_until(PATIENCE, || client
        .permit(peer("127.0.2.1:1"))
        .is_ok()));
}

#[test]
fn a_secret_that_vanishes_takes_nobody_down() {
    let (port, echo) = (free_port(), UdpEcho::start("127.0.0.1:0"));
    let folder = Folder::quickstart(port);
    folder.write(
        "class.yaml",
        &class_with("authRef:\n    name: credentials\n    namespace: default"),
    );
    folder.write(
        "secret.yaml",
        "apiVersion: v1\nkind: Secret\nmetadata:\n  name: credentials\n  namespace: default\nstringData:\n  type: static\n  username: user-1\n  password: pass-1\n",
    );
    let stunner = Stunner::run(&[folder.path()], &[]);
    let mut client = client(port);
    client.join(0x4000, echo.address());
    folder.remove("secret.yaml");
    let changed = stunner.wait_event("changed");
    let flipped = changed["conditions"].as_array().expect("conditions");
    let refused = flipped
        .iter()
        .any(|one| one["type"] == "Accepted" && one["status"] == "False");
    assert!(refused, "{changed:#}");
    assert!(client.echoes(0x4000, b"still here"));
    standalone_tests::stunner::client(port).join(0x4001, echo.address());
}

#[test]
fn deleting_a_file_removes_its_objects() {
    let (port, echo) = (free_port(), UdpEcho::start("127.0.0.1:0"));
    let folder = Folder::quickstart(port);
    let stunner = Stunner::run(&[folder.path()], &[]);
    let mut client = client(port);
    client.join(0x4000, echo.address());
    folder.remove("route.yaml");
    let changed = stunner.wait_event("changed");
    let removed: Vec<&str> = changed["objects"]
        .as_array()
        .expect("objects")
        .iter()
        .filter(|object| object["change"] == "removed")
        .filter_map(|object| object["kind"].as_str())
        .collect();
    assert_eq!(removed, ["UDPRoute", "StaticService"]);
    assert!(client.permit(peer("127.0.0.9:1")).is_err());
    folder.write("route.yaml", &route("media", "gw", &["127.0.0.0/24"]));
    assert!(wait_until(PATIENCE, || client
        .permit(peer("127.0.0.9:1"))
        .is_ok()));
}

#[test]
fn a_gateway_comes_and_goes_without_touching_another() {
    let (one, two, echo) = (free_port(), free_port(), UdpEcho::start("127.0.0.1:0"));
    let folder = Folder::quickstart(one);
    let stunner = Stunner::run(&[folder.path()], &["--drain-timeout", "8s"]);
    let mut steady = client(one);
    steady.join(0x4000, echo.address());
    folder.write(
        "second.yaml",
        &gateway("second", &[("udp", "TURN-UDP", two)]),
    );
    folder.write(
        "second-route.yaml",
        &route("second", "second", &["127.0.0.1/32"]),
    );
    stunner.wait_for("second Gateway", |event| {
        event["gateways"]
            .as_array()
            .is_some_and(|all| all.len() == 2)
    });
    let mut guest = client(two);
    assert!(wait_until(PATIENCE, || guest.allocate().is_ok()));
    // Its route is in another file.
    assert!(wait_until(PATIENCE, || guest
        .bind(0x4001, echo.address())
        .is_ok()));
    assert!(guest.echoes(0x4001, b"here"));
    let seen = stunner.events().len();
    folder.remove("second.yaml");
    stunner.wait_after(seen, "removal", |event| event["event"] == "changed");
    // Its sessions go on while it drains, and end with it.
    assert!(guest.echoes(0x4001, b"a little longer"));
    assert!(wait_until(PATIENCE, || {
        !guest.echoes_within(0x4001, b"gone?", Duration::from_secs(1))
    }));
    assert!(steady.echoes(0x4000, b"steady"));
}

#[test]
fn the_first_file_wins_where_two_define_the_same() {
    let port = free_port();
    let folder = Folder::quickstart(port);
    folder.write("z-twice.yaml", &static_service("media", &["127.0.9.0/24"]));
    let stunner = Stunner::run(&[folder.path()], &[]);
    let problem = stunner.wait_event("problem");
    let message = problem["message"].as_str().expect("a message");
    assert!(
        problem["file"]
            .as_str()
            .is_some_and(|file| file.ends_with("z-twice.yaml")),
        "{problem}"
    );
    assert!(message.contains("StaticService default/media"), "{message}");
    assert!(message.contains("route.yaml:"), "{message}");
    let mut client = client(port);
    client.allocate().expect("an allocation");
    assert!(client.permit(peer("127.0.9.1:1")).is_err());
    folder.write("route.yaml", &route("other", "gw", &["127.0.0.0/24"]));
    let freed = wait_until(PATIENCE, || {
        stunner
            .events()
            .iter()
            .any(|event| event["event"] == "changed")
    });
    assert!(freed);
}

#[test]
fn a_mounted_config_map_is_followed() {
    use std::os::unix::fs::symlink;
    let port = free_port();
    let folder = Folder::default();
    let fill = |name: &str, prefix: &str| {
        let data = folder.file(name);
        std::fs::create_dir(&data).expect("a folder");
        std::fs::write(data.join("class.yaml"), class()).expect("a manifest");
        let gateway = gateway("gw", &[("udp", "TURN-UDP", port)]);
        std::fs::write(data.join("gateway.yaml"), gateway).expect("a manifest");
        std::fs::write(data.join("route.yaml"), route("media", "gw", &[prefix]))
            .expect("a manifest");
    };
    fill("..1", "127.0.0.0/24");
    symlink("..1", folder.file("..data")).expect("a link");
    for name in ["class.yaml", "gateway.yaml", "route.yaml"] {
        symlink(format!("..data/{name}"), folder.file(name)).expect("a link");
    }
    let stunner = Stunner::run(&[folder.path()], &[]);
    fill("..2", "127.0.5.0/24");
    symlink("..2", folder.file("..next")).expect("a link");
    std::fs::rename(folder.file("..next"), folder.file("..data")).expect("a swap");
    stunner.wait_event("changed");
    let mut client = client(port);
    client.allocate().expect("an allocation");
    assert!(client.permit(peer("127.0.5.1:1")).is_ok());
    assert!(client.permit(peer("127.0.0.1:1")).is_err());
}

#[test]
fn a_folder_that_is_gone_for_a_while_takes_nothing_away() {
    let (port, echo) = (free_port(), UdpEcho::start("127.0.0.1:0"));
    let outer = Folder::default();
    let inner = outer.file("manifests");
    std::fs::create_dir(&inner).expect("a folder");
    let write = |prefix: &str| {
        std::fs::write(inner.join("class.yaml"), class()).expect("a manifest");
        let gateway = gateway("gw", &[("udp", "TURN-UDP", port)]);
        std::fs::write(inner.join("gateway.yaml"), gateway).expect("a manifest");
        std::fs::write(inner.join("route.yaml"), route("media", "gw", &[prefix]))
            .expect("a manifest");
    };
    write("127.0.0.0/24");
    let stunner = Stunner::run(&[&inner], &[]);
    let mut client = client(port);
    client.join(0x4000, echo.address());
    std::fs::rename(&inner, outer.file("elsewhere")).expect("away");
    stunner.wait_event("problem");
    assert!(client.echoes(0x4000, b"still here"));
    std::fs::create_dir(&inner).expect("a folder");
    write("127.0.3.0/24");
    assert!(wait_until(PATIENCE, || client
        .permit(peer("127.0.3.1:1"))
        .is_ok()));
}

#[test]
fn a_class_that_is_deleted_leaves_its_gateways_up() {
    let (port, echo) = (free_port(), UdpEcho::start("127.0.0.1:0"));
    let folder = Folder::quickstart(port);
    let stunner = Stunner::run(&[folder.path()], &[]);
    let mut client = client(port);
    client.join(0x4000, echo.address());
    folder.remove("class.yaml");
    stunner.wait_event("changed");
    assert!(client.echoes(0x4000, b"still here"));
    standalone_tests::stunner::client(port).join(0x4001, echo.address());
}

#[test]
fn a_service_is_reached_by_its_external_addresses_or_endpoints() {
    let (port, echo) = (free_port(), UdpEcho::start("127.0.0.1:0"));
    let folder = Folder::quickstart(port);
    let backend = |address: &str| {
        let route = standalone_tests::manifests::route_to("media", "gw", "web");
        let route = route.replace(
            "group: stunner.l7mp.io\n      kind: StaticService\n      ",
            "",
        );
        format!(
            "{route}---\napiVersion: v1\nkind: Service\nmetadata: {{name: web, namespace: default}}\nspec: {{externalIPs: [{address}]}}\n"
        )
    };
    folder.write("route.yaml", &backend("127.0.0.1"));
    let stunner = Stunner::run(&[folder.path()], &[]);
    let mut client = client(port);
    client.join(0x4000, echo.address());
    folder.write(
        "endpoints.yaml",
        "apiVersion: v1\nkind: Endpoints\nmetadata: {name: web, namespace: default}\nsubsets:\n- addresses: [{ip: 127.0.8.8}]\n",
    );
    stunner.wait_event("changed");
    assert!(client.permit(peer("127.0.8.8:1")).is_ok());
    assert!(client.permit(peer("127.0.0.1:1")).is_err());
}

#[test]
fn a_gateway_whose_class_nobody_has_is_told() {
    let folder = Folder::quickstart(free_port());
    let lost = gateway("lost", &[("udp", "TURN-UDP", free_port())]);
    let lost = lost.replace("gatewayClassName: stunner", "gatewayClassName: nobody");
    let stunner = Stunner::run(&[folder.path()], &[]);
    folder.write("lost.yaml", &lost);
    let changed = stunner.wait_event("changed");
    let message = changed["conditions"][0]["message"]
        .as_str()
        .expect("a message");
    assert!(message.contains("`nobody`"), "{message}");
}
