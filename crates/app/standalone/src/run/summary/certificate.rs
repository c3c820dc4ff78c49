//! Whether clients that check certificates could take one.

use openssl::error::ErrorStack;
use openssl::stack::Stack;
use openssl::x509::store::X509StoreBuilder;
use openssl::x509::verify::{X509VerifyFlags, X509VerifyParam};
use openssl::x509::{X509, X509StoreContext, X509VerifyResult};

/// Whether the first certificate of a chain has signed itself, or is made out to others than this host. What else may
/// be wrong with it, such as an issuer that the client does not know, is not for this host to see.
pub(super) fn is_for_trials_only(chain: &[u8], host: &str) -> bool {
    let chain = X509::stack_from_pem(chain).unwrap_or_default();
    let Some(leaf) = chain.first() else {
        return false;
    };
    let is_self_signed = leaf.issued(leaf) == X509VerifyResult::OK;
    is_self_signed || !is_made_out_to(leaf, host).unwrap_or(true)
}

/// By OpenSSL's own rules (RFC 6125 §6.4): the certificate itself is trusted, so that only its names are looked at.
fn is_made_out_to(leaf: &X509, host: &str) -> Result<bool, ErrorStack> {
    let mut wanted = X509VerifyParam::new()?;
    wanted.set_flags(X509VerifyFlags::PARTIAL_CHAIN | X509VerifyFlags::NO_CHECK_TIME)?;
    match host.parse() {
        Ok(address) => wanted.set_ip(address)?,
        Err(_) => wanted.set_host(host)?,
    }
    let mut trusted = X509StoreBuilder::new()?;
    trusted.add_cert(leaf.clone())?;
    trusted.set_param(&wanted)?;
    let mut context = X509StoreContext::new()?;
    context.init(&trusted.build(), leaf, &*Stack::new()?, |context| {
        context.verify_cert()
    })
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use openssl::asn1::Asn1Time;
    use openssl::bn::BigNum;
    use openssl::ec::{EcGroup, EcKey};
    use openssl::hash::MessageDigest;
    use openssl::nid::Nid;
    use openssl::pkey::{PKey, Private};
    use openssl::x509::extension::{BasicConstraints, SubjectAlternativeName};
    use openssl::x509::{X509Builder, X509Name, X509NameBuilder};

    use super::*;

    fn key() -> PKey<Private> {
        let group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1).unwrap();
        PKey::from_ec_key(EcKey::generate(&group).unwrap()).unwrap()
    }

    fn name(text: &str) -> X509Name {
        let mut name = X509NameBuilder::new().unwrap();
        name.append_entry_by_text("CN", text).unwrap();
        name.build()
    }

    /// A certificate for `subject`, signed by somebody else or by itself.
    fn certificate(subject: &str, issuer: &str) -> Vec<u8> {
        let own = key();
        let mut builder = X509Builder::new().unwrap();
        builder.set_version(2).unwrap();
        let serial = BigNum::from_u32(1).unwrap().to_asn1_integer().unwrap();
        builder.set_serial_number(&serial).unwrap();
        builder.set_subject_name(&name(subject)).unwrap();
        builder.set_issuer_name(&name(issuer)).unwrap();
        let (begin, end) = (Asn1Time::from_unix(0), Asn1Time::days_from_now(1));
        builder.set_not_before(&begin.unwrap()).unwrap();
        builder.set_not_after(&end.unwrap()).unwrap();
        builder.set_pubkey(&own).unwrap();
        let basic = BasicConstraints::new().critical().build().unwrap();
        builder.append_extension(basic).unwrap();
        let mut names = SubjectAlternativeName::new();
        match subject.parse::<IpAddr>() {
            Ok(_) => names.ip(subject),
            Err(_) => names.dns(subject),
        };
        let context = builder.x509v3_context(None, None);
        let names = names.build(&context).unwrap();
        builder.append_extension(names).unwrap();
        let signer = if subject == issuer { own } else { key() };
        builder.sign(&signer, MessageDigest::sha256()).unwrap();
        builder.build().to_pem().unwrap()
    }

    #[test]
    fn a_certificate_of_somebody_elses_for_this_host_will_do() {
        for (subject, host) in [
            ("turn.example.test", "turn.example.test"),
            ("*.example.test", "turn.example.test"),
            ("192.0.2.1", "192.0.2.1"),
            ("2001:db8::1", "2001:db8::1"),
        ] {
            let chain = certificate(subject, "An Authority");
            assert!(!is_for_trials_only(&chain, host), "{subject} {host}");
        }
    }

    #[test]
    fn a_self_signed_one_or_one_for_another_host_is_refused() {
        for (subject, issuer, host) in [
            (
                "turn.example.test",
                "turn.example.test",
                "turn.example.test",
            ),
            ("turn.example.test", "An Authority", "other.example.test"),
            ("turn.example.test", "An Authority", "192.0.2.1"),
            ("192.0.2.1", "An Authority", "192.0.2.2"),
        ] {
            let chain = certificate(subject, issuer);
            assert!(
                is_for_trials_only(&chain, host),
                "{subject} {issuer} {host}"
            );
        }
    }
}
