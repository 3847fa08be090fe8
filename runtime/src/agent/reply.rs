//! How a delivery is answered.

#[derive(Debug)]
pub(super) enum Reply {
    /// It is handed off.
    Done,
    /// Nobody wants it any more.
    Dropped,
    /// Another agent has to do it.
    GiveBack,
    /// Given back after a failure of ours, which the operator is told of.
    Failed(String),
}

impl Reply {
    /// The word for it in the conventions of messaging.
    pub(super) fn operation(&self) -> &'static str {
        match self {
            Self::Done | Self::Dropped => "ack",
            Self::GiveBack | Self::Failed(_) => "nak",
        }
    }

    /// The word for it in a trace.
    pub(super) fn word(&self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Dropped => "dropped",
            Self::GiveBack => "given_back",
            Self::Failed(_) => "failed",
        }
    }
}
