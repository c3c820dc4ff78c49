//! Certificates and keys: those of the API server, and those that tests put into Secrets.

use std::path::Path;

use interop_tests::pki::{Identity, TestCa};
use rcgen::KeyPair;

/// Tokens in the form of kube-apiserver's `--token-auth-file`, `token,user,uid,"groups"`.
pub const TOKENS: &str = "\
admin-token,admin,admin,\"system:masters\"
operator-token,operator,operator,\"system:masters\"
installed-token,system:serviceaccount:stunner-system:stunner-gateway-operator-controller-manager,installed,\
\"system:serviceaccounts,system:serviceaccounts:stunner-system,system:authenticated\"
";

/// Writes what the API server needs: `ca.pem`, `server.crt`, `server.key`, `service-account.key`, `tokens.csv`.
pub fn write_all(dir: &Path) {
    let ca = TestCa::new();
    ca.write_root(dir);
    ca.ecdsa("kube-apiserver").write(dir, "server");
    let signing_key = KeyPair::generate().expect("service account key");
    write(dir, "service-account.key", &signing_key.serialize_pem());
    write(dir, "service-account.pub", &signing_key.public_key_pem());
    write(dir, "tokens.csv", TOKENS);
}

pub fn write(dir: &Path, name: &str, text: &str) {
    std::fs::write(dir.join(name), text).unwrap_or_else(|error| panic!("write {name}: {error}"));
}

/// A new certificate with its key, as a TLS Secret carries them. Ours are checked for being PEM that belongs together.
pub fn certificate(common_name: &str) -> Identity {
    TestCa::new().ecdsa(common_name)
}
