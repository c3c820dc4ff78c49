//! The certificate of a server that was started with nothing but a `turns:` URI.

use stunner_config::{Pem, SecretPem};

/// Makes a self-signed certificate for `host`, good for ten years.
pub fn self_signed(host: &str) -> Result<(Pem, SecretPem), rcgen::Error> {
    let names = vec![
        host.trim_matches(['[', ']']).to_owned(),
        "localhost".to_owned(),
    ];
    let mut params = rcgen::CertificateParams::new(names)?;
    params
        .distinguished_name
        .push(rcgen::DnType::CommonName, "stunnerd");
    params.not_after = params.not_before + std::time::Duration::from_secs(3650 * 86_400);
    let key = rcgen::KeyPair::generate()?;
    let certificate = params.self_signed(&key)?;
    Ok((
        Pem::new(certificate.pem()),
        SecretPem::new(key.serialize_pem()),
    ))
}
