//! Ordinary projects with dependencies, from the registries' ordinary clients, by a plan with nothing but the user's own commands.

use std::{io::Write as _, process::Command};

use holdpoint_tests::world::World;

/// A project, work on it, and the commands that its user types.
struct Flown {
    files: &'static [(&'static str, &'static str)],
    /// What its user did before the first commit: where a line fails, the project cannot be flown here.
    begin: &'static [&'static str],
    /// All of its tests, as a guard; `None`: left out, because each run takes seconds.
    suite: Option<&'static str>,
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
    suite: Some("npm test"),
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
    suite: None,
    unit: "go test ./stock -run TestFind -v",
    scope: r#""stock/find.go", "stock/find_test.go""#,
    // A rebuilt library would be in the agent's own cache.
    work: "printf 'package stock\\n\\nfunc Find() string { return Id()[:8] }\\n' > stock/find.go\n\
           printf 'package stock\\n\\nimport \"testing\"\\n\\nfunc TestFind(t *testing.T) {\\n\\tif len(Find()) != 8 {\\n\\t\\tt.Fatal()\\n\\t}\\n}\\n' > stock/find_test.go\n\
           GOFLAGS=-mod=mod GOPROXY=off go test -x ./... 2> \"$TMPDIR/commands\"\n\
           ! grep -e '-p errors ' \"$TMPDIR/commands\"",
    setup: Some("go mod download && "),
};

const MAVEN: Flown = Flown {
    files: &[
        (
            "pom.xml",
            "<project xmlns=\"http://maven.apache.org/POM/4.0.0\">\n  <modelVersion>4.0.0</modelVersion>\n  \
             <groupId>shop</groupId><artifactId>shop</artifactId><version>1.0</version>\n  <properties>\n    \
             <maven.compiler.source>17</maven.compiler.source><maven.compiler.target>17</maven.compiler.target>\n    \
             <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>\n  </properties>\n  <dependencies>\n    \
             <dependency><groupId>org.junit.jupiter</groupId><artifactId>junit-jupiter</artifactId><version>5.10.2</version><scope>test</scope></dependency>\n  \
             </dependencies>\n  <build><plugins>\n    \
             <plugin><groupId>org.apache.maven.plugins</groupId><artifactId>maven-surefire-plugin</artifactId><version>3.2.5</version></plugin>\n  \
             </plugins></build>\n</project>\n",
        ),
        (
            "src/main/java/shop/Cart.java",
            "package shop;\n\npublic class Cart {\n    public static int twice(int n) { return 2 * n; }\n}\n",
        ),
        (
            "src/test/java/shop/CartTest.java",
            "package shop;\n\nimport static org.junit.jupiter.api.Assertions.assertEquals;\nimport org.junit.jupiter.api.Test;\n\n\
             class CartTest {\n    @Test void twice() { assertEquals(4, Cart.twice(2)); }\n}\n",
        ),
        (".gitignore", "target/\n"),
    ],
    begin: &["mvn -B -q test"],
    suite: None,
    unit: "mvn -B test -Dtest=DiscountTest",
    scope: r#""src/**""#,
    work: "cat > src/main/java/shop/Discount.java <<'J'\npackage shop;\n\npublic class Discount {\n    public static int of(int n) { return Cart.twice(n) / 3; }\n}\nJ\n\
           cat > src/test/java/shop/DiscountTest.java <<'J'\npackage shop;\n\nimport static org.junit.jupiter.api.Assertions.assertEquals;\n\
           import org.junit.jupiter.api.Test;\n\nclass DiscountTest {\n    @Test void third() { assertEquals(2, Discount.of(3)); }\n}\nJ",
    setup: Some("mvn -B -q dependency:go-offline"),
};

const CMAKE: Flown = Flown {
    files: &[
        (
            "CMakeLists.txt",
            "cmake_minimum_required(VERSION 3.20)\nproject(geo CXX)\nset(CMAKE_CXX_STANDARD 17)\nenable_testing()\n\
             find_package(GTest REQUIRED)\ninclude(GoogleTest)\nfile(GLOB TESTS CONFIGURE_DEPENDS *_test.cpp)\n\
             add_executable(geo_tests ${TESTS})\ntarget_link_libraries(geo_tests GTest::gtest_main)\n\
             gtest_discover_tests(geo_tests)\n",
        ),
        ("area.h", "inline int area(int w, int h) { return w * h; }\n"),
        (
            "area_test.cpp",
            "#include \"area.h\"\n#include <gtest/gtest.h>\nTEST(Area, Product) { EXPECT_EQ(area(2, 3), 6); }\n",
        ),
        (".gitignore", "build/\n"),
    ],
    begin: &["cmake -S . -B build", "ctest --version"],
    suite: None,
    unit: "cmake -S . -B build && cmake --build build && ctest --test-dir build -R Perimeter --no-tests=error",
    scope: r#""*.h", "*_test.cpp""#,
    work: "echo 'inline int perimeter(int w, int h) { return 2 * (w + h); }' > perimeter.h\n\
           cat > perimeter_test.cpp <<'C'\n#include \"perimeter.h\"\n#include <gtest/gtest.h>\nTEST(Perimeter, Rectangle) { EXPECT_EQ(perimeter(2, 3), 10); }\nC",
    setup: None,
};

const UV: Flown = Flown {
    files: &[
        (
            "pyproject.toml",
            "[project]\nname = \"dates\"\nversion = \"0.1.0\"\nrequires-python = \">=3.9\"\ndependencies = [\"iniconfig==2.0.0\"]\n",
        ),
        ("settings.py", "import iniconfig\n\n\ndef sections(path):\n    return list(iniconfig.IniConfig(path))\n"),
        (
            "test_settings.py",
            "import unittest\n\nimport settings\n\n\nclass Settings(unittest.TestCase):\n    def test_names(self):\n        \
             self.assertTrue(callable(settings.sections))\n",
        ),
        (".gitignore", ".venv/\n__pycache__/\n"),
    ],
    begin: &["uv lock"],
    suite: Some("uv run python -m unittest"),
    unit: "uv run python -m unittest test_first",
    scope: r#""*.py""#,
    work: "printf 'import settings\\n\\n\\ndef first(path):\\n    return settings.sections(path)[0].name\\n' > first.py\n\
           cat > test_first.py <<'P'\nimport os\nimport tempfile\nimport unittest\n\nimport first\n\n\nclass First(unittest.TestCase):\n    \
           def test_first(self):\n        with tempfile.TemporaryDirectory() as folder:\n            path = os.path.join(folder, 'x.ini')\n            \
           with open(path, 'w') as file:\n                file.write('[a]\\nb = 1\\n')\n            self.assertEqual(first.first(path), 'a')\nP\n\
           uv run python -m unittest",
    setup: Some("uv sync --frozen"),
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
    let guards = suite.map(|suite| format!("guards: [{{id: suite, check: {suite:?}}}]\n")).unwrap_or_default();
    world.plan(&format!(
        "plan: p\n{guards}waypoints:\n  - id: w\n    goal: g\n    scope: [{scope}]\n    \
         criteria: [{{id: unit, check: {unit:?}, red_first: true}}]\n"
    ));
    let builder = world.program("builder.sh", flown.work);
    let is_setup = |text: &str| setup.is_none_or(|setup| text.contains(setup));
    for flight in 1..=flights {
        let run = world.fly(&builder, &[]);
        assert_eq!(run.expect(0).waypoint("w")["status"], "complete", "{flight}: {run}");
        assert_eq!(run.waypoint("w")["attempts"], 1, "{flight}: {run}");
        assert_eq!(run.stderr.contains("its environment is set up with"), setup.is_some(), "{run}");
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

#[test]
fn work_on_a_maven_project_lands_at_the_first_try_with_its_dependencies_under_checks() {
    let Some(world) = begun(&MAVEN) else { return };
    lands(&MAVEN, &world, 1);
}

#[test]
fn work_on_a_cmake_project_with_googletest_lands_at_the_first_try() {
    let Some(world) = begun(&CMAKE) else { return };
    lands(&CMAKE, &world, 1);
}

#[test]
fn work_on_a_python_project_with_uv_lands_at_the_first_try_with_its_dependencies_under_agents_and_checks() {
    let Some(world) = begun(&UV) else { return };
    lands(&UV, &world, 1);
}
