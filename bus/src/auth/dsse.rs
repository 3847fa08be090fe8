//! Signing statements for people outside: DSSE envelopes (`https://github.com/secure-systems-lab/dsse`), ed25519.

use data_encoding::BASE64;
use holdpoint_protocol::attestation::{Envelope, EnvelopeSignature, pae};
use nkeys::KeyPair;

use super::signer::Signer;

/// Why an envelope does not hold what it says.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EnvelopeError {
    /// The payload is not base64.
    #[error("the payload is not base64")]
    Payload,
    /// No signature is by this key over this payload and type.
    #[error("no signature is by {key} over this payload and its type")]
    Signature {
        /// The key that was to have signed.
        key: String,
    },
}

impl Signer {
    /// Signs a statement. The signed bytes begin with `DSSEv1` and the type, and the signed bytes of a message with its
    /// subject: neither can be taken for the other.
    #[must_use]
    pub fn envelope(&self, payload_type: &str, payload: &[u8]) -> Envelope {
        let signature = self.sign_raw(&pae(payload_type, payload));
        Envelope {
            payload_type: payload_type.to_owned(),
            payload: BASE64.encode(payload),
            signatures: vec![EnvelopeSignature { keyid: self.public_key(), sig: BASE64.encode(&signature) }],
        }
    }
}

/// The payload of an envelope that `public_key` (`U…`) signed.
///
/// # Errors
/// [`EnvelopeError`].
pub fn open_envelope(envelope: &Envelope, public_key: &str) -> Result<Vec<u8>, EnvelopeError> {
    let payload = BASE64.decode(envelope.payload.as_bytes()).map_err(|_| EnvelopeError::Payload)?;
    let signed = pae(&envelope.payload_type, &payload);
    let key = KeyPair::from_public_key(public_key);
    let good = |one: &EnvelopeSignature| {
        let signature = BASE64.decode(one.sig.as_bytes()).ok();
        let key = key.as_ref().ok();
        key.zip(signature).is_some_and(|(key, signature)| key.verify(&signed, &signature).is_ok())
    };
    if envelope.signatures.iter().any(good) {
        return Ok(payload);
    }
    Err(EnvelopeError::Signature { key: public_key.to_owned() })
}
