//! The ecosystem's JWTs: written and taken apart. What the claims mean is decided elsewhere.

use data_encoding::{BASE32_NOPAD, BASE64URL_NOPAD};
use nkeys::KeyPair;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha512_256};

/// The header of every JWT of version 2.
const HEADER: &str = r#"{"typ":"JWT","alg":"ed25519-nkey"}"#;
/// The version of the claims that the servers we accept read.
pub(super) const VERSION: u8 = 2;

/// What all kinds of claims share; `N` is what is in `nats`.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Claims<N> {
    #[serde(default)]
    jti: String,
    /// Seconds since the epoch.
    pub(super) iat: u64,
    /// Seconds since the epoch; none: never expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) exp: Option<u64>,
    pub(super) iss: String,
    pub(super) name: String,
    pub(super) sub: String,
    pub(super) nats: N,
}

/// What is to be said of `sub`; the issuer is the signer.
#[derive(Clone, Copy)]
pub(super) struct Subject<'a> {
    pub(super) name: &'a str,
    pub(super) public_key: &'a str,
    /// Seconds since the epoch.
    pub(super) issued_at: u64,
    pub(super) expires_at: Option<u64>,
}

/// Writes and signs a JWT.
pub(super) fn encode<N: Serialize>(subject: Subject<'_>, nats: N, issuer: &KeyPair) -> String {
    let mut claims = Claims {
        jti: String::new(),
        iat: subject.issued_at,
        exp: subject.expires_at,
        iss: issuer.public_key(),
        name: subject.name.to_owned(),
        sub: subject.public_key.to_owned(),
        nats,
    };
    claims.jti = BASE32_NOPAD.encode(&Sha512_256::digest(json(&claims)));
    let signed = format!("{}.{}", BASE64URL_NOPAD.encode(HEADER.as_bytes()), BASE64URL_NOPAD.encode(&json(&claims)));
    let signature = issuer.sign(signed.as_bytes()).expect("issuers are made with their seeds");
    format!("{signed}.{}", BASE64URL_NOPAD.encode(&signature))
}

fn json<T: Serialize>(value: &T) -> Vec<u8> {
    serde_json::to_vec(value).expect("claims are plain data with text keys")
}

/// A JWT taken apart, its signature not yet looked at.
pub(super) struct Parsed<N> {
    pub(super) claims: Claims<N>,
    signed: String,
    signature: Vec<u8>,
}

impl<N> Parsed<N> {
    /// Whether the key that the claims name as issuer made this JWT.
    pub(super) fn is_signed_by_issuer(&self) -> bool {
        KeyPair::from_public_key(&self.claims.iss)
            .is_ok_and(|key| key.verify(self.signed.as_bytes(), &self.signature).is_ok())
    }
}

/// Takes a JWT apart; `None` if it is none of this format.
pub(super) fn parse<N: for<'de> Deserialize<'de>>(jwt: &str) -> Option<Parsed<N>> {
    #[derive(Deserialize)]
    struct Header {
        alg: String,
    }
    let (signed, signature) = jwt.rsplit_once('.')?;
    let (header, claims) = signed.split_once('.')?;
    let header: Header = serde_json::from_slice(&BASE64URL_NOPAD.decode(header.as_bytes()).ok()?).ok()?;
    if header.alg != "ed25519-nkey" {
        return None;
    }
    Some(Parsed {
        claims: serde_json::from_slice(&BASE64URL_NOPAD.decode(claims.as_bytes()).ok()?).ok()?,
        signed: signed.to_owned(),
        signature: BASE64URL_NOPAD.decode(signature.as_bytes()).ok()?,
    })
}
