//! Plans that an agent drafts, through real processes.

use std::fs;

use holdpoint_tests::world::{Finished, World};

use crate::task_built::{CALC, TESTS, TWICE};

/// Every way in which doing nothing would be accepted.
const IDLE: &str = r#"plan: twice
guards: [{id: broken, check: "test -f nowhere"}]
waypoints:
  - {id: early, goal: Add twice to calc.py, criteria: [{id: there, check: "test -f calc.py", red_first: true}]}
  - {id: idle, goal: Keep it green, scope: [calc.py], depends_on: [early], criteria: [{id: suite, check: python3 -m unittest}]}
"#;
const GOOD: &str = r#"plan: twice
guards: [{id: suite, check: python3 -m unittest}]
waypoints:
  - id: twice
    title: Numbers can be doubled
    goal: Add twice(a) to calc.py, and test it in test_calc.py.
    scope: [calc.py, test_calc.py]
    criteria: [{id: unit, check: "python3 -c 'import calc; assert calc.twice(4) == 8'", red_first: true}]
"#;

fn project() -> World {
    World::new(&[("calc.py", CALC), ("test_calc.py", TESTS)])
}

fn draft(world: &World, agent: &str, more: &[&str]) -> Finished {
    let args = ["draft", "Add twice(a)", "--agent", agent, "--json"];
    world.holdpoint(&[&args[..], more].concat())
}

#[test]
fn a_draft_that_accepts_doing_nothing_goes_back_until_it_can_be_flown() {
    let world = project();
    // A draft that is no plan, then one that accepts doing nothing; the last one comes only where each problem was said.
    let script = format!(
        "prompt=$(cat)\n\
         says() {{ case $prompt in *\"$1\"*) ;; *) echo \"nobody said: $1\"; exit 3 ;; esac; }}\n\
         says 'Add twice(a)'; says 'calc.py'; says '\"red_first\"'; says 'python3 -m unittest'\n\
         case $prompt in\n\
           *'Correct all of these'*'unknown key'*) cat > plan.yaml <<'PLAN'\n{IDLE}PLAN\n;;\n\
           *'Correct all of these'*)\n\
             says 'guard broken is red'; says 'criterion there of waypoint early is green'\n\
             says 'waypoint early has no `scope`'; says '[\"calc.py\"]'; says 'all checks of waypoint idle are green'\n\
             cat > plan.yaml <<'PLAN'\n{GOOD}PLAN\n;;\n\
           *) echo 'plan: twice' > plan.yaml; echo 'waypoint: none' >> plan.yaml; echo more > other.txt ;;\n\
         esac"
    );
    let agent = world.program("agent.sh", &script);
    let drafted = draft(&world, &agent, &[]);
    let result = drafted.expect(0).json();
    assert_eq!((&result["plan"], &result["rounds"]), (&"./plan.yaml".into(), &3.into()), "{drafted}");
    assert_eq!(result["problems"].as_array().map(Vec::len), Some(0), "{drafted}");
    assert_eq!(result["waypoints"][0]["criteria"][0], "unit (red first)", "{drafted}");
    assert_eq!(fs::read_to_string(world.path("repo/plan.yaml")).unwrap(), GOOD);
    assert_eq!(world.git(&["status", "--porcelain"]), "?? plan.yaml\n", "nothing else is there");

    // It stays as it is.
    let again = draft(&world, &agent, &[]);
    assert!(again.expect(2).stderr.contains("plan.yaml is there already"), "{again}");
    assert!(!again.stderr.contains("round 1"), "no agent was asked: {again}");

    let builder = world.program("builder.sh", TWICE);
    let run = world.holdpoint(&["run", "plan.yaml", "--builder", &builder, "--json"]);
    assert_eq!(run.expect(0).waypoint("twice")["status"], "complete", "{run}");
}

#[test]
fn an_agent_that_writes_no_good_plan_is_asked_so_often_and_its_last_draft_is_kept() {
    let world = project();
    let idle = world.program("idle.sh", &format!("cat > plan.yaml <<'PLAN'\n{IDLE}PLAN\n"));
    world.write("repo/plan.draft.yaml", "mine\n");
    let failed = draft(&world, &idle, &["--rounds", "2"]);
    let result = failed.expect(1).json();
    assert_eq!((&result["plan"], &result["rounds"]), (&"./plan.draft-2.yaml".into(), &2.into()), "{failed}");
    assert_eq!(result["problems"].as_array().map(Vec::len), Some(4), "{failed}");
    assert_eq!(fs::read_to_string(world.path("repo/plan.draft-2.yaml")).unwrap(), IDLE);
    assert_eq!(fs::read_to_string(world.path("repo/plan.draft.yaml")).unwrap(), "mine\n");

    let broken = world.program("broken.sh", "echo out of cheese >&2; exit 7");
    let failed = draft(&world, &broken, &["--rounds", "1"]);
    assert!(failed.expect(1).json()["plan"].is_null(), "{failed}");
    assert!(failed.stderr.contains("out of cheese"), "{failed}");

    let asker = world.program("asker.sh", "holdpoint-ask question 'Of which numbers?' --option all --option whole");
    let failed = draft(&world, &asker, &[]);
    assert_eq!(failed.expect(1).json()["error"]["code"], "asks", "{failed}");
    assert!(failed.stderr.contains("Of which numbers?") && failed.stderr.contains("- whole"), "{failed}");
    assert!(!world.path("repo/plan.yaml").exists());
}
