//! The steps of a flight: each place where something is stored, answered, started or fetched, and who comes by there.

/// A role of ours, as it is in the name of a process.
pub type Role = &'static str;

/// Makes the enum and its table from one list.
macro_rules! steps {
    ($($(#[$doc:meta])* $step:ident = $name:literal by [$($role:literal),*];)*) => {
        /// A step that a process passes. Before and after it, a test can stop the process.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Step {
            $($(#[$doc])* $step,)*
        }

        impl Step {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$step),*];

            /// Its name in orders and tables.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$step => $name,)*
                }
            }

            /// Who passes it in a flight of two waypoints that meet at the head; what people do, in a flight in which one of
            /// them answers and another one approves; `analyst`, whose document has to meet checkpoints before anything is built;
            /// `archive`, the command that takes a flight off the broker; and `bridge`, which shows it in a folder.
            #[must_use]
            pub const fn roles(self) -> &'static [Role] {
                match self {
                    $(Self::$step => &[$($role),*],)*
                }
            }
        }
    };
}

steps! {
    /// The command that flies a plan hands it to an orchestrator.
    Submit = "submit" by ["run"];
    /// The command writes the flight's branch.
    WriteBranch = "write-branch" by ["run"];
    /// A command stores what a person does.
    PublishAct = "publish-act" by ["answerer", "approver"];
    /// An orchestrator makes the consumers that a flight's agents pull from.
    OpenConsumers = "open-consumers" by ["orchestrator"];
    /// The first entry of a flight.
    AppendSubmitted = "append-submitted" by ["orchestrator"];
    /// An entry that opens a turn: decision and dispatch.
    AppendTurn = "append-turn" by ["orchestrator"];
    /// An entry that opens no turn.
    AppendDecided = "append-decided" by ["orchestrator"];
    /// A waypoint is on the branch.
    AppendLanded = "append-landed" by ["orchestrator"];
    /// A handoff is read and decided on.
    TakeHandoff = "take-handoff" by ["orchestrator"];
    /// A person's act is read and decided on.
    TakeAct = "take-act" by ["orchestrator"];
    /// Handed-off work is looked at.
    Examine = "examine" by ["orchestrator"];
    /// A handoff is acknowledged.
    AckHandoff = "ack-handoff" by ["orchestrator"];
    /// A landing commit is made and stored.
    MakeLanding = "make-landing" by ["orchestrator"];
    /// An accepted commit is merged with the head.
    MakeMerge = "make-merge" by ["orchestrator"];
    /// A turn was pulled and is taken up.
    TakeTurn = "take-turn" by ["builder", "verifier", "repair", "analyst"];
    /// The plan of a turn is stored.
    PublishPlan = "publish-plan" by ["builder", "verifier", "repair", "analyst"];
    /// Bundles are fetched and imported.
    Fetch = "fetch" by ["orchestrator", "builder", "verifier", "repair", "analyst"];
    /// A clone is made for a program.
    Clone = "clone" by ["builder", "repair"];
    /// The agent's program runs.
    RunProgram = "run-program" by ["builder", "repair", "analyst"];
    /// What the program left is read and committed.
    Capture = "capture" by ["builder", "repair"];
    /// The checkpoints of a gate are established in its turn.
    Establish = "establish" by ["builder", "repair", "analyst"];
    /// The record of a try is stored, before the program is asked again or its turn ends.
    RecordTry = "record-try" by ["builder", "analyst"];
    /// The document of a gate is stored.
    StoreDocument = "store-document" by ["orchestrator"];
    /// Documents of earlier gates are laid out for a program.
    LayOutDocuments = "lay-out-documents" by ["builder"];
    /// A tree is checked out for checks.
    Checkout = "checkout" by ["verifier"];
    /// A check runs.
    RunCheck = "run-check" by ["verifier"];
    /// Bytes are stored under their digest.
    Upload = "upload" by ["run", "orchestrator", "builder", "verifier", "repair", "analyst"];
    /// The final handoff of a turn is stored.
    PublishResult = "publish-result" by ["builder", "verifier", "repair", "analyst"];
    /// A turn is acknowledged.
    AckTurn = "ack-turn" by ["builder", "verifier", "repair", "analyst"];
    /// The bridge writes a file of its folder.
    BridgeWrite = "bridge-write" by ["bridge"];
    /// The bridge moves a file of its folder.
    BridgeMove = "bridge-move" by ["bridge"];
    /// A command keeps the export of a flight that is over.
    KeepExport = "keep-export" by ["archive"];
    /// It has an orchestrator record that the flight leaves.
    Retire = "retire" by ["archive"];
    /// It deletes messages of one stream.
    Delete = "delete" by ["archive"];
}

impl Step {
    /// The step of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|step| step.name() == name)
    }
}
