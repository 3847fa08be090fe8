//! Ordinary projects with dependencies, from the registries' ordinary clients, by a plan with nothing but the user's own commands.

use std::{io::Write as _, process::Command};

use holdpoint_tests::world::World;

/// Runs a client of a registry in the repository and commits what it made. Where that is not possible here, says so.
fn locked(world: &World, client: &str, lines: &[&str]) -> bool {
    for line in lines {
        let ran = Command::new("sh").args(["-c", line]).current_dir(world.path("repo")).output().unwrap();
        if !ran.status.success() {
            let why = String::from_utf8_lossy(&ran.stderr);
            let _ = writeln!(std::io::stderr(), "not flown: {client} cannot make its lock file here: {why}");
            return false;
        }
    }
    world.git(&["add", "--all"]);
    world.git(&["commit", "--quiet", "--message=lock"]);
    true
}

/// Flies a plan this often, and looks at what is said of its environment. Setups are known to a second flight.
fn lands(world: &World, builder: &str, flights: u32, setup: &str) {
    for flight in 1..=flights {
        let run = world.fly(builder, &[]);
        assert_eq!(run.expect(0).waypoint("w")["status"], "complete", "{flight}: {run}");
        assert_eq!(run.waypoint("w")["attempts"], 1, "{flight}: {run}");
        assert!(run.stderr.contains(setup), "{run}");
    }
    let doctor = world.holdpoint(&["doctor", "--json"]).json();
    assert_eq!((&doctor["project"]["setup"], &doctor["project"]["set_up"]), (&setup.into(), &true.into()), "{doctor}");
}

#[test]
fn work_on_an_npm_package_lands_at_the_first_try_with_its_dependencies_under_agents_and_checks() {
    let package = r#"{"name": "p", "version": "1.0.0", "type": "module", "scripts": {"test": "node --test"}, "dependencies": {"is-number": "7.0.0"}}"#;
    let test = "import test from 'node:test';\nimport assert from 'node:assert';\nimport isNumber from 'is-number';\n\
                test('one', () => assert.ok(isNumber(1)));\n";
    let world = World::new(&[("package.json", package), ("test/one.test.js", test), (".gitignore", "node_modules/\n")]);
    if !locked(&world, "npm", &["npm install --package-lock-only --no-audit --no-fund"]) {
        return;
    }
    world.plan(
        "plan: p\nguards: [{id: suite, check: npm test}]\nwaypoints:\n  - id: w\n    goal: g\n    scope: [\"src/**\", \"test/**\"]\n    \
         criteria: [{id: unit, check: node --test test/twice.test.js, red_first: true}]\n",
    );
    let builder = world.program(
        "builder.sh",
        "test -f node_modules/is-number/package.json\nmkdir -p src\n\
         printf \"import isNumber from 'is-number';\\nexport const twice = (n) => (isNumber(n) ? 2 * n : NaN);\\n\" > src/twice.js\n\
         printf \"import test from 'node:test';\\nimport assert from 'node:assert';\\nimport { twice } from '../src/twice.js';\\ntest('twice', () => assert.equal(twice(2), 4));\\n\" > test/twice.test.js\n\
         rm -r node_modules/is-number && npm ci --no-audit --no-fund && npm test",
    );
    let setup = "npm ci --no-audit --no-fund";
    lands(&world, &builder, 2, setup);
    let checked = world.holdpoint(&["check", "../plan/plan.yaml", "--builder", &builder, "--json"]);
    assert_eq!(checked.expect(0).json()["environment"]["setup"], setup);
    assert!(!world.git(&["log", "--all", "--name-only", "--format="]).contains("node_modules"), "they are no work");
}

#[test]
fn work_on_a_go_module_lands_at_the_first_try_with_its_dependencies_under_agents_and_checks() {
    let product = "package stock\n\nimport \"github.com/pkg/errors\"\n\nfunc Id() string { return errors.New(\"a stock item\").Error() }\n";
    let test = "package stock\n\nimport \"testing\"\n\nfunc TestId(t *testing.T) {\n\tif len(Id()) != 12 {\n\t\tt.Fatal()\n\t}\n}\n";
    let world = World::new(&[
        ("go.mod", "module example.com/stock\n\ngo 1.21\n"),
        ("stock/stock.go", product),
        ("stock/stock_test.go", test),
    ]);
    if !locked(&world, "go", &["go get github.com/pkg/errors@v0.9.1", "go mod tidy"]) {
        return;
    }
    world.plan(
        "plan: p\nguards: [{id: suite, check: go test ./...}]\nwaypoints:\n  - id: w\n    goal: g\n    scope: [\"stock/find.go\", \"stock/find_test.go\"]\n    \
         criteria: [{id: unit, check: go test ./stock -run TestFind -v, expect: \"--- PASS: TestFind\", red_first: true}]\n",
    );
    let builder = world.program(
        "builder.sh",
        "printf 'package stock\\n\\nfunc Find() string { return Id()[:8] }\\n' > stock/find.go\n\
         printf 'package stock\\n\\nimport \"testing\"\\n\\nfunc TestFind(t *testing.T) {\\n\\tif len(Find()) != 8 {\\n\\t\\tt.Fatal()\\n\\t}\\n}\\n' > stock/find_test.go\n\
         GOFLAGS=-mod=mod GOPROXY=off go build ./...",
    );
    // Once: each tree compiles the standard library.
    lands(&world, &builder, 1, "go mod download");
}
