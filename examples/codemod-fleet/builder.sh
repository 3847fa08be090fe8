#!/bin/sh
# A builder that is a codemod: clippy fixes what it can in the crate that the waypoint is named after.
set -eu

crate=$HOLDPOINT_WAYPOINT
# Build output has no place in the work that is handed off.
export CARGO_TARGET_DIR="${TMPDIR:-/tmp}/target"

exec cargo clippy --fix --allow-dirty --allow-no-vcs --locked --offline -p "$crate" --no-deps
