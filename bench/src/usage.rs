//! What processes used up: CPU time and memory, as the kernel counts them under `/proc`.

use std::{fs, io, time::Duration};

use serde::Serialize;

/// The unit of CPU times in `/proc/PID/stat`. It is part of the kernel's interface, whatever its own clock does.
const TICKS_PER_S: u64 = 100;
/// Fields of that file that are looked at, counted from the one after the name: user and system time of the process,
/// and of its children that have ended and were waited for.
const CPU_FIELDS: std::ops::Range<usize> = 11..15;

/// One process of a benchmark.
#[derive(Debug, Clone)]
pub(crate) struct Process {
    /// What it is called in tables.
    pub(crate) name: String,
    /// Its number.
    pub(crate) pid: u32,
}

impl Process {
    /// This process.
    pub(crate) fn own(name: &str) -> Self {
        Self { name: name.to_owned(), pid: std::process::id() }
    }

    /// CPU time so far, with that of its children that have ended.
    pub(crate) fn cpu(&self) -> io::Result<Duration> {
        let text = fs::read_to_string(format!("/proc/{}/stat", self.pid))?;
        parse_cpu(&text).ok_or_else(|| io::Error::other("a line in /proc/PID/stat is not as expected"))
    }

    /// The most memory it has had so far, in bytes.
    pub(crate) fn peak_rss(&self) -> io::Result<u64> {
        self.memory("VmHWM:")
    }

    /// The memory it has now, in bytes.
    pub(crate) fn rss(&self) -> io::Result<u64> {
        self.memory("VmRSS:")
    }

    /// How many files it has open.
    pub(crate) fn files(&self) -> io::Result<usize> {
        Ok(fs::read_dir(format!("/proc/{}/fd", self.pid))?.count())
    }

    fn memory(&self, field: &str) -> io::Result<u64> {
        let text = fs::read_to_string(format!("/proc/{}/status", self.pid))?;
        parse_memory(&text, field).ok_or_else(|| io::Error::other("a line in /proc/PID/status is not as expected"))
    }
}

/// CPU times of several processes at one moment.
#[derive(Debug)]
pub(crate) struct Snapshot(Vec<(Process, Duration)>);

/// What one process used up between two moments.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProcessUsage {
    /// The process.
    pub process: String,
    /// CPU seconds, its ended children's included.
    pub cpu_s: f64,
    /// The most memory it ever had, in MiB.
    pub peak_rss_mib: f64,
}

impl Snapshot {
    /// As it is now.
    pub(crate) fn take(processes: &[Process]) -> io::Result<Self> {
        processes.iter().map(|process| Ok((process.clone(), process.cpu()?))).collect::<io::Result<_>>().map(Self)
    }

    /// What each used up since.
    pub(crate) fn since(&self) -> io::Result<Vec<ProcessUsage>> {
        let usage = |(process, before): &(Process, Duration)| {
            Ok(ProcessUsage {
                process: process.name.clone(),
                cpu_s: process.cpu()?.saturating_sub(*before).as_secs_f64(),
                peak_rss_mib: mib(process.peak_rss()?),
            })
        };
        self.0.iter().map(usage).collect()
    }
}

/// Bytes as MiB.
pub(crate) fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

fn parse_cpu(stat: &str) -> Option<Duration> {
    // The name may hold anything, blanks and brackets included; what follows the last bracket is plain.
    let (_, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let ticks = fields.get(CPU_FIELDS)?.iter().map(|field| field.parse::<u64>().ok()).sum::<Option<u64>>()?;
    Some(Duration::from_millis(ticks * 1000 / TICKS_PER_S))
}

fn parse_memory(status: &str, field: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok().map(|kib| kib << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "12 (a ) (b) S 1 12 12 0 -1 4194560 1 2 3 4 150 50 7 3 20 0 9 0 100 1 2 3";

    #[test]
    fn cpu_time_is_read_behind_a_name_with_brackets_and_counts_ended_children() {
        assert_eq!(parse_cpu(STAT), Some(Duration::from_millis(2_100)));
        assert_eq!(parse_cpu("12 (a) S 1"), None);
        assert_eq!(parse_cpu(""), None);
    }

    #[test]
    fn memory_is_read_in_kib() {
        let status = "Name:\tx\nVmHWM:\t    2048 kB\nVmRSS:\t1024 kB\n";
        assert_eq!(parse_memory(status, "VmHWM:"), Some(2 << 20));
        assert_eq!(parse_memory(status, "VmRSS:"), Some(1 << 20));
        assert_eq!(parse_memory(status, "VmPeak:"), None);
    }

    #[test]
    fn this_process_has_used_some_memory() {
        let own = Process::own("test");
        assert!(own.peak_rss().unwrap() >= own.rss().unwrap() / 2);
        let usage = Snapshot::take(&[own]).unwrap().since().unwrap();
        assert!(usage[0].peak_rss_mib > 0.1);
    }
}
