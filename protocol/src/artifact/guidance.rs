//! `GuidancePacket` (FLY-6): what a role gets with every turn.

use crate::{Digest, artifact::artifact};

artifact! {
    /// The scoped guidance of one turn. A turn cannot be built without one (FLY-20): the field is not optional.
    GuidancePacket(GuidancePacketBody) = "guidance_packet" {
        /// The digest of the covenant's text as it is on the base; of no bytes where there is none.
        covenant_version: Digest,
        /// The digest of the plan's policy part, so that a replay sees the same rules.
        policy_hash: Digest,
        /// What this role must keep to.
        constraints: Vec<String>,
        /// When this role must stop.
        stop_conditions: Vec<String>,
    }
}
