#!/bin/sh
# Holdpoint's: starts the program of this name that PATH has behind this folder.
here=@BIN@
set -f
IFS=:
program= rest=
for folder in $PATH; do
  [ "$folder" = "$here" ] && continue
  rest=$rest${rest:+:}$folder
  [ -z "$program" ] && [ -f "${folder:-.}/@NAME@" ] && [ -x "${folder:-.}/@NAME@" ] && program=${folder:-.}/@NAME@
done
unset IFS
if [ -z "$program" ]; then
  echo "@NAME@: not found" >&2
  exit 127
fi
PATH=$rest
