# `go test` starts its programs through the observer, and takes no result of an earlier run for one of its own.
case ${GOFLAGS-} in *-exec*) exec "$program" "$@" ;; esac
# The folder to go to has to be the first option.
folder=
case ${1-}:${3-} in
  -C:test) folder=$2 && shift 3 ;;
  test:*)
    shift
    case ${1-} in
      -C | --C) folder=${2-} && shift 2 ;;
      -C=* | --C=*) folder=${1#*=} && shift ;;
    esac
    ;;
  *) exec "$program" "$@" ;;
esac
exec "$program" test ${folder:+-C} ${folder:+"$folder"} -exec @EXEC@ -count=1 "$@"
