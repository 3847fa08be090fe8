//! Rows for shells.

use super::Row;

pub(super) const ROWS: &[Row] = &[
    ("ignores-failures", "run.sh", "pytest -q || true", "pytest -q || exit 1"),
    ("ignores-failures", "run.sh", "cargo test --all || echo red", "grep x y || true"),
    ("ignores-failures", "run.sh", "npm test || exit 0", "npm install || exit 0"),
    ("ignores-failures", "run.sh", "set +e", "set -e"),
    ("ignores-failures", "run.sh", "set +o pipefail", "set -o pipefail"),
    ("ignores-failures", "run.sh", "trap 'exit 0' EXIT", "trap 'rm -rf \"$d\"' EXIT"),
    ("ignores-failures", "run.sh", "! pytest tests", "! grep x y"),
    ("ignores-failures", "run.sh", "pytest -q; exit 0", "make install; exit 0"),
    ("hides-output", "run.sh", "pytest > /dev/null 2>&1", "make install > /dev/null"),
    ("hides-output", "run.sh", "go test ./... >/dev/null", "go test ./... > report.txt"),
    ("shadows-programs", "run.sh", "export PATH=\"$PWD/bin:$PATH\"", "export PATH=\"$HOME/.cargo/bin:$PATH\""),
    ("shadows-programs", "run.sh", "PATH=bin:$PATH make", "PATH=/usr/bin:$PATH make"),
    ("shadows-programs", "run.sh", "pytest() { true; }", "run_tests() { pytest; }"),
    ("shadows-programs", "run.sh", "alias pytest=true", "alias ll='ls -l'"),
    ("steers-other-programs", "run.sh", "export LD_PRELOAD=./x.so", "export LANG=C"),
    (
        "steers-other-programs",
        "run.sh",
        "NODE_OPTIONS='--require ./x.js' npm test",
        "NODE_OPTIONS=--max-old-space-size=4096 npm test",
    ),
    ("signals-others", "run.sh", "kill -9 $PPID", "kill \"$child\""),
    ("signals-others", "run.sh", "pkill pytest", "pgrep pytest"),
    ("silences-tool", "run.sh", "# shellcheck disable=SC2086", "# shellcheck source=a.sh"),
];
