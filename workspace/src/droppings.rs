//! What tools leave among the sources for themselves. A file that the base has, or that an earlier attempt handed off, is
//! work wherever it lies.
//!
//! Most tools declare their caches: with a `.gitignore` inside, which git obeys, or with a `CACHEDIR.TAG`
//! (bford.info/cachedir). [`UNDECLARED`] is the one table of those that do neither.

use std::collections::BTreeSet;
use std::path::Path;

use crate::files::start_of;

/// Patterns of gitignore(5), and whose they are. An ignore file of the repository can overrule each.
const UNDECLARED: [(&str, &str); 6] = [
    // The interpreter reads nothing there that has no source next to the folder (PEP 3147).
    ("__pycache__/", "compiled Python"),
    // Build tools share this folder by convention (find-cache-dir): npm empties it with `node_modules`.
    ("**/node_modules/.cache/", "the cache of a build tool"),
    // Examples that failed, for the next run.
    (".hypothesis/", "the database of Hypothesis"),
    // Counts of one run.
    (".coverage", "the data of coverage.py"),
    (".eslintcache", "the cache of ESLint"),
    ("*.tsbuildinfo", "the cache of the TypeScript compiler"),
];

/// The file by which a folder declares that it is a cache, and how it begins.
const CACHE_TAG: &[u8] = b"CACHEDIR.TAG";
const CACHE_SIGNATURE: &[u8] = b"Signature: 8a477f597d28d172789f06886806bc55";

/// An exclude file of git's: the table, and behind it, as they are stronger, rules of the flight.
pub(crate) fn exclude_file(rules: &[String]) -> String {
    let table = UNDECLARED.iter().map(|(pattern, _)| *pattern);
    table.chain(rules.iter().map(String::as_str)).flat_map(|line| [line, "\n"]).collect()
}

/// Whose the rule in this line of such a file is, from 1; `None`: the flight's.
pub(crate) fn undeclared(line: usize) -> Option<&'static str> {
    UNDECLARED.get(line.checked_sub(1)?).map(|(_, whose)| *whose)
}

/// The folders that declare by one of these new files that they are caches. The root never is one.
pub(crate) fn declared_caches(dir: &Path, new: &[Vec<u8>]) -> BTreeSet<Vec<u8>> {
    let folder = |name: &Vec<u8>| Some(name.strip_suffix(CACHE_TAG)?.strip_suffix(b"/")?.to_vec());
    let tags = new.iter().filter_map(|name| Some((name, folder(name)?)));
    let signed = tags.filter(|(name, _)| {
        use std::os::unix::ffi::OsStrExt as _;
        let tag = dir.join(std::ffi::OsStr::from_bytes(name));
        start_of(&tag, CACHE_SIGNATURE.len()).is_some_and(|start| start == CACHE_SIGNATURE)
    });
    signed.map(|(_, folder)| folder).collect()
}

/// The cache that this path is in, if any.
pub(crate) fn cache_of<'a>(caches: &'a BTreeSet<Vec<u8>>, path: &[u8]) -> Option<&'a Vec<u8>> {
    let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
    slashes.filter_map(|at| caches.get(path.get(..at)?)).next()
}
