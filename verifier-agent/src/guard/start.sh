# Python finds the guard first, which puts everything back as it was.
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
