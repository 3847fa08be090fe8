//! The figures as people read them.

use std::fmt::{self, Formatter};

use super::report::{Figures, HandoffReport, MessageSize};
use crate::{
    stats::{count, ratio},
    target,
    usage::ProcessUsage,
};

impl fmt::Display for HandoffReport {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write(self, f)
    }
}

fn write(report: &HandoffReport, f: &mut Formatter<'_>) -> fmt::Result {
    let HandoffReport { waypoints, concurrency, agents, .. } = report;
    writeln!(f, "{waypoints} waypoints, {concurrency} at once, {agents} builders and {agents} verifiers")?;
    let parts = [("default sync", &report.default_sync), ("sync_interval: always", &report.always)];
    for (name, figures) in parts {
        if let Some(figures) = figures {
            part(name, figures, report, f)?;
        }
    }
    Ok(())
}

fn part(name: &str, figures: &Figures, report: &HandoffReport, f: &mut Formatter<'_>) -> fmt::Result {
    writeln!(f, "\n{name:<34}{:>12}{:>12}{:>9}{:>12}{:>9}", "holdpoint", "yardstick", "ratio", "per agent", "ratio")?;
    let at_once = report.concurrency;
    let lines = [
        (
            "waypoints/s".to_owned(),
            figures.throughput,
            figures.yardstick_throughput,
            Some(figures.yardstick_agents_throughput),
        ),
        (format!("p50 ms, {at_once} at once"), figures.p50_ms, figures.yardstick_p50_ms, None),
        (format!("p99 ms, {at_once} at once"), figures.p99_ms, figures.yardstick_p99_ms, None),
        ("p50 ms, alone".to_owned(), figures.p50_ms_c1, figures.yardstick_p50_ms_c1, None),
        (
            "CPU s per 1,000 waypoints".to_owned(),
            figures.cpu_s_per_1000,
            figures.yardstick_cpu_s_per_1000,
            Some(figures.yardstick_agents_cpu_s_per_1000),
        ),
    ];
    for (what, ours, raw, agents) in lines {
        write!(f, "  {what:<32}{ours:>12.2}{raw:>12.2}{:>9.2}", ratio(ours, raw))?;
        match agents {
            Some(agents) => writeln!(f, "{agents:>12.2}{:>9.2}", ratio(ours, agents))?,
            None => writeln!(f)?,
        }
    }
    writeln!(f, "  {:<32}{:>12.2}", "messages a waypoint", figures.messages_per_waypoint)?;
    writeln!(f, "  {:<32}{:>12.0}", "bytes on disk a waypoint", figures.bytes_per_waypoint)?;
    writeln!(f, "\n  {:<32}{:>12}{:>12}", "message", "bytes", "ms, alone")?;
    for MessageSize { kind, bytes, after_ms_c1 } in &figures.messages {
        writeln!(f, "    {kind:<30}{bytes:>12}{after_ms_c1:>12.2}")?;
    }
    processes("process", &figures.processes, report.waypoints, f)?;
    processes("process of the yardstick", &figures.yardstick_processes, report.waypoints, f)?;
    processes("process, connection per agent", &figures.yardstick_agents_processes, report.waypoints, f)?;
    target::write(&figures.targets, f)
}

fn processes(head: &str, usages: &[ProcessUsage], waypoints: usize, f: &mut Formatter<'_>) -> fmt::Result {
    writeln!(f, "\n  {head:<32}{:>12}{:>12}", "CPU s/1,000", "peak MiB")?;
    for ProcessUsage { process, cpu_s, peak_rss_mib } in usages {
        let cpu = ratio(cpu_s * 1000.0, count(waypoints));
        writeln!(f, "    {process:<30}{cpu:>12.3}{peak_rss_mib:>12.1}")?;
    }
    Ok(())
}
