//! What turns use up, and how much they may: amounts that are summed over turns, waypoints and flights (FLY-32).
//!
//! Money is in millionths of a US dollar. What an agent's program reports is its own word.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{artifact::Metered, ids::WaypointId};

/// Millionths of a US dollar in a dollar.
const MICRO: f64 = 1_000_000.0;

/// Amounts that were used up, or that are added to a limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Amounts {
    /// Tokens of all kinds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tokens: u64,
    /// Cost in millionths of a US dollar.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cost_micro_usd: u64,
    /// Tool calls.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tool_calls: u64,
    /// Bytes that programs printed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub output_bytes: u64,
    /// Wall time of programs, in milliseconds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub wall_ms: u64,
}

/// The most that may be used up; `None`: without a limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Limits {
    /// Tokens of all kinds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Cost in millionths of a US dollar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micro_usd: Option<u64>,
    /// Tool calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_calls: Option<u64>,
    /// Bytes that programs print.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_bytes: Option<u64>,
    /// Wall time of programs, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_ms: Option<u64>,
}

/// What happens to work when a limit is reached.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnExceeded {
    /// It is blocked until a person raises the limit.
    #[default]
    Ask,
    /// It fails.
    Stop,
    /// Its next turn is done by the role's cheaper command; when that reaches a limit, a person is asked.
    Degrade,
}

/// What happens to programs that do not report what is limited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unmetered {
    /// They run, and what they do not report counts as their whole allowance.
    #[default]
    Allow,
    /// They are not run.
    Refuse,
}

impl OnExceeded {
    /// Whether this is the default.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl Unmetered {
    /// Whether this is the default.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// What one turn may use up, as it was reserved. Its harness ends the program that reaches it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Allowance {
    /// The limits.
    pub limits: Limits,
    /// What becomes of a program that does not report what is limited.
    #[serde(default, skip_serializing_if = "Unmetered::is_default")]
    pub unmetered: Unmetered,
    /// An earlier turn reached a limit: this one is done by the role's cheaper command.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub degraded: bool,
    /// The reservation in the flight's journal that it is a part of, counted from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reservation: Option<u32>,
}

/// What a waypoint's turns used up together. Empty in plans without budgets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Spent {
    /// Together.
    pub used: Amounts,
    /// Turns that were counted.
    pub turns: u32,
    /// Those of them whose programs did not report something that is limited.
    #[serde(default, skip_serializing_if = "is_none")]
    pub unmetered: u32,
    /// Those of them that ended without a report, and count with their whole allowance.
    #[serde(default, skip_serializing_if = "is_none")]
    pub unreported: u32,
    /// Entries of its journal: a reservation is for the next one.
    pub step: u32,
    /// Raises of limits in the flight's journal that were known to the last entry.
    #[serde(default, skip_serializing_if = "is_none")]
    pub raises: u32,
    /// A turn reached a limit, and the next ones are done by the cheaper command.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub degraded: bool,
}

impl Spent {
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A person raises limits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Raise {
    /// Those of this waypoint, of its turns and of all of them together; `None`: those of the flight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waypoint: Option<WaypointId>,
    /// By how much.
    pub add: Amounts,
}

impl Amounts {
    /// As a list, in the order of the fields.
    #[must_use]
    pub fn to_list(self) -> [u64; 5] {
        [self.tokens, self.cost_micro_usd, self.tool_calls, self.output_bytes, self.wall_ms]
    }

    /// From a list in the order of the fields.
    #[must_use]
    pub fn from_list([tokens, cost_micro_usd, tool_calls, output_bytes, wall_ms]: [u64; 5]) -> Self {
        Self { tokens, cost_micro_usd, tool_calls, output_bytes, wall_ms }
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        self.with(other, u64::saturating_add)
    }

    /// What is more here than there.
    #[must_use]
    pub fn beyond(self, other: Self) -> Self {
        self.with(other, u64::saturating_sub)
    }

    /// The larger of each.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        self.with(other, u64::max)
    }

    /// Whether nothing is in it.
    #[must_use]
    pub fn is_zero(self) -> bool {
        self == Self::default()
    }

    fn with(self, other: Self, of: impl Fn(u64, u64) -> u64) -> Self {
        let mut all = self.to_list();
        for (one, other) in all.iter_mut().zip(other.to_list()) {
            *one = of(*one, other);
        }
        Self::from_list(all)
    }
}

impl Limits {
    /// As a list, in the order of the fields.
    #[must_use]
    pub fn to_list(self) -> [Option<u64>; 5] {
        [self.tokens, self.cost_micro_usd, self.tool_calls, self.output_bytes, self.wall_ms]
    }

    /// From a list in the order of the fields.
    #[must_use]
    pub fn from_list([tokens, cost_micro_usd, tool_calls, output_bytes, wall_ms]: [Option<u64>; 5]) -> Self {
        Self { tokens, cost_micro_usd, tool_calls, output_bytes, wall_ms }
    }

    /// What is limited here or there, by the smaller of both.
    #[must_use]
    pub fn min(self, other: Self) -> Self {
        self.zip(other.to_list(), |one, other| match (one, other) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        })
    }

    /// Higher by this much, where there is a limit.
    #[must_use]
    pub fn plus(self, more: Amounts) -> Self {
        self.zip(more.to_list(), |limit, more| Some(limit?.saturating_add(more)))
    }

    /// What is left of it, where there is a limit.
    #[must_use]
    pub fn minus(self, used: Amounts) -> Self {
        self.zip(used.to_list(), |limit, used| Some(limit?.saturating_sub(used)))
    }

    /// The limits on what is limited there, too.
    #[must_use]
    pub fn only(self, other: Self) -> Self {
        self.zip(other.to_list(), |limit, other| limit.filter(|_| other.is_some()))
    }

    /// The limits as amounts; what has none counts as nothing.
    #[must_use]
    pub fn amounts(self) -> Amounts {
        Amounts::from_list(self.to_list().map(Option::unwrap_or_default))
    }

    /// Whether nothing is limited.
    #[must_use]
    pub fn is_none(self) -> bool {
        self == Self::default()
    }

    pub(crate) fn is_none_ref(&self) -> bool {
        self.is_none()
    }

    /// Whether of something that is limited nothing may be used.
    #[must_use]
    pub fn is_used_up(self) -> bool {
        self.to_list().contains(&Some(0))
    }

    /// Whether something of it was reached.
    #[must_use]
    pub fn is_reached(self, used: Amounts) -> bool {
        self.to_list().into_iter().zip(used.to_list()).any(|(limit, used)| limit.is_some_and(|limit| used >= limit))
    }

    fn zip<T>(self, other: [T; 5], of: impl Fn(Option<u64>, T) -> Option<u64>) -> Self {
        let mut all = self.to_list();
        for (one, other) in all.iter_mut().zip(other) {
            *one = of(*one, other);
        }
        Self::from_list(all)
    }
}

impl Metered {
    /// What was reported and measured; `None`: not reported.
    #[must_use]
    pub fn reported(&self) -> Limits {
        Limits {
            tokens: self.tokens,
            cost_micro_usd: self.cost_micro_usd.or_else(|| self.cost_usd.map(micro_usd)),
            tool_calls: self.tool_calls,
            output_bytes: Some(self.output_bytes),
            wall_ms: Some(self.wall.0),
        }
    }
}

/// An amount of US dollars in millionths of one; less than nothing is nothing.
#[must_use]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "such a cast saturates, and nothing is zero"
)]
pub fn micro_usd(dollars: f64) -> u64 {
    (dollars * MICRO).round() as u64
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(amount: &u64) -> bool {
    *amount == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_none(count: &u32) -> bool {
    *count == 0
}
