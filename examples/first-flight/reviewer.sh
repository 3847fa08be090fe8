#!/bin/sh
# Plays an agent that completes a gate: reads what the gate wants, counts what was changed, and says so. Its last words are the
# completion's summary. This example's plan has no such gate: deploy/compose.reviewer.yaml runs it for yours.
set -eu

cat > /dev/null
changed=$(grep -c '^diff --git' "${HOLDPOINT_DIFF_FILE:-/dev/null}" || true)
echo "Looked at $changed changed files."
