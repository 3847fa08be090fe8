//! cargo on a read-only tree, with a home and build output of the verifier's.

use holdpoint_protocol::{
    artifact::TreeTested::{Base, Handoff},
    facts::Verdict::{Fail, Pass},
    reason::CriterionReason as Reason,
};

use crate::support::{Rig, check, criterion, only, tested};

const LIB: &str = "pub fn add(a: u32, b: u32) -> u32 {
    a + b
}

#[cfg(test)]
mod checks {
    #[test]
    fn adds() {
        assert_eq!(super::add(1, 2), 3);
    }

    #[test]
    fn adds_nothing() {
        assert_eq!(super::add(1, 0), 1);
    }
}
";

async fn rig() -> Rig {
    let manifest = "[package]\nname = \"sum\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[lib]\ndoctest = false\n";
    let lock = "version = 4\n\n[[package]]\nname = \"sum\"\nversion = \"0.1.0\"\n";
    Rig::new(&[("Cargo.toml", manifest), ("Cargo.lock", lock), ("src/lib.rs", LIB)]).await
}

#[tokio::test]
async fn cargo_test_passes_and_the_next_check_need_not_build_again() {
    let rig = rig().await;
    let criteria = vec![
        criterion("unit", check("cargo test --locked")),
        criterion("fresh", check("cargo test --locked -v 2>&1 | grep -q 'Fresh sum'")),
    ];
    let findings = rig.verify(&rig.request(&rig.base, criteria).await).await;
    assert!(findings.criteria.iter().all(|r| r.result.verdict == Pass), "{:#?}", findings.criteria);
}

#[tokio::test]
async fn a_test_taken_out_of_a_product_file_is_missed() {
    let rig = rig().await;
    let commit = rig
        .change(&[(
            "src/lib.rs",
            Some(&LIB.replace("    #[test]\n    fn adds_nothing", "    #[allow(dead_code)]\n    fn adds_nothing")),
        )])
        .await;
    let findings = rig.check(&commit, "cargo test --locked").await;
    assert_eq!((only(&findings), tested(&findings)), ((Fail, Some(Reason::FewerTests)), vec![Handoff, Base]));
}
