#!/bin/sh
# Plays the worker: it specifies, estimates and makes. Its first greeting is wrong, and the verifier finds out.
set -eu
prompt=$(cat)
at() { case $prompt in *"at gate \`$1\` on waypoint"*) ;; *) return 1 ;; esac; }
wait_for() { while [ -n "${SDLC_WAIT:-}" ] && [ ! -e "$SDLC_WAIT/go-$1" ]; do sleep 0.05; done; }

if at document; then
  wait_for document
  grep -q 'greets everybody' "$HOLDPOINT_DOCUMENTS_DIR/brainstorm.md"
  cat > "$HOLDPOINT_DOCUMENT_FILE" << 'DOC'
# Acceptance Criteria

- `sh greet.sh Ada` prints `hello Ada`
- `sh greet-all.sh Ada Bob` prints one line for each

# Test Scenarios

One name, and two.

# Security

Names are printed and never run.
DOC
  echo "Specified."
elif at estimate; then
  grep -q 'One person first' "$HOLDPOINT_DOCUMENTS_DIR/plan.md"
  holdpoint-ask complete --outcome complete --summary 'Each task takes less than an hour.'
else
  wait_for execute
  # The specification of the request is here as well.
  grep -q 'hello Ada' "$HOLDPOINT_DOCUMENTS_DIR/document.md"
  case $prompt in
    *'Greet everybody'*) printf 'for name; do sh greet.sh "$name"; done\n' > greet-all.sh ;;
    *) if [ "$HOLDPOINT_ATTEMPT" = 1 ]; then echo 'echo "hallo $1"' > greet.sh; else echo 'echo "hello $1"' > greet.sh; fi ;;
  esac
  echo "Done."
fi
