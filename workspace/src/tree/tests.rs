use super::*;

fn entry(path: &str, mode: EntryMode, oid: char, bytes: Option<u64>) -> TreeEntry {
    let oid = oid.to_string().repeat(40).parse().unwrap();
    TreeEntry { path: RepoPath::new(path).unwrap(), mode, oid, bytes }
}

#[test]
fn sizes_are_capped_alone_and_together() {
    let limits = InputLimits { blob_bytes: 10, tree_bytes: 15, ..InputLimits::default() };
    let at_the_cap = [entry("a", EntryMode::File, 'a', Some(10)), entry("b", EntryMode::File, 'b', Some(5))];
    assert!(audit(&at_the_cap, None, &limits).is_ok());
    assert!(matches!(
        audit(&[entry("a", EntryMode::File, 'a', Some(11))], None, &limits),
        Err(InputRefusal::BlobTooLarge { bytes: 11, .. })
    ));
    let together = [entry("a", EntryMode::File, 'a', Some(10)), entry("b", EntryMode::File, 'b', Some(6))];
    assert!(matches!(audit(&together, None, &limits), Err(InputRefusal::TreeTooLarge { max: 15 })));
}

#[test]
fn gitlinks_may_stay_but_not_come_or_change() {
    let limits = InputLimits::default();
    let base = [entry("sub", EntryMode::Gitlink, 'a', None)];
    assert!(audit(&base, Some(&base), &limits).is_ok());
    assert!(audit(&[], Some(&base), &limits).is_ok());
    for changed in [entry("sub", EntryMode::Gitlink, 'b', None), entry("other", EntryMode::Gitlink, 'a', None)] {
        assert!(matches!(audit(&[changed], Some(&base), &limits), Err(InputRefusal::Gitlink { .. })));
    }
}
