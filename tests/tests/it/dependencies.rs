//! Ordinary projects with dependencies, from the registries' ordinary clients, by a plan with nothing but the user's own commands.

use std::{io::Write as _, process::Command};

use holdpoint_tests::world::World;

/// A project, work on it, and the commands that its user types.
struct Flown {
    files: &'static [(&'static str, &'static str)],
    /// What its user did before the first commit: where a line fails, the project cannot be flown here.
    begin: &'static [&'static str],
    /// All of its tests.
    suite: &'static str,
    /// Those of the work, which are red before it.
    unit: &'static str,
    scope: &'static str,
    /// What the agent does.
    work: &'static str,
    /// What is in the command that sets it up; `None`: it depends on nothing.
    setup: Option<&'static str>,
}

const NPM: Flown = Flown {
    files: &[
        (
            "package.json",
            r#"{"name": "p", "version": "1.0.0", "type": "module", "scripts": {"test": "node --test"}, "dependencies": {"is-number": "7.0.0"}}"#,
        ),
        (
            "test/one.test.js",
            "import test from 'node:test';\nimport assert from 'node:assert';\nimport isNumber from 'is-number';\n\
             test('one', () => assert.ok(isNumber(1)));\n",
        ),
        (".gitignore", "node_modules/\n"),
    ],
    begin: &["npm install --package-lock-only --no-audit --no-fund"],
    suite: "npm test",
    unit: "node --test test/twice.test.js",
    scope: r#""src/**", "test/**""#,
    work: "test -f node_modules/is-number/package.json\nmkdir -p src\n\
           printf \"import isNumber from 'is-number';\\nexport const twice = (n) => (isNumber(n) ? 2 * n : NaN);\\n\" > src/twice.js\n\
           printf \"import test from 'node:test';\\nimport assert from 'node:assert';\\nimport { twice } from '../src/twice.js';\\ntest('twice', () => assert.equal(twice(2), 4));\\n\" > test/twice.test.js\n\
           rm -r node_modules/is-number && npm ci --no-audit --no-fund && npm test",
    setup: Some("npm ci --no-audit --no-fund"),
};

const GO: Flown = Flown {
    files: &[
        ("go.mod", "module example.com/stock\n\ngo 1.21\n"),
        (
            "stock/stock.go",
            "package stock\n\nimport \"github.com/pkg/errors\"\n\nfunc Id() string { return errors.New(\"a stock item\").Error() }\n",
        ),
        (
            "stock/stock_test.go",
            "package stock\n\nimport \"testing\"\n\nfunc TestId(t *testing.T) {\n\tif len(Id()) != 12 {\n\t\tt.Fatal()\n\t}\n}\n",
        ),
    ],
    begin: &["go get github.com/pkg/errors@v0.9.1", "go mod tidy"],
    suite: "go test ./...",
    unit: "go test ./stock -run TestFind -v",
    scope: r#""stock/find.go", "stock/find_test.go""#,
    // A rebuilt library would be in the agent's own cache.
    work: "printf 'package stock\\n\\nfunc Find() string { return Id()[:8] }\\n' > stock/find.go\n\
           printf 'package stock\\n\\nimport \"testing\"\\n\\nfunc TestFind(t *testing.T) {\\n\\tif len(Find()) != 8 {\\n\\t\\tt.Fatal()\\n\\t}\\n}\\n' > stock/find_test.go\n\
           GOFLAGS=-mod=mod GOPROXY=off go test -x ./... 2> \"$TMPDIR/commands\"\n\
           ! grep -e '-p errors ' \"$TMPDIR/commands\"",
    setup: Some("go mod download && "),
};

/// A world with the project in its first commits; `None`: it cannot be flown here, which is said.
fn begun(flown: &Flown) -> Option<World> {
    let world = World::new(flown.files);
    for line in flown.begin {
        let ran = Command::new("sh").args(["-c", line]).current_dir(world.path("repo")).output().unwrap();
        if !ran.status.success() {
            let [out, err] = [&ran.stdout, &ran.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
            let _ = writeln!(std::io::stderr(), "not flown: `{line}` fails here: {out}{err}");
            return None;
        }
    }
    world.git(&["add", "--all"]);
    world.git(&["commit", "--quiet", "--allow-empty", "--message=lock"]);
    Some(world)
}

/// Flies work on a project this often, and looks at what is said of its environment. Gives the agent's command.
fn lands(flown: &Flown, world: &World, flights: u32) -> String {
    let Flown { suite, unit, scope, setup, .. } = flown;
    world.plan(&format!(
        "plan: p\nguards: [{{id: suite, check: {suite:?}}}]\nwaypoints:\n  - id: w\n    goal: g\n    scope: [{scope}]\n    \
         criteria: [{{id: unit, check: {unit:?}, red_first: true}}]\n"
    ));
    let builder = world.program("builder.sh", flown.work);
    let is_setup = |text: &str| setup.is_none_or(|setup| text.contains(setup));
    for flight in 1..=flights {
        let run = world.fly(&builder, &[]);
        assert_eq!(run.expect(0).waypoint("w")["status"], "complete", "{flight}: {run}");
        assert_eq!(run.waypoint("w")["attempts"], 1, "{flight}: {run}");
        assert!(is_setup(&run.stderr), "{run}");
    }
    let doctor = world.holdpoint(&["doctor", "--json"]).json();
    let project = &doctor["project"];
    assert_eq!(project["setup"].as_str().is_some_and(is_setup), setup.is_some(), "{doctor}");
    assert_eq!(project["set_up"].as_bool().unwrap_or_default(), setup.is_some(), "{doctor}");
    builder
}

#[test]
fn work_on_an_npm_package_lands_at_the_first_try_with_its_dependencies_under_agents_and_checks() {
    let Some(world) = begun(&NPM) else { return };
    // The second flight finds what the first one set up.
    let builder = lands(&NPM, &world, 2);
    let checked = world.holdpoint(&["check", "../plan/plan.yaml", "--builder", &builder, "--json"]);
    assert_eq!(checked.expect(0).json()["environment"]["setup"], NPM.setup.unwrap());
    assert!(!world.git(&["log", "--all", "--name-only", "--format="]).contains("node_modules"), "they are no work");
}

#[test]
fn work_on_a_go_module_lands_at_the_first_try_with_its_dependencies_compiled_under_agents_and_checks() {
    let Some(world) = begun(&GO) else { return };
    lands(&GO, &world, 1);
}
