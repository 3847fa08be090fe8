//! The fleet as the bridge sees it: an operator that submits requests, hands on answers and looks.

use std::path::PathBuf;

use holdpoint_bridge::keeper::{NewRequest, Operator, OperatorError};
use holdpoint_planfile::plan::{PlanTask, of_task};
use holdpoint_protocol::{
    api::{HistoryLine, InboxItem},
    artifact::{Act, ClarificationResponse, ClarificationResponseBody},
    ids::{FlightId, WaypointId},
    view::FlightView,
};

use crate::{
    client::{Client, is_passing},
    commands::submit,
    failure::{Exit, Failure},
    people::{
        act::{About, perform},
        find,
    },
    preflight,
};

/// How many problems of a request are said.
const PROBLEMS_MAX: usize = 10;

/// An operator of a fleet.
#[derive(Debug)]
pub(crate) struct BridgeOperator {
    /// The connection.
    pub(crate) client: Client,
    /// The repository that requests stand on.
    pub(crate) repo: PathBuf,
    /// The workflow that they go by.
    pub(crate) workflow: String,
    /// Whether the fleet is this machine's.
    pub(crate) is_local: bool,
}

impl Operator for BridgeOperator {
    async fn submit(&self, request: &NewRequest) -> Result<(), OperatorError> {
        Box::pin(self.begin(request)).await.map_err(|failure| of_failure(&failure))
    }

    async fn view(&self, flight: &FlightId) -> Result<FlightView, OperatorError> {
        self.client.status_now(flight).await.map_err(of_api)
    }

    async fn history(&self, flight: &FlightId, waypoint: &WaypointId) -> Result<Vec<HistoryLine>, OperatorError> {
        self.client.history_now(flight, waypoint).await.map_err(of_api)
    }

    async fn waiting(&self, flight: &FlightId) -> Result<Vec<InboxItem>, OperatorError> {
        self.client.inbox_now(Some(flight)).await.map_err(of_api)
    }

    async fn answer(&self, item: &InboxItem, text: &str) -> Result<(), OperatorError> {
        Box::pin(self.hand_on(item, text)).await.map_err(|failure| of_failure(&failure))
    }
}

impl BridgeOperator {
    async fn begin(&self, request: &NewRequest) -> Result<(), Failure> {
        let refused = |why: String| Failure::usage("request", why, "change the file, and it is read again");
        let goal = Some(request.goal.clone());
        let workflow = Some(self.workflow.clone());
        let (title, priority) = (request.title.clone(), request.priority);
        let task = PlanTask { title, goal, workflow, priority, ..PlanTask::default() };
        let mut plan = of_task(&task).ok_or_else(|| refused("its text cannot stand in a plan".to_owned()))?;
        plan.plan = request.waypoint.to_string();
        for waypoint in &mut plan.waypoints {
            waypoint.id = request.waypoint.clone();
        }
        let planned = preflight::planned(plan, &self.repo).await?;
        let planned = planned.map_err(|found| refused(found.in_a_line(PROBLEMS_MAX)))?;
        submit::hand_in_as(&self.client, planned, &self.repo, self.is_local, &request.flight).await
    }

    async fn hand_on(&self, item: &InboxItem, text: &str) -> Result<(), Failure> {
        let about = About { flight: item.flight.clone(), waypoint: Some(item.waypoint.clone()) };
        let question = find::name_of(&self.client, item).await?;
        let option = item.options.iter().find(|option| option.trim() == text).cloned();
        let body = ClarificationResponseBody {
            agent: self.client.bus().name().clone(),
            request: question.parse().ok(),
            text: option.is_none().then(|| text.to_owned()),
            option,
            rationale: None,
            updated_constraints: Vec::new(),
        };
        let act = Act::Answer(Box::new(ClarificationResponse::new(about.origin(), body)));
        perform(&self.client, &about, &act).await
    }
}

fn of_failure(failure: &Failure) -> OperatorError {
    match failure.exit() {
        Exit::Environment => OperatorError::Away(failure.message()),
        _ => OperatorError::Refused(failure.message()),
    }
}

fn of_api(error: holdpoint_bus::api::ApiError) -> OperatorError {
    let is_away = is_passing(&error);
    let message = Failure::from(error).message();
    if is_away { OperatorError::Away(message) } else { OperatorError::Refused(message) }
}
