#!/bin/sh
# What there is so far: nothing greets.
test ! -e greet.sh || sh greet.sh Ada | grep -q Ada
