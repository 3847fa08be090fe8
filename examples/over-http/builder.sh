#!/bin/sh
# Plays the building agent: writes the route of bookings. Its first attempt takes an expired token for a forbidden one; the second
# reads in the evidence of the red test which status was expected.
set -eu

expired=403
if grep -q "expected status 401, got 403" "${HOLDPOINT_FEEDBACK_FILE:-/dev/null}"; then
    expired=401
fi
cat > api/routes.py <<PY
"""What the service answers."""

import json

from api import tokens


def answer(method, path, authorization, body):
    """Status and text of the response to a request."""
    if (method, path) == ("GET", "/health"):
        return 200, "up"
    if (method, path) == ("POST", "/api/bookings"):
        return book(authorization, body)
    return 404, "no such route"


def book(authorization, body):
    """Books a flight for the name in the token."""
    if not authorization:
        return 401, "missing token"
    try:
        name = tokens.name_of(authorization.removeprefix("Bearer "))
    except tokens.Expired:
        return $expired, "the token is expired"
    except ValueError:
        return 401, "not a token"
    return 201, f"{json.loads(body)['flight']} is booked for {name}"
PY
echo "Bookings need a token now."
