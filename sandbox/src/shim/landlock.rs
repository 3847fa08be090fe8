//! Landlock: the second wall where there are mounts, the only one where there are none.

use landlock::{
    ABI, Access, AccessFs, CompatLevel, Compatible, LandlockStatus, Ruleset, RulesetAttr, RulesetCreatedAttr,
    RulesetStatus, Scope, path_beneath_rules,
};

use super::Failure;
use crate::layout::Rules;
use crate::wire::Step;

/// The newest version whose rights are asked for. Sockets by path (9) come with the mounts' trees, which hold them.
const ABI_MAX: ABI = ABI::V7;

/// Confines this thread for good, and what it starts. `None`: this kernel has no Landlock.
pub(crate) fn confine(rules: &Rules) -> Result<Option<u32>, Failure> {
    let status = restrict(rules).map_err(Failure::at(Step::Landlock, "restrict"))?;
    if status.ruleset == RulesetStatus::NotEnforced {
        return Ok(None);
    }
    match status.landlock {
        LandlockStatus::Available { effective_abi, kernel_abi } => {
            let known = effective_abi as i32;
            Ok(u32::try_from(kernel_abi.unwrap_or(known)).ok())
        }
        LandlockStatus::NotEnabled | LandlockStatus::NotImplemented => Ok(None),
    }
}

fn restrict(rules: &Rules) -> Result<landlock::RestrictionStatus, landlock::RulesetError> {
    let all = AccessFs::from_all(ABI_MAX);
    let device = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate | AccessFs::IoctlDev;
    // No program needs a device of its own making; with the right number it would be the machine's disk.
    let own = all & !(AccessFs::MakeChar | AccessFs::MakeBlock);
    Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(all)?
        .scope(Scope::from_all(ABI_MAX))?
        .create()?
        .add_rules(path_beneath_rules(&rules.list, AccessFs::ReadDir))?
        .add_rules(path_beneath_rules(&rules.read, AccessFs::from_read(ABI_MAX)))?
        .add_rules(path_beneath_rules(&rules.devices, device))?
        .add_rules(path_beneath_rules(&rules.write, own))?
        .restrict_self()
}
