//! Certificates and keys: base64 of PEM, checked as far as it goes without a TLS library.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use crate::model::{Listener, Pem, SecretPem};

use super::Reader;
use super::fields::{Fields, Text};

const DECODER: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

impl Reader<'_> {
    /// Reads `cert` and `key` into a listener whose name and protocol are set.
    pub(super) fn identity(&mut self, fields: &Fields<'_>, listener: &mut Listener) {
        let cert = self.pem(fields, listener, "cert", "CERTIFICATE");
        let key = self.pem(fields, listener, "key", "PRIVATE KEY");
        listener.cert = cert.map(Pem::new);
        listener.key = key.map(SecretPem::new);
    }

    fn pem(
        &mut self,
        fields: &Fields<'_>,
        listener: &Listener,
        key: &str,
        block: &str,
    ) -> Option<String> {
        let judged = listener.protocol.is_secure() && self.options.judge_listeners;
        let what = if key == "cert" {
            "certificate"
        } else {
            "private key"
        };
        let text = fields
            .text(self, key)
            .filter(|text| !text.value.trim().is_empty());
        let Some(text) = text else {
            if judged && !matches!(fields.node(key), Some((node, _)) if !node.is_scalar()) {
                let message = format!("a {} listener needs a {what}", listener.protocol);
                self.error(
                    &fields.place_of(key),
                    message,
                    format!("set `{key}` to the base64 of the PEM file"),
                );
            }
            return None;
        };
        if !listener.protocol.is_secure() {
            let message = format!("a {} listener does not use its {what}", listener.protocol);
            self.warn(
                &text.at,
                message,
                format!("remove `{key}`, or make the protocol TURN-TLS or TURN-DTLS"),
            );
            return decode(&text.value).ok();
        }
        match self.decode(&text, key, what, block) {
            Ok(pem) => Some(pem),
            Err((message, hint)) => {
                if judged {
                    self.error(&text.at, message, hint);
                }
                None
            }
        }
    }

    fn decode(
        &mut self,
        text: &Text,
        key: &str,
        what: &str,
        block: &str,
    ) -> Result<String, (String, String)> {
        let again = format!("set `{key}` to the base64 of the PEM file, as `base64 -w0` prints it");
        let pem = if is_pem(&text.value) {
            let hint = format!("{again}; other programs refuse it otherwise");
            self.warn(
                &text.at,
                format!("the {what} is PEM without base64 around it"),
                hint,
            );
            text.value.clone()
        } else {
            decode(&text.value).map_err(|error| match error {
                DecodeError::NotBase64 => (format!("the {what} is not base64"), again.clone()),
                DecodeError::NotText => (
                    format!("the base64 of the {what} holds no PEM text"),
                    again.clone(),
                ),
            })?
        };
        if !is_pem(&pem) {
            return Err((format!("the base64 of the {what} holds no PEM text"), again));
        }
        if !has_block(&pem, block) {
            let hint = format!(
                "the file must hold a `-----BEGIN {block}-----` part; are `cert` and `key` swapped?"
            );
            return Err((format!("the {what} has no {block} part"), hint));
        }
        Ok(pem)
    }
}

enum DecodeError {
    NotBase64,
    NotText,
}

fn decode(text: &str) -> Result<String, DecodeError> {
    // YAML block scalars break long values into lines.
    let compact: String = text.chars().filter(|c| !c.is_ascii_whitespace()).collect();
    let bytes = DECODER
        .decode(compact)
        .map_err(|_| DecodeError::NotBase64)?;
    String::from_utf8(bytes).map_err(|_| DecodeError::NotText)
}

fn is_pem(text: &str) -> bool {
    text.contains("-----BEGIN ")
}

/// Whether the text has a part of that kind: `PRIVATE KEY` also stands for `EC PRIVATE KEY` and the like.
fn has_block(pem: &str, block: &str) -> bool {
    let label = |line: &str| -> Option<String> {
        Some(
            line.trim()
                .strip_prefix("-----BEGIN ")?
                .strip_suffix("-----")?
                .to_owned(),
        )
    };
    pem.lines()
        .filter_map(label)
        .any(|label| label.ends_with(block))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_found_by_their_label() {
        assert!(has_block(
            "x\n-----BEGIN EC PRIVATE KEY-----\n",
            "PRIVATE KEY"
        ));
        assert!(has_block(
            "-----BEGIN CERTIFICATE-----\r\nabc",
            "CERTIFICATE"
        ));
        assert!(!has_block(
            "-----BEGIN CERTIFICATE REQUEST-----\n",
            "CERTIFICATE"
        ));
        assert!(!has_block("-----BEGIN PUBLIC KEY-----\n", "PRIVATE KEY"));
    }
}
