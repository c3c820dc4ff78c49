//! Certificates that are fine, and those that are not.

use std::time::SystemTime;

use stunner_client::{
    AllocateOptions, CertificateFault, ClientError, Connect, Relay, Roots, ServerTransport,
    inspect_certificate,
};

use crate::world::{Certificate, Gateway, NAME, patiently};

const SECURE: [ServerTransport; 2] = [ServerTransport::Tls, ServerTransport::Dtls];

async fn fault(connect: &Connect) -> CertificateFault {
    let allocated = patiently(Relay::allocate(connect.clone(), AllocateOptions::default())).await;
    let error = allocated.unwrap_err();
    let seen = patiently(inspect_certificate(connect.clone()))
        .await
        .unwrap();
    let ClientError::Certificate { fault, .. } = &error else {
        panic!("{error}")
    };
    assert_eq!(
        seen.verdict,
        Err(fault.clone()),
        "the inspection sees the same"
    );
    assert_eq!(error.hint(), fault.hint());
    let mut insecure = connect.clone();
    insecure.tls.insecure = true;
    patiently(Relay::allocate(insecure, AllocateOptions::default()))
        .await
        .expect("taken when asked to");
    fault.clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_good_certificate_is_shown_with_its_chain() {
    let gateway = Gateway::start().await;
    for transport in SECURE {
        let seen = inspect_certificate(gateway.connect(transport))
            .await
            .unwrap();
        assert_eq!(seen.verdict, Ok(()), "{transport}");
        assert!(seen.faults.is_empty());
        let leaf = &seen.chain[0];
        assert_eq!(leaf.names, [NAME, "192.0.2.7"]);
        assert!(leaf.subject.contains("CN=gateway"), "{}", leaf.subject);
        assert!(leaf.issuer.contains("CN=test root"), "{}", leaf.issuer);
        assert!(leaf.not_before < SystemTime::now() && leaf.not_after > SystemTime::now());
        let expected = if transport == ServerTransport::Tls {
            "TLSv1.3"
        } else {
            "DTLSv1.2"
        };
        assert_eq!(seen.protocol, expected);
    }
}

/// RFC 6066 §3: names in SNI have no dot at the end, nor do those in certificates.
#[tokio::test(flavor = "multi_thread")]
async fn a_name_with_a_dot_at_its_end_is_the_same_name() {
    let gateway = Gateway::start().await;
    for transport in SECURE {
        let mut connect = gateway.connect(transport);
        connect.tls.sni = Some(format!("{NAME}."));
        let seen = inspect_certificate(connect).await.unwrap();
        assert_eq!(seen.verdict, Ok(()), "{transport}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expired_certificate_is_named_as_such() {
    let gateway = Gateway::showing(Certificate::Expired).await;
    for transport in SECURE {
        let fault = fault(&gateway.connect(transport)).await;
        let CertificateFault::Expired { since, .. } = &fault else {
            panic!("{fault}")
        };
        assert!(since.contains("2020"), "{since}");
        assert!(fault.hint().contains("renew"), "{}", fault.hint());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_of_the_future_is_named_as_such() {
    let gateway = Gateway::showing(Certificate::NotYetValid).await;
    for transport in SECURE {
        let fault = fault(&gateway.connect(transport)).await;
        assert!(
            matches!(fault, CertificateFault::NotYetValid { .. }),
            "{fault}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_name_is_told_with_the_right_ones() {
    let gateway = Gateway::start().await;
    for transport in SECURE {
        let mut connect = gateway.connect(transport);
        connect.tls.sni = Some("other.example.test".to_owned());
        let wrong = fault(&connect).await;
        assert_eq!(
            wrong.to_string(),
            format!("it is not made out to `other.example.test` but to `{NAME}`, `192.0.2.7`")
        );
        assert!(wrong.hint().contains("--sni"), "{}", wrong.hint());
        // Without a name the address must be in the certificate.
        connect.tls.sni = None;
        let wrong = fault(&connect).await;
        assert!(
            matches!(&wrong, CertificateFault::WrongName { expected, .. } if expected == "127.0.0.1"),
            "{wrong}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_self_signed_certificate_and_an_unknown_issuer_are_told_apart() {
    let gateway = Gateway::showing(Certificate::SelfSigned).await;
    for transport in SECURE {
        let fault = fault(&gateway.connect(transport)).await;
        assert_eq!(fault, CertificateFault::SelfSigned);
        assert!(fault.hint().contains("SSL_CERT_FILE"), "{}", fault.hint());
    }
    let gateway = Gateway::start().await;
    for transport in SECURE {
        let mut connect = gateway.connect(transport);
        connect.tls.roots = Roots::System;
        let fault = fault(&connect).await;
        assert!(
            matches!(&fault, CertificateFault::UnknownIssuer { issuer } if issuer.contains("test root")),
            "{fault}"
        );
    }
}

/// The environment belongs to the process, so this runs the test below in one of its own.
#[tokio::test(flavor = "multi_thread")]
async fn the_file_of_ssl_cert_file_is_trusted_and_one_that_says_nothing_is_named() {
    let gateway = Gateway::start().await;
    let folder = std::env::temp_dir().join(format!("stunner-client-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let roots = folder.join("roots.pem");
    std::fs::write(&roots, gateway.root_pem()).unwrap();
    for transport in SECURE {
        let server = gateway.connect(transport).server.to_string();
        let outcome = async |file: &std::path::Path| {
            let mut command = tokio::process::Command::new(std::env::current_exe().unwrap());
            command.args([
                "--ignored",
                "--exact",
                "certificates::trusts_the_environment",
            ]);
            command
                .env("SSL_CERT_FILE", file)
                .env("TEST_SERVER", &server)
                .env("TEST_TRANSPORT", transport.to_string());
            let output = command.output().await.unwrap();
            (
                output.status.success(),
                String::from_utf8_lossy(&output.stdout).into_owned(),
            )
        };
        let (success, text) = outcome(&roots).await;
        assert!(success, "{text}");
        let (success, text) = outcome(&folder.join("missing.pem")).await;
        assert!(!success && text.contains("missing.pem"), "{text}");
        let empty = folder.join("empty.pem");
        std::fs::write(&empty, "# none yet\n").unwrap();
        let (success, text) = outcome(&empty).await;
        assert!(
            !success && text.contains("empty.pem`: it holds no certificate"),
            "{text}"
        );
        let damaged = folder.join("damaged.pem");
        std::fs::write(&damaged, gateway.root_pem().replacen('M', "!", 1)).unwrap();
        let (success, text) = outcome(&damaged).await;
        assert!(!success && text.contains("damaged.pem`: "), "{text}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[tokio::test]
#[ignore = "run by the test above"]
async fn trusts_the_environment() {
    let server = std::env::var("TEST_SERVER").unwrap().parse().unwrap();
    let transport = match std::env::var("TEST_TRANSPORT").unwrap().as_str() {
        "TLS" => ServerTransport::Tls,
        _ => ServerTransport::Dtls,
    };
    let mut connect = Connect::new(server, transport);
    connect.tls.sni = Some(NAME.to_owned());
    if let Err(error) = stunner_client::binding(connect).await {
        panic!("{error}");
    }
}
