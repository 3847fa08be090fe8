#!/bin/sh
# Prints what tests over HTTP send as their tokens, one `NAME=value` a line.
set -eu

token=$(python3 -m api.tokens ann 600)
expired=$(python3 -m api.tokens ann -600)
echo "TOKEN=$token"
echo "EXPIRED=$expired"
