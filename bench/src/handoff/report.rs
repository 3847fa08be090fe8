//! The figures, and whether they are what was aimed at.

use serde::Serialize;

use super::{Flown, Measured, Raw, Sync};
use crate::{
    stats::{count, ratio},
    streams::Shape,
    target::Target,
    usage::ProcessUsage,
};

/// Persisted messages of an accepted waypoint, blobs apart.
const MESSAGES_MAX: f64 = 9.0;
/// Throughput against that of the yardstick with a connection for each agent, where an acknowledgement does not wait for the disk.
const RATIO_AGENTS_MIN: f64 = 0.6;
/// The same where it does.
const RATIO_AGENTS_MIN_ALWAYS: f64 = 0.7;
/// CPU time against that yardstick's.
const CPU_RATIO_AGENTS_MAX: f64 = 2.0;
/// The median of a waypoint that is alone against the yardstick's.
const RATIO_ALONE_MAX: f64 = 5.0;

/// What `bench handoff` found.
#[derive(Debug, Clone, Serialize)]
pub struct HandoffReport {
    /// `release`, or `debug`: whose figures mean nothing.
    pub build: &'static str,
    /// Waypoints of a measurement.
    pub waypoints: usize,
    /// How many were under way at once.
    pub concurrency: usize,
    /// Agents of each role.
    pub agents: usize,
    /// With a broker that writes to the disk every now and then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_sync: Option<Figures>,
    /// With one that writes before each acknowledgement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub always: Option<Figures>,
}

/// With one kind of broker.
#[derive(Debug, Clone, Serialize)]
pub struct Figures {
    /// Waypoints a second.
    pub throughput: f64,
    /// The median of a waypoint, in milliseconds.
    pub p50_ms: f64,
    /// Ninety-nine of a hundred do not take longer.
    pub p99_ms: f64,
    /// The median of a waypoint that is alone.
    pub p50_ms_c1: f64,
    /// CPU seconds of all processes, broker and driver included.
    pub cpu_s_per_1000: f64,
    /// Persisted messages, blobs apart.
    pub messages_per_waypoint: f64,
    /// What these take up on disk, as the broker counts it.
    pub bytes_per_waypoint: f64,
    /// The yardstick's waypoints a second.
    pub yardstick_throughput: f64,
    /// The yardstick's median.
    pub yardstick_p50_ms: f64,
    /// The yardstick's ninety-nine of a hundred.
    pub yardstick_p99_ms: f64,
    /// The yardstick's median of a waypoint that is alone.
    pub yardstick_p50_ms_c1: f64,
    /// CPU seconds of all processes of the yardstick.
    pub yardstick_cpu_s_per_1000: f64,
    /// Waypoints a second of the yardstick with a connection for each agent: the yardstick of record.
    pub yardstick_agents_throughput: f64,
    /// CPU seconds of all its processes.
    pub yardstick_agents_cpu_s_per_1000: f64,
    /// Throughput against the yardstick's: more is better.
    pub ratio: f64,
    /// Throughput against that of the yardstick of record: more is better.
    pub ratio_agents: f64,
    /// CPU time against that of the yardstick of record: less is better.
    pub cpu_ratio_agents: f64,
    /// The median of a waypoint that is alone against the yardstick's: less is better.
    pub ratio_p50_c1: f64,
    /// Each process.
    pub processes: Vec<ProcessUsage>,
    /// Each process of the yardstick.
    pub yardstick_processes: Vec<ProcessUsage>,
    /// Each process of the yardstick of record.
    pub yardstick_agents_processes: Vec<ProcessUsage>,
    /// The messages of a waypoint, in order.
    pub messages: Vec<MessageSize>,
    /// What was aimed at.
    pub targets: Vec<Target>,
}

/// One message of a waypoint.
#[derive(Debug, Clone, Serialize)]
pub struct MessageSize {
    /// What it is.
    pub kind: String,
    /// Headers and payload, in bytes.
    pub bytes: usize,
    /// How long after the first one it was stored, in milliseconds: of the last waypoint that was alone.
    pub after_ms_c1: f64,
}

impl MessageSize {
    fn of(shape: &Shape) -> Self {
        Self { kind: shape.kind.clone(), bytes: shape.len, after_ms_c1: shape.after_ms }
    }
}

impl HandoffReport {
    pub(super) fn new(waypoints: usize, concurrency: usize, agents: usize) -> Self {
        let build = if cfg!(debug_assertions) { "debug" } else { "release" };
        Self { build, waypoints, concurrency, agents, default_sync: None, always: None }
    }
}

impl Figures {
    pub(super) fn of(sync: Sync, many: &Flown, single: &Flown, raw: &Raw) -> Self {
        let sample = &many.measured.sample;
        let (alone, raw_alone) = (single.measured.sample.percentile_ms(50), raw.alone.sample.percentile_ms(50));
        let (cpu, agents_cpu) = (cpu_s_per_1000(&many.measured), cpu_s_per_1000(&raw.agents));
        let mut figures = Self {
            throughput: sample.per_second(),
            p50_ms: sample.percentile_ms(50),
            p99_ms: sample.percentile_ms(99),
            p50_ms_c1: alone,
            cpu_s_per_1000: cpu,
            messages_per_waypoint: many.messages_per_waypoint,
            bytes_per_waypoint: many.bytes_per_waypoint,
            yardstick_throughput: raw.one.sample.per_second(),
            yardstick_p50_ms: raw.one.sample.percentile_ms(50),
            yardstick_p99_ms: raw.one.sample.percentile_ms(99),
            yardstick_p50_ms_c1: raw_alone,
            yardstick_cpu_s_per_1000: cpu_s_per_1000(&raw.one),
            yardstick_agents_throughput: raw.agents.sample.per_second(),
            yardstick_agents_cpu_s_per_1000: agents_cpu,
            ratio: ratio(sample.per_second(), raw.one.sample.per_second()),
            ratio_agents: ratio(sample.per_second(), raw.agents.sample.per_second()),
            cpu_ratio_agents: ratio(cpu, agents_cpu),
            ratio_p50_c1: ratio(alone, raw_alone),
            processes: many.measured.usage.clone(),
            yardstick_processes: raw.one.usage.clone(),
            yardstick_agents_processes: raw.agents.usage.clone(),
            messages: single.shapes.iter().map(MessageSize::of).collect(),
            targets: Vec::new(),
        };
        figures.targets = figures.targets(sync);
        figures
    }

    fn targets(&self, sync: Sync) -> Vec<Target> {
        let ratio = if sync == Sync::Always { RATIO_AGENTS_MIN_ALWAYS } else { RATIO_AGENTS_MIN };
        let mut targets = vec![
            Target::at_least("ratio_agents", ratio, self.ratio_agents),
            Target::at_most("cpu_ratio_agents", CPU_RATIO_AGENTS_MAX, self.cpu_ratio_agents),
            Target::at_most("messages_per_waypoint", MESSAGES_MAX, self.messages_per_waypoint),
        ];
        if sync == Sync::Default {
            targets.push(Target::at_most("ratio_p50_c1", RATIO_ALONE_MAX, self.ratio_p50_c1));
        }
        targets
    }
}

fn cpu_s_per_1000(measured: &Measured) -> f64 {
    let all: f64 = measured.usage.iter().map(|usage| usage.cpu_s).sum();
    ratio(all * 1000.0, count(measured.sample.len()))
}
