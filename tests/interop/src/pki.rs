//! A throw-away certificate authority and server certificates for the tests.

use std::path::{Path, PathBuf};
use std::process::Command;

use base64::Engine as _;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};

/// PEM texts of one server certificate with its chain, and of its key.
#[derive(Debug, Clone)]
pub struct Identity {
    pub chain_pem: String,
    pub key_pem: String,
}

impl Identity {
    /// As the configuration carries them: base64 of PEM.
    pub fn cert_base64(&self) -> String {
        base64::engine::general_purpose::STANDARD.encode(&self.chain_pem)
    }

    pub fn key_base64(&self) -> String {
        base64::engine::general_purpose::STANDARD.encode(&self.key_pem)
    }

    pub fn write(&self, dir: &Path, name: &str) -> (PathBuf, PathBuf) {
        let (cert, key) = (
            dir.join(format!("{name}.crt")),
            dir.join(format!("{name}.key")),
        );
        std::fs::write(&cert, &self.chain_pem).expect("write certificate");
        std::fs::write(&key, &self.key_pem).expect("write key");
        (cert, key)
    }
}

/// A root that signs through an intermediate, so that every handshake in the tests carries a chain.
#[derive(Debug)]
pub struct TestCa {
    root_pem: String,
    intermediate_pem: String,
    intermediate: Issuer<'static, KeyPair>,
}

const DAY: std::time::Duration = std::time::Duration::from_secs(86_400);
const NAMES: [&str; 3] = ["localhost", "turn.example.test", "stunner.test"];
const ADDRESSES: [&str; 4] = ["127.0.0.1", "127.0.0.2", "::1", "10.123.0.1"];

impl TestCa {
    pub fn new() -> Self {
        let root_key = KeyPair::generate().expect("root key");
        let root_params = ca_params("stunner test root");
        let root_pem = root_params
            .self_signed(&root_key)
            .expect("root certificate")
            .pem();
        let root = Issuer::new(root_params, root_key);

        let key = KeyPair::generate().expect("intermediate key");
        let params = ca_params("stunner test intermediate");
        let intermediate_pem = params
            .signed_by(&key, &root)
            .expect("intermediate certificate")
            .pem();
        let intermediate = Issuer::new(params, key);
        Self {
            root_pem,
            intermediate_pem,
            intermediate,
        }
    }

    /// The root certificate that clients trust.
    pub fn root_pem(&self) -> &str {
        &self.root_pem
    }

    pub fn write_root(&self, dir: &Path) -> PathBuf {
        let file = dir.join("ca.pem");
        std::fs::write(&file, &self.root_pem).expect("write CA");
        file
    }

    /// A P-256 certificate. `common_name` tells one certificate from the next in rotation tests.
    pub fn ecdsa(&self, common_name: &str) -> Identity {
        self.sign(common_name, KeyPair::generate().expect("ECDSA key"))
    }

    /// An RSA-2048 certificate; the key comes from the `openssl` program, as rcgen's ring back end
    /// generates none.
    pub fn rsa(&self, common_name: &str) -> Identity {
        let out = Command::new("openssl")
            .args([
                "genpkey",
                "-algorithm",
                "RSA",
                "-pkeyopt",
                "rsa_keygen_bits:2048",
            ])
            .output()
            .expect("openssl genpkey");
        assert!(
            out.status.success(),
            "openssl genpkey: {}",
            String::from_utf8_lossy(&out.stderr)
        );
        let pem = String::from_utf8(out.stdout).expect("PEM is text");
        self.sign(common_name, KeyPair::from_pem(&pem).expect("RSA key"))
    }

    /// A P-256 certificate whose time was over yesterday.
    pub fn expired(&self, common_name: &str) -> Identity {
        let key = KeyPair::generate().expect("ECDSA key");
        self.sign_with(common_name, key, |params| {
            params.not_after = (std::time::SystemTime::now() - DAY).into();
        })
    }

    fn sign(&self, common_name: &str, key: KeyPair) -> Identity {
        self.sign_with(common_name, key, |_| {})
    }

    fn sign_with(
        &self,
        common_name: &str,
        key: KeyPair,
        change: impl FnOnce(&mut CertificateParams),
    ) -> Identity {
        let names = NAMES
            .iter()
            .chain(&ADDRESSES)
            .map(|name| (*name).to_owned())
            .collect::<Vec<_>>();
        let mut params = CertificateParams::new(names).expect("certificate names");
        params
            .distinguished_name
            .push(DnType::CommonName, common_name);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.key_usages = vec![
            KeyUsagePurpose::DigitalSignature,
            KeyUsagePurpose::KeyEncipherment,
        ];
        params.use_authority_key_identifier_extension = true;
        valid_for_a_year(&mut params);
        change(&mut params);
        let leaf = params
            .signed_by(&key, &self.intermediate)
            .expect("leaf certificate");
        Identity {
            chain_pem: format!("{}{}", leaf.pem(), self.intermediate_pem),
            key_pem: key.serialize_pem(),
        }
    }
}

impl Default for TestCa {
    fn default() -> Self {
        Self::new()
    }
}

fn ca_params(common_name: &str) -> CertificateParams {
    let mut params = CertificateParams::new(Vec::<String>::new()).expect("CA parameters");
    params
        .distinguished_name
        .push(DnType::CommonName, common_name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    valid_for_a_year(&mut params);
    params
}

/// Browsers refuse leaf certificates that live longer than 398 days, so rcgen's default of 2,000 years
/// does not do.
fn valid_for_a_year(params: &mut CertificateParams) {
    let now = std::time::SystemTime::now();
    params.not_before = (now - 2 * DAY).into();
    params.not_after = (now + 300 * DAY).into();
}
