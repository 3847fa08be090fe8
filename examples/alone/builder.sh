#!/bin/sh
# Plays the agent: its first attempt leaves punctuation in, and says that it is done. The second one reads the red check.
set -eu

words='title.lower().split()'
if [ -n "${HOLDPOINT_FEEDBACK_FILE:-}" ] && grep -q 'hello,-world!' "$HOLDPOINT_FEEDBACK_FILE"; then
    words='re.findall(r"[a-z0-9]+", title.lower())'
fi
cat > slugs.py <<PY
"""Slugs of titles."""

import re


def slug(title):
    """Lower-case words of letters and digits, joined by hyphens."""
    return "-".join($words)
PY
echo "All tests pass."
