#!/bin/sh
# Seven agents that say they are done, and one that is: what each does is in `lies/`, named after its waypoint.
set -eu

exec sh -eu "$(dirname "$0")/lies/$HOLDPOINT_WAYPOINT.sh"
