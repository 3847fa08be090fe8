#!/bin/sh
# Plays the building agent: writes the code of one waypoint into the current directory, a clone of its own.
# The prompt is on stdin; this program knows its two waypoints by name and does not read it.
set -eu

case "$HOLDPOINT_WAYPOINT" in
read-times)
    cat > stopover/times.py <<'PY'
"""Times of day."""


def minutes(text):
    """Minutes since midnight for a time such as 23:40. Raises ValueError for anything else."""
    hours, colon, rest = text.partition(":")
    if not (colon and hours.isdigit() and rest.isdigit() and len(rest) == 2):
        raise ValueError(f"not a time of day: {text!r}")
    if int(hours) > 23 or int(rest) > 59:
        raise ValueError(f"not a time of day: {text!r}")
    return int(hours) * 60 + int(rest)
PY
    cat > tests/test_times.py <<'PY'
import unittest

from stopover.times import minutes


class Minutes(unittest.TestCase):
    def test_midnight_is_zero(self):
        self.assertEqual(minutes("00:00"), 0)
PY
    echo "Times of day are read by stopover.times.minutes."
    ;;
layovers)
    # The first attempt forgets midnight. A second one, where no repair agent is there, is right.
    if [ "$HOLDPOINT_ATTEMPT" -le 1 ]; then
        wait="minutes(departs) - minutes(arrives)"
    else
        wait="(minutes(departs) - minutes(arrives)) % (24 * 60)"
    fi
    cat > stopover/layovers.py <<PY
"""Time between two legs."""

from stopover.times import minutes


def layover(arrives, departs):
    """Minutes from an arrival to the next departure, both times of day."""
    return $wait
PY
    echo "Layovers are computed by stopover.layovers.layover. All done."
    ;;
*)
    echo "no idea how to do waypoint $HOLDPOINT_WAYPOINT" >&2
    exit 1
    ;;
esac
