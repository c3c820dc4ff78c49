//! The certificates that this system trusts.

use std::path::Path;

use openssl::ssl::SslConnectorBuilder;
use openssl::x509::X509;

use crate::ClientError;

/// Where distributions keep them. An OpenSSL that is built into the program looks in its own folder only.
const BUNDLES: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// Completes what OpenSSL has loaded by itself: its own defaults, or what `SSL_CERT_FILE` and `SSL_CERT_DIR` name.
pub(super) fn trust_system(builder: &mut SslConnectorBuilder) -> Result<(), ClientError> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    if let Some(path) = set("SSL_CERT_FILE") {
        // OpenSSL passes over a file that it cannot read, and then trusts nobody.
        let path = Path::new(&path);
        let folder = set("SSL_CERT_DIR").is_some();
        return has_certificates(path, folder).map_err(|why| ClientError::Roots {
            path: path.to_owned(),
            why,
        });
    }
    if set("SSL_CERT_DIR").is_some() || has_defaults(openssl::version::dir()) {
        return Ok(());
    }
    let Some(bundle) = BUNDLES
        .iter()
        .map(Path::new)
        .find(|bundle| bundle.is_file())
    else {
        return Ok(());
    };
    builder
        .set_ca_file(bundle)
        .map_err(|error| ClientError::Roots {
            path: bundle.to_owned(),
            why: error.to_string(),
        })
}

/// Why nobody can be trusted with this file, if so. Where a folder is named too, an empty one may be meant.
fn has_certificates(path: &Path, folder: bool) -> Result<(), String> {
    let text = std::fs::read(path).map_err(|error| error.to_string())?;
    if folder && text.is_empty() {
        return Ok(());
    }
    match X509::stack_from_pem(&text) {
        Ok(found) if found.is_empty() => Err("it holds no certificate in PEM".to_owned()),
        Ok(_) => Ok(()),
        Err(_) => Err("a certificate in it is damaged".to_owned()),
    }
}

/// Whether OpenSSL's own folder, told as `OPENSSLDIR: "/usr/lib/ssl"`, has certificates.
fn has_defaults(told: &str) -> bool {
    let Some(folder) = told.split('"').nth(1).map(Path::new) else {
        return false;
    };
    let some_in = |folder: &Path| {
        folder
            .read_dir()
            .is_ok_and(|mut entries| entries.next().is_some())
    };
    folder.join("cert.pem").is_file() || some_in(&folder.join("certs"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_folder_makes_up_for_an_empty_file() {
        let nothing = Path::new("/dev/null");
        assert_eq!(has_certificates(nothing, true), Ok(()));
        assert!(has_certificates(nothing, false).is_err());
    }

    #[test]
    fn an_openssl_without_a_folder_of_its_own_has_no_defaults() {
        assert!(!has_defaults("OPENSSLDIR: \"/no/such/folder\""));
        assert!(!has_defaults("OPENSSLDIR: N/A"));
    }
}
