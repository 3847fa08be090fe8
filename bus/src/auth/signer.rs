//! Signing what is sent and checking what is received: ed25519 over subject, LF and payload.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, LazyLock, Mutex, PoisonError},
};

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

/// Keys that are kept decoded: far more than a fleet has.
const DECODED_MAX: usize = 4_096;

/// Public keys in the form that checks need: decoding one costs a fifth of a check.
static DECODED: LazyLock<Mutex<HashMap<String, Arc<KeyPair>>>> = LazyLock::new(Mutex::default);

/// A public key, decoded; `None` if it is none.
fn decoded(public_key: &str) -> Option<Arc<KeyPair>> {
    let all = || DECODED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(key) = all().get(public_key) {
        return Some(key.clone());
    }
    let key = Arc::new(KeyPair::from_public_key(public_key).ok()?);
    let mut all = all();
    if all.len() >= DECODED_MAX {
        all.clear();
    }
    all.insert(public_key.to_owned(), key.clone());
    Some(key)
}

/// Whether `signature` (unpadded base64url) was made by `public_key` over these bytes on this subject.
#[must_use]
pub fn verify_signature(public_key: &str, subject: &str, payload: &[u8], signature: &str) -> bool {
    let Ok(signature) = BASE64URL_NOPAD.decode(signature.as_bytes()) else { return false };
    decoded(public_key).is_some_and(|key| key.verify(&headers::signing_input(subject, payload), &signature).is_ok())
}
