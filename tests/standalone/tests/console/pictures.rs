//! The pictures of the README: a folder with a bit of everything, live traffic, a refused client and one route that
//! leads nowhere.
//!
//! `UPDATE_PICTURES=1 cargo test -p standalone-tests --test console pictures` writes them to `docs/`; otherwise they
//! go to the artefacts, and those in `docs/` only have to be there and small.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use interop_tests::browser::Browser;
use interop_tests::browser::page::Scheme;
use interop_tests::client::{Credentials, TurnClient};
use interop_tests::config::Transport;
use interop_tests::echo::UdpEcho;
use interop_tests::netns::Link;
use interop_tests::pki::TestCa;
use interop_tests::process::run;
use interop_tests::{browser, need};
use standalone_tests::binary::root;
use standalone_tests::manifests::{Folder, PASSWORD, USER, class};
use standalone_tests::stunner::Stunner;

use crate::visit::{certificate, keep, node_is, open};

/// Addresses for documentation (RFC 5737): the gateway's and a client's.
const GATEWAY: &str = "203.0.113.10";
const CLIENT: &str = "198.51.100.23";
const MEDIA: [&str; 2] = ["10.0.12.4", "10.0.12.5"];
const CONSOLE: &str = "127.0.0.1:8090";
const LARGEST: usize = 150 << 10;

const MANIFESTS: &str = include_str!("pictures.yaml");

#[test]
fn pictures_of_a_busy_gateway() {
    let link = need!(
        "pictures_of_a_busy_gateway",
        browser::programs().and_then(|()| Link::create())
    );
    let folder = Folder::default();
    let ca = TestCa::new();
    folder.write("class.yaml", &class());
    folder.write(
        "certificate.yaml",
        &certificate(&ca.ecdsa("turn.example.test")),
    );
    folder.write("manifests.yaml", MANIFESTS);
    link.on_server(|| {
        ip(&["address", "add", GATEWAY, "dev", "lo"]);
        let _stunner = Stunner::run(
            &[folder.path()],
            &["--address", GATEWAY, "--console-address", CONSOLE],
        );
        let browser = Browser::start_without_ca();
        open(&browser, CONSOLE);
        link.on_client(|| {
            let clients = Clients::start(&ca);
            link.on_server(|| watch(&browser));
            drop(clients);
        });
    });
    for scheme in [Scheme::Light, Scheme::Dark] {
        let file = root().join(format!("docs/console-{}.png", scheme.name()));
        let size = file.metadata().map_or(0, |file| file.len());
        assert!(
            (10_000..LARGEST as u64).contains(&size),
            "{} has {size} bytes",
            file.display()
        );
    }
}

fn watch(browser: &Browser) {
    browser.wait(&node_is("listener", "default/turn/udp", "ok"));
    browser.wait(&node_is("listener", "default/turn/tls", "ok"));
    browser.wait(&node_is("backend", "Service/media/media-server", "ok"));
    browser.wait(&node_is("backend", "Service/default/recorder", "bad"));
    browser.wait("document.querySelector('#stat-denials strong').innerText === '1'");
    browser.wait("document.querySelector('#stat-allocations strong').innerText === '3'");
    browser.wait("document.querySelector('#stat-traffic strong').innerText.includes('kbit')");
    if updating() {
        // Long enough for the plots to have a shape.
        std::thread::sleep(Duration::from_secs(110));
    }
    for scheme in [Scheme::Light, Scheme::Dark] {
        browser.prefer(scheme);
        browser.wait("document.getAnimations().length === 0");
        for tab in ["traffic", "denials", "allocations", "overview"] {
            browser.click(&format!("#tab-{tab}"));
            let height = browser.value("document.body.scrollHeight");
            let height = u32::try_from(height.as_u64().unwrap_or(800)).unwrap_or(800);
            browser.resize(1400, height.clamp(500, 1000));
            if tab == "allocations" {
                // A bound channel and its permission are one peer.
                let peers = "[...document.querySelectorAll('#allocations tbody tr')].map(row => row.cells[4].innerText)";
                browser.wait(&format!("{peers}.join() === '1,1,1'"));
            }
            keep(browser, &format!("busy-{tab}-{}", scheme.name()));
        }
        if updating() {
            write(
                browser,
                &root().join(format!("docs/console-{}.png", scheme.name())),
            );
        }
    }
}

fn updating() -> bool {
    std::env::var_os("UPDATE_PICTURES").is_some()
}

fn write(browser: &Browser, file: &Path) {
    let picture = browser.screenshot();
    assert!(
        picture.len() < LARGEST,
        "{} bytes are too many",
        picture.len()
    );
    std::fs::write(file, picture).expect("write a picture");
}

/// `ip` in the namespace of this thread.
fn ip(arguments: &[&str]) {
    let mut command = Command::new("ip");
    command.args(arguments);
    run("ip", command, Duration::from_secs(10)).expect_success("ip");
}

/// Three clients that talk to the media servers until they are dropped, and one of them that asked for too much.
struct Clients {
    stop: std::sync::mpsc::Sender<()>,
    thread: Option<std::thread::JoinHandle<()>>,
    _echoes: Vec<UdpEcho>,
}

impl Clients {
    fn start(ca: &TestCa) -> Self {
        ip(&["address", "add", CLIENT, "dev", "lo"]);
        ip(&[
            "route",
            "replace",
            "default",
            "via",
            interop_tests::netns::SERVER,
            "src",
            CLIENT,
        ]);
        for address in MEDIA {
            ip(&["address", "add", address, "dev", "lo"]);
        }
        let echoes: Vec<UdpEcho> = MEDIA
            .iter()
            .map(|address| UdpEcho::start(&format!("{address}:5004")))
            .collect();
        let mut clients = Vec::new();
        for (index, (transport, port)) in [
            (Transport::Udp, 3478),
            (Transport::Udp, 3478),
            (Transport::Tls, 443),
        ]
        .into_iter()
        .enumerate()
        {
            let server = SocketAddr::new(GATEWAY.parse().expect("an address"), port);
            let mut client = TurnClient::connect(transport, server, ca.root_pem())
                .with_credentials(Credentials::new(USER, PASSWORD))
                .without_repeats();
            client.join(0x4000, echoes[index % echoes.len()].address());
            clients.push(client);
        }
        let refused = clients[0].bind(0x4001, "10.0.12.7:5000".parse().expect("an address"));
        assert!(refused.is_err());
        let (stop, stopped) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || talk(&mut clients, &stopped));
        Self {
            stop,
            thread: Some(thread),
            _echoes: echoes,
        }
    }
}

/// Packets of media, more and less of them.
fn talk(clients: &mut [TurnClient], stopped: &std::sync::mpsc::Receiver<()>) {
    let mut tick = 0u32;
    while stopped.recv_timeout(Duration::from_millis(20))
        == Err(std::sync::mpsc::RecvTimeoutError::Timeout)
    {
        tick += 1;
        for (index, client) in clients.iter_mut().enumerate() {
            let wave = (f64::from(tick) / 90.0 + index as f64 * 1.7).sin() + 1.4;
            let size = (wave * 420.0) as usize / (index + 1);
            let _ = client.send_channel(0x4000, &vec![0x80; size.clamp(60, 1_100)]);
            while matches!(client.poll(), Ok(Some(_))) {}
        }
    }
}

impl Drop for Clients {
    fn drop(&mut self) {
        let _ = self.stop.send(());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
