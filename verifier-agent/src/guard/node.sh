# `node --test` runs through the observer.
tests= reporters= destinations=
for option; do
  case $option in
    --test) tests=y ;;
    --test-reporter-destination*) destinations=y ;;
    --test-reporter*) reporters=y ;;
    # Its own way of starting test files, or none.
    --watch* | --test-isolation* | --experimental-test-isolation*) tests= && break ;;
  esac
done
case ${NODE_OPTIONS-} in *--test-*) tests= ;; esac
[ -n "$tests" ] || exec "$program" "$@"
# Older ones know no reporters.
case $("$program" --version) in v[0-9].* | v1[0-8].*) exec "$program" "$@" ;; esac
modules=@MODULES@
heard=$modules/node_observer.cjs
if [ -z "$reporters$destinations" ]; then
  set -- --test-reporter="$modules/node_shown.cjs" "$@"
else
  [ -n "$destinations" ] || set -- --test-reporter-destination=stdout "$@"
  set -- --test-reporter="$heard" --test-reporter-destination=stderr "$@"
fi
exec @OBSERVE@ node "$program" --require="$heard" "$@"
