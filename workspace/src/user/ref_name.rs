//! Which names references may have, as `git-check-ref-format(1)` says. Git itself looks again when one is written.

/// Whether a whole name such as `refs/heads/main` may be one of a reference.
pub(super) fn is_valid(name: &str) -> bool {
    let component = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.ends_with(".lock");
    let forbidden = |char: char| char.is_ascii_control() || " ~^:?*[\\".contains(char);
    name.contains('/')
        && name.split('/').all(component)
        && !name.contains(forbidden)
        && !name.contains("..")
        && !name.contains("@{")
        && !name.ends_with('.')
}
