//! From the question whether a turn is open to a plan that the broker has.

use ractor::ActorRef;

use super::{
    super::{
        handoff::{Handoff, HandoffError},
        worker::Worker,
    },
    Msg, Phase, State,
};

/// A plan that was sent.
pub(in super::super) struct SentPlan {
    handoff: Handoff,
    /// The broker has it for certain.
    stored: bool,
}

impl<W: Worker> State<W> {
    /// What comes next in a turn that is open.
    pub(super) fn proceed(&mut self, myself: &ActorRef<Msg>) {
        let stored = self.plan_seen || self.plan.as_ref().is_some_and(|plan| plan.stored);
        match self.phase {
            Phase::Planned if stored => self.work(myself),
            Phase::Asking | Phase::Planned => self.send_plan(myself),
            _ => {}
        }
    }

    /// While nobody has said that the turn is open, the plan asks, and the answer is what shows that the broker has it. Once
    /// the turn is open, the same plan is sent under the same id until the broker acknowledges it.
    pub(super) fn send_plan(&mut self, myself: &ActorRef<Msg>) {
        self.phase = Phase::Planning;
        let (worker, job, sent) = (self.worker.clone(), self.job.clone(), self.plan.take());
        let nonce = (!self.open).then(|| self.nonce.clone());
        self.spawn(myself, "plan", async move {
            let planned = async {
                let mut handoff = match sent {
                    Some(plan) => plan.handoff,
                    None => Handoff::of_plan(&job, &worker.plan(&job))?,
                };
                match &nonce {
                    Some(nonce) => handoff.ask(&job.bus, nonce).await?,
                    None => handoff.publish(&job.bus).await?,
                }
                Ok(Box::new(SentPlan { handoff, stored: nonce.is_none() }))
            };
            Msg::Planned(planned.await)
        });
    }

    pub(super) fn on_planned(&mut self, myself: &ActorRef<Msg>, planned: Result<Box<SentPlan>, HandoffError>) {
        if self.phase != Phase::Planning {
            return;
        }
        match planned {
            Ok(plan) => {
                self.job.set_plan_ref(plan.handoff.digest().to_string());
                self.plan = Some(plan);
                self.phase = Phase::Planned;
                if self.open {
                    self.proceed(myself);
                }
            }
            Err(error) => self.fail(myself, "cannot hand off its plan", &error),
        }
    }
}
