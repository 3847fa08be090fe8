//! Memory of a tree in sum, read from the process file system.

use std::collections::BTreeSet;
use std::path::Path;

/// Whether these processes have more memory than this, with `more` that belongs to none of them.
///
/// The quick sum counts pages several times that processes share; only when it is over the limit the slow one decides.
pub(super) fn exceeds(processes: &BTreeSet<i32>, more: u64, limit: u64) -> bool {
    let sum = |file: &str, fields: [&str; 2]| -> u64 {
        processes.iter().filter_map(|pid| read(*pid, file, fields)).sum::<u64>().saturating_add(more)
    };
    sum("status", ["RssAnon:", "RssShmem:"]) > limit && sum("smaps_rollup", ["Pss_Anon:", "Pss_Shmem:"]) > limit
}

fn read(pid: i32, file: &str, fields: [&str; 2]) -> Option<u64> {
    let text = std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join(file)).ok()?;
    Some(fields.iter().filter_map(|field| bytes(&text, field)).sum())
}

/// The value of a line like `RssAnon:      1234 kB`.
fn bytes(text: &str, field: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(field))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_in_bytes() {
        let text = "VmRSS:\t    9000 kB\nRssAnon:\t    1234 kB\nRssShmem:\t       1 kB\n";
        assert_eq!(bytes(text, "RssAnon:"), Some(1234 * 1024));
        assert_eq!(bytes(text, "Pss:"), None);
    }

    #[test]
    fn own_memory_is_over_nothing_and_under_everything() {
        let own = BTreeSet::from([std::process::id().cast_signed()]);
        assert!(exceeds(&own, 0, 1));
        assert!(!exceeds(&own, 0, 1 << 50));
        assert!(exceeds(&own, 1 << 51, 1 << 50));
    }
}
