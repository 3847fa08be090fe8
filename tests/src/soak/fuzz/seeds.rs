//! The targets of `fuzz/`, and what each begins with: goldens, fixtures, examples, and a few texts.

use std::{fs, path::Path};

/// One target.
#[derive(Debug)]
pub(super) struct Target {
    /// Its name, as `fuzz/src/main.rs` has it.
    pub(super) name: &'static str,
    /// Files to begin with: folders of the repository and the endings of the files in them.
    files: &'static [(&'static str, &'static str)],
    /// What is put before each file's text: some targets want to know what comes.
    before: &'static str,
    /// Texts to begin with.
    texts: &'static [&'static str],
}

const GOLDEN_JSON: &[(&str, &str)] = &[("protocol/golden", ".json")];
const GOLDEN_PACKED: &[(&str, &str)] = &[("protocol/golden", ".msgpack")];
const OUTPUTS: &[&str] = &[
    "\u{1}<execution-stage>x</execution-stage>\n<waypoint-complete>w1</waypoint-complete>\n",
    "\u{0}<validation command=\"make test\" exit='0'>ok</validation><waypoint-complete>w1</waypoint-complete>",
    "\u{4}<acceptance-criterion id=\"unit\">green</acceptance-criterion>\n```\n<waypoint-complete>w1\n```\n",
    "\u{7}>>>HELP<<<\n{\"why\": [1, {}]}\nCLAUDE_CADENCE_SYSTEM_SIGNAL::HELP_REQUEST\n",
    "\u{0}{\"component\": \"b\", \"status\": \"success\", \"data\": {}}\n\u{0}>>>HELP<<<\n",
    "\u{0}{\"type\": \"ClarificationRequest\", \"question\": \"q\", \"options\": [1], \"confidence\": 0.5}\n",
];

/// All targets.
pub(super) const TARGETS: &[Target] = &[
    Target { name: "answer", files: &[], before: "", texts: OUTPUTS },
    Target { name: "api_json", files: GOLDEN_JSON, before: "", texts: &[] },
    Target { name: "api_msgpack", files: GOLDEN_PACKED, before: "", texts: &[] },
    Target { name: "artifact_json", files: GOLDEN_JSON, before: "", texts: &[] },
    Target { name: "artifact_msgpack", files: GOLDEN_PACKED, before: "", texts: &[] },
    Target {
        name: "bundle",
        files: &[],
        before: "",
        texts: &[
            "# v2 git bundle\n-0123456789abcdef0123456789abcdef01234567 a\n\
             0123456789abcdef0123456789abcdef01234567 refs/x\n\nPACK\0\0\0\u{2}\0\0\u{1}\u{2}",
            "# v3 git bundle\n@object-format=sha1\n0123456789abcdef0123456789abcdef01234567 refs/x\n\nPACK\0\0\0\u{2}\0\0\0\0",
        ],
    },
    Target {
        name: "config",
        files: &[],
        before: "",
        texts: &[
            "[nats]\nurl = \"nats://127.0.0.1:4222\"\n[agents.builder]\ncommand = \"make\"\ntimeout = \"30m\"\n\
             output = \"10MiB\"\nenv = {A = \"b\"}\n[sandbox]\nwaive = []\n[telemetry]\nlog = \"info\"\n",
            "[orchestrator]\n[agent]\nack_wait = \"30s\"\n[agents.verifier]\njudge = \"x\"\n",
        ],
    },
    Target {
        name: "declared",
        files: &[
            ("examples/workflows", ".yaml"),
            ("planfile/src/declared/fixtures", ".yaml"),
            ("core/workflows", ".yaml"),
        ],
        before: "",
        texts: &[
            "workflow:\n  name: x\n  gates:\n    - {id: a, role: w, when: 'tags[0]', metadata: {kind: deploy}}\n    - id: f\n      \
             type: fork\n      branches: [{id: b, role: e, canReject: true}, {id: c, role: p, timeout: 1h}]\n\u{1}roles:\n  \
             w: {agents: [a]}\n  e: {agents: [human-b]}\n  p: {agents: [human-c], requireHuman: true}\n",
        ],
    },
    Target { name: "engine", files: &[("fuzz/seeds/engine", ".json")], before: "", texts: &[] },
    Target {
        name: "glob",
        files: &[],
        before: "",
        texts: &["src/**\nsrc/a/b.rs\nsrc", "**/*.{rs,toml}\na.rs", "a/[!b-d]?\\*\na/xy*", "{a,{b,c}}/**/d\nb/d"],
    },
    Target { name: "journal_json", files: GOLDEN_JSON, before: "", texts: &[] },
    Target { name: "journal_msgpack", files: GOLDEN_PACKED, before: "", texts: &[] },
    Target {
        name: "jwt",
        files: &[],
        before: "",
        texts: &[
            "eyJ0eXAiOiJKV1QiLCJhbGciOiJlZDI1NTE5LW5rZXkifQ.e30.c2ln",
            "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4\nc2lnbmF0dXJl",
            "-----BEGIN NATS USER JWT-----\na.b.c\n------END NATS USER JWT------\n-----BEGIN USER NKEY SEED-----\nSU\n",
            "{\"agents_account\": \"\", \"roles\": {}, \"orchestrators\": [], \"revoked\": {}}",
        ],
    },
    Target {
        name: "manifest",
        files: &[("core", ".toml"), ("xtask", ".toml"), ("examples/codemod-fleet/repo", ".toml")],
        before: "\0",
        texts: &[
            "\u{1}{\"name\": \"x\", \"scripts\": {\"test\": \"jest\"}}\0{\"name\": \"y\", \"dependencies\": {\"a\": \"1\"}}",
            "\u{2}[project]\nname = \"x\"\n[tool.pytest]\na = [1]\0[project]\nname = \"y\"\n[tool.poetry]\nname = \"z\"",
            "\0a.b.c = {d.e = [1, {f = 2}]}\n[[bin]]\nname = \"x\"\0[[bin]]\ntest = false",
        ],
    },
    Target { name: "markers", files: &[], before: "", texts: OUTPUTS },
    Target {
        name: "names",
        files: &[],
        before: "",
        texts: &[
            "hp.v1.handoff.builder.3.demo-1.w1.build_artifact",
            "hp.v1.handoff.operator.3.demo-1._.pause",
            "hp.v1.journal.demo-1.w1.turn.builder.high.fleet",
            "hp.v1.journal.demo-1._.submitted",
            "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
            "1.0",
            "\"2026-01-01T00:00:00.123Z\"",
            "application/msgpack",
        ],
    },
    Target {
        name: "plan",
        files: &[
            ("planfile/src/plan/fixtures", ".yaml"),
            ("examples/first-flight", ".yaml"),
            ("examples/codemod-fleet", ".yaml"),
            ("examples/claude-code", ".yaml"),
        ],
        before: "",
        texts: &[
            "plan: p\nwaypoints:\n  - {id: a, goal: g, metadata: {a: [1, ~]}, criteria: [{id: c, check: x, expect: '(a|b)'}]}\n",
        ],
    },
    Target {
        name: "runners",
        files: &[("evidence/src/runners/fixtures", ".txt")],
        before: "make test\n",
        texts: &[
            "cargo test\nrunning 2 tests\ntest a ... ok\ntest b ... FAILED\ntest result: FAILED. 1 passed; 1 failed; 0 ignored;",
            "pytest -v\na.py::b PASSED\n=== 1 passed, 2 skipped in 0.1s ===",
            "node --test\n# tests 2\n# pass 1\n# fail 1\n# skipped 0\n# todo 0",
            "jest\nTests: 1 failed, 2 passed, 3 total",
        ],
    },
    Target {
        name: "scripts",
        files: &[],
        before: "",
        texts: &[
            "cd a && sh -e ./run.sh | python3 -m tools.check; make -f ci.mk",
            "env A=1 timeout 5 bash -c 'node x.js' || uv run pytest --config=x.toml",
            "a b\nb c/../d\nc a",
        ],
    },
];

impl Target {
    /// Writes the seeds into the folder of inputs.
    pub(super) fn write_seeds(&self, root: &Path, corpus: &Path) {
        for (n, text) in self.texts.iter().enumerate() {
            fs::write(corpus.join(format!("seed-{n}")), text).unwrap();
        }
        for (folder, ending) in self.files {
            // A folder that is not there any more is seen by the test below.
            for entry in fs::read_dir(root.join(folder)).into_iter().flatten().flatten() {
                let name = entry.file_name().to_string_lossy().into_owned();
                if name.ends_with(ending) {
                    let text = [self.before.as_bytes(), &fs::read(entry.path()).unwrap()].concat();
                    fs::write(corpus.join(format!("seed-{}-{name}", folder.replace('/', "-"))), text).unwrap();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root() -> &'static Path {
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("this crate is below the root")
    }

    #[test]
    fn every_target_is_known_to_the_fuzz_program_and_has_seeds() {
        let program = fs::read_to_string(root().join("fuzz/src/main.rs")).unwrap();
        let table = program.split("TARGETS: &[(&str, Target)] = &[").nth(1).unwrap().split("];").next().unwrap();
        let there: Vec<&str> = table.lines().filter_map(|line| line.split('"').nth(1)).collect();
        assert_eq!(TARGETS.iter().map(|target| target.name).collect::<Vec<_>>(), there);
        for target in TARGETS {
            let folder = tempfile::tempdir().unwrap();
            target.write_seeds(root(), folder.path());
            let seeds = fs::read_dir(folder.path()).unwrap().count();
            assert!(seeds >= target.texts.len() + target.files.len() && seeds > 0, "{}", target.name);
        }
    }
}
