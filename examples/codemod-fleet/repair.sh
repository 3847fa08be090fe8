#!/bin/sh
# Fixes by hand what clippy can name but not fix. It gets the work as the builder left it.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
patch="$here/patches/$HOLDPOINT_WAYPOINT.patch"

if [ ! -f "$patch" ]; then
    echo "no patch for $HOLDPOINT_WAYPOINT" >&2
    exit 1
fi
git apply "$patch"
echo "Applied $(basename "$patch")."
