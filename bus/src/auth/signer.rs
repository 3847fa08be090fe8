//! Signing what is sent and checking what is received: ed25519 over subject, LF and payload.

use std::{fmt, sync::Arc};

use data_encoding::BASE64URL_NOPAD;
use holdpoint_protocol::headers;
use nkeys::KeyPair;

/// Signs with one user's key. Cheap to clone; its `Debug` form shows the public key only.
#[derive(Clone)]
pub struct Signer(Arc<KeyPair>);

impl Signer {
    pub(super) fn new(key: KeyPair) -> Self {
        Self(Arc::new(key))
    }

    /// The key that verifies what this signs, in the ecosystem's text form (`U…`).
    #[must_use]
    pub fn public_key(&self) -> String {
        self.0.public_key()
    }

    /// The value of `Hp-Signature` for these payload bytes on this subject: unpadded base64url.
    #[must_use]
    pub fn sign(&self, subject: &str, payload: &[u8]) -> String {
        BASE64URL_NOPAD.encode(&self.sign_raw(&headers::signing_input(subject, payload)))
    }

    /// Signs bytes as they are: what the broker asks for at connect.
    pub(crate) fn sign_raw(&self, bytes: &[u8]) -> Vec<u8> {
        self.0.sign(bytes).expect("a signer is made with its seed")
    }
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Signer").field(&self.public_key()).finish()
    }
}

/// Whether `signature` (unpadded base64url) was made by `public_key` over these bytes on this subject.
#[must_use]
pub fn verify_signature(public_key: &str, subject: &str, payload: &[u8], signature: &str) -> bool {
    let Ok(signature) = BASE64URL_NOPAD.decode(signature.as_bytes()) else { return false };
    KeyPair::from_public_key(public_key)
        .is_ok_and(|key| key.verify(&headers::signing_input(subject, payload), &signature).is_ok())
}
