#!/bin/sh
# Holdpoint's: starts the program of this name that PATH has behind this folder. Python finds the guard first, which puts
# everything back as it was.
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
# Without the site or the environment there is no guard, and nobody would put the path back.
for option; do
  case $option in
    -m* | -c*) break ;;
    -S* | -[!-]*S* | -[EI]* | -[!-WXmc]*[EI]*) exec "$program" "$@" ;;
    -*) ;;
    *) break ;;
  esac
done
[ -z "${PYTHONPATH+set}" ] || export HOLDPOINT_PYTHONPATH="$PYTHONPATH"
export PYTHONPATH=@MODULES@
# The test runner that the arguments name: of Python's own only the options before the program's are looked at.
name=@NAME@ runner= before=
case $name in pytest | py.test) runner=pytest ;; esac
for word; do
  [ -z "$runner" ] || break
  case $before$word in
    -mpytest | -munittest) runner=${before:+$word} runner=${runner:-${word#-m}} ;;
    -m?* | -c* | [!-]*) [ "$name" = coverage ] || break ;;
  esac
  case $word in -m | -W | -X) before=$word ;; *) before= ;; esac
done
observe() { @OBSERVE@; }
[ -z "$runner" ] || observe "$runner" "$program" "$@"
exec "$program" "$@"
