use interop_tests::client::{Link, TurnClient};
use interop_tests::config::Transport;
use interop_tests::netns::SERVER;

use crate::stage::{address, folder, play, session};

/// The certificate in the Secret.
fn certificate() -> String {
    let secret = std::fs::read_to_string(folder("tls-443").join("certificate.yaml"));
    let secret = secret.expect("certificate.yaml");
    let lines = secret.lines().map(str::trim);
    let lines = lines.skip_while(|line| !line.contains("BEGIN CERTIFICATE"));
    let lines = lines.take_while(|line| !line.starts_with("tls.key"));
    lines.map(|line| format!("{line}\n")).collect()
}

#[test]
fn tls_443_relays_over_tls_with_the_certificate_of_the_secret() {
    let test = "tls_443_relays_over_tls_with_the_certificate_of_the_secret";
    play(test, "tls-443", &[], |play| {
        let (urls, credentials) = play.ice();
        assert_eq!(urls, [format!("turns:{SERVER}:443?transport=tcp")]);
        let server = address(SERVER, 443);
        let link = || {
            let connect = || Link::connect(Transport::Tls, server, &certificate());
            play.link.on_client(connect)
        };
        let client = TurnClient::new(link().expect("a trusted server"));
        session(client.with_credentials(credentials), play.peer())
    });
}
