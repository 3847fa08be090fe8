//! Signing what is sent and checking what is received: ed25519 over subject, LF and payload.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, LazyLock, Mutex, PoisonError},
};

use data_encoding::{BASE32_NOPAD, BASE64URL_NOPAD};
use ed25519_dalek::{Signature, VerifyingKey};
use holdpoint_protocol::headers;
use nkeys::KeyPair;

/// Signs with one user's key. Cheap to clone; its `Debug` form shows the public key only.
#[derive(Clone)]
pub struct Signer(Arc<KeyPair>);

impl Signer {
    pub(super) fn new(key: KeyPair) -> Self {
        Self(Arc::new(key))
    }

    /// A new key of a user, with its seed (`SU…`), which is secret.
    #[must_use]
    pub fn generate() -> (Self, String) {
        let key = KeyPair::new_user();
        let seed = key.seed().expect("a new key has its seed");
        (Self::new(key), seed)
    }

    /// The signer of the first seed of a user in a text: a line of its own, as in a file with nothing else and in `.creds`.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        let seeds = text.lines().map(str::trim).filter(|line| line.starts_with("SU"));
        seeds.filter_map(|seed| KeyPair::from_seed(seed).ok()).next().map(Self::new)
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

/// The 32 bytes of a public key (`U…`), as other libraries of ed25519 take them; `None` if it is none.
#[must_use]
pub fn raw_public_key(public_key: &str) -> Option<[u8; 32]> {
    KeyPair::from_public_key(public_key).ok()?;
    // One byte of prefix, the key, two bytes of checksum.
    let bytes = BASE32_NOPAD.decode(public_key.as_bytes()).ok()?;
    bytes.get(1..33)?.try_into().ok()
}

/// What is said to be signed, for [`verify_all`].
pub(crate) struct SignedInput {
    bytes: Vec<u8>,
    signature: Signature,
}

impl SignedInput {
    /// This payload on this subject; `None` where the signature is none in form.
    pub(crate) fn new(subject: &str, payload: &[u8], signature: &str) -> Option<Self> {
        let signature = BASE64URL_NOPAD.decode(signature.as_bytes()).ok()?;
        let signature = Signature::from_slice(&signature).ok()?;
        Some(Self { bytes: headers::signing_input(subject, payload), signature })
    }
}

/// Whether `public_key` made every one of these signatures. It costs less than half of checking each by itself, and does
/// not say which is wrong.
pub(crate) fn verify_all(public_key: &str, inputs: &[SignedInput]) -> bool {
    let key = raw_public_key(public_key).and_then(|raw| VerifyingKey::from_bytes(&raw).ok());
    key.is_some_and(|key| {
        let bytes: Vec<&[u8]> = inputs.iter().map(|input| input.bytes.as_slice()).collect();
        let signatures: Vec<Signature> = inputs.iter().map(|input| input.signature).collect();
        ed25519_dalek::verify_batch(&bytes, &signatures, &vec![key; inputs.len()]).is_ok()
    })
}
