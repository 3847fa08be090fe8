//! What programs say they mean to do, before the real sandbox and a desk that keeps it (FLY-7, FLY-15).

use std::{sync::Mutex, time::Duration};

use holdpoint_harness::{
    ask::{DeclaredPlan, Desk, Nobody, Planning, Waited, Waiting},
    backend::question::ValidQuestion,
};
use holdpoint_protocol::plan::Criterion;

use crate::support::{Shop, agent, ready};

/// Keeps plans, and has nobody answer.
#[derive(Default)]
struct Board(Mutex<Vec<DeclaredPlan>>);

impl Desk for Board {
    fn patience_max(&self) -> Duration {
        Duration::MAX
    }

    fn ask(&self, _: ValidQuestion, _: Duration) -> Waiting<'_> {
        Box::pin(std::future::ready(Waited::InVain))
    }

    fn plan<'a>(&'a self, plan: &'a DeclaredPlan) -> Planning<'a> {
        self.0.lock().unwrap().push(plan.clone());
        Box::pin(std::future::ready(true))
    }
}

async fn printed(shop: &Shop, desk: &dyn Desk, program: &str) -> String {
    let turn = shop.turn_with(|request| {
        request.criteria =
            vec![Criterion { id: "unit".parse().unwrap(), statement: "It is tested".to_owned(), check: None }];
    });
    let built = shop.workbench(program).await.run(&turn, &agent(), &shop.mirror, desk).await.unwrap();
    let printed = std::fs::read_to_string(&built.output).unwrap();
    ready(&built);
    printed
}

#[tokio::test]
async fn a_program_says_what_it_means_to_do_and_its_work_is_what_it_leaves() {
    let (shop, board) = (Shop::new().await, Board::default());
    let says =
        "holdpoint-ask plan --target a.txt --target 'src/**' --validate 'make test' --covers unit; echo more > b.txt";
    let printed = printed(&shop, &board, says).await;
    assert!(printed.contains(r#""recorded": "plan""#), "{printed}");
    let plans = board.0.lock().unwrap();
    let expected = DeclaredPlan {
        targets: vec!["a.txt".to_owned(), "src/**".to_owned()],
        validation: vec!["make test".to_owned()],
        coverage: vec!["unit".to_owned()],
    };
    assert_eq!(*plans, [expected]);
}

#[tokio::test]
async fn a_plan_of_unknown_criteria_or_said_too_often_is_refused_and_the_turn_goes_on() {
    let (shop, board) = (Shop::new().await, Board::default());
    let says = "holdpoint-ask plan --covers other 2>&1; echo \"exit $?\"; for i in 1 2 3 4 5 6 7 8 9; do \
                holdpoint-ask plan --target $i 2>&1; done; echo x > b.txt";
    let printed = printed(&shop, &board, says).await;
    assert!(printed.contains("\"other\" is no criterion of this waypoint: there are unit\nexit 2"), "{printed}");
    assert!(printed.contains("at most 8 times"), "{printed}");
    assert_eq!(board.0.lock().unwrap().len(), 8);
}

#[tokio::test]
async fn where_nobody_takes_a_plan_the_program_hears_so_and_goes_on() {
    let shop = Shop::new().await;
    let printed = printed(&shop, &Nobody, "holdpoint-ask plan --target a.txt 2>&1; echo x > b.txt").await;
    assert!(printed.contains("go on without it"), "{printed}");
}
