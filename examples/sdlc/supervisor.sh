#!/bin/sh
# Plays the supervisor: one program for all gates of its role. It knows its gate from the prompt.
set -eu
prompt=$(cat)
at() { case $prompt in *"at gate \`$1\` on waypoint"*) ;; *) return 1 ;; esac; }
wait_for() { while [ -n "${SDLC_WAIT:-}" ] && [ ! -e "$SDLC_WAIT/go-$1" ]; do sleep 0.05; done; }
doc="${HOLDPOINT_DOCUMENT_FILE:-}"

if at brainstorm; then
  wait_for brainstorm
  cat > "$doc" << 'DOC'
---
checkpoints:
  - {name: stack_aligned, status: pass, message: the repository has shell scripts only}
---
# Goal

A script that greets somebody by name, and one that greets everybody.

# Constraints

POSIX shell, and no network.
DOC
  echo "The request is clear."
elif at plan; then
  wait_for plan
  cat > "$doc" << 'DOC'
---
proposal:
  waypoints:
    - key: greet
      title: Greet one person
      goal: Write `greet.sh`, which says hello to its argument.
      estimate: 20m
      scope: [greet.sh]
      criteria:
        - {id: hello, check: 'sh greet.sh Ada | grep -qx "hello Ada"'}
    - key: greet-all
      title: Greet everybody
      goal: Write `greet-all.sh`, which greets each of its arguments with `greet.sh`.
      estimate: 30m
      depends_on: [greet]
      scope: [greet-all.sh]
      criteria:
        - {id: all, check: 'sh greet-all.sh Ada Bob | grep -c hello | grep -qx 2'}
---
# Plan

One person first, because everybody is greeted one by one.
DOC
  echo "Two tasks."
elif at track; then
  wait_for track
  test -e greet.sh && test -e greet-all.sh
  holdpoint-ask complete --outcome complete --summary 'Both scripts landed, and they are what was asked for.'
else
  # The specification, and each task.
  holdpoint-ask complete --outcome complete --summary 'It is what was asked for.'
fi
