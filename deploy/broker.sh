# Starts the broker of this container, unless its store was written the other way: by a single server and it is to join a cluster,
# or by a cluster and it is to run alone. nats-server would start, show none of the streams, and drop or overwrite them.
# Each stream says how many servers keep it, and only a cluster keeps more than one copy (orchestrator.replicas). A cluster is seen
# in the arguments and in the file that they name, not in files that this one includes.
# Builtins of the shell only: the image has no other programs. docs/deploy.md, "From one broker to three".
set -eu
server=${NATS_PROGRAM:-/nats-server}
store=${NATS_STORE:-/data}

refuse() {
    printf 'broker: %s\n' "$@" >&2
    exit 1
}

# Whether a configuration has a cluster.
has_cluster() {
    while read -r word _ || [ -n "$word" ]; do
        case $word in cluster | cluster[:={]*) return 0 ;; esac
    done < "$1"
    return 1
}

# Whether these arguments start a server of a cluster.
is_clustered() {
    while [ $# -gt 0 ]; do
        case $1 in
            -c | -config | --config) [ $# -eq 1 ] || ! has_cluster "$2" || return 0 ;;
            -c=* | -config=* | --config=*) ! has_cluster "${1#*=}" || return 0 ;;
            -cluster | --cluster | -cluster=* | --cluster=* | -cluster_listen* | --cluster_listen*) return 0 ;;
        esac
        shift
    done
    return 1
}

# Streams that one server keeps, and streams that several keep.
single=0
copied=0
for stream in "$store"/jetstream/*/streams/*/meta.inf; do
    [ -e "$stream" ] || continue
    said=
    read -r said < "$stream" || :
    case $said in
        *'"num_replicas":1,'*) single=$((single + 1)) ;;
        *'"num_replicas":'*) copied=$((copied + 1)) ;;
        *) refuse "not started: $stream is damaged or encrypted, so nobody can tell whether a cluster wrote this store." \
            "Nothing was changed. Restore the store from a backup (docs/operations.md); in a cluster, empty the store of this server only: the others bring it back." ;;
    esac
done

if is_clustered "$@"; then
    if [ "$single" -gt 0 ]; then
        refuse "not started: $store has $single streams of a single broker, and a cluster would drop them with every flight." \
            "Nothing was changed. Start the fleet as before, with one broker (without deploy/compose.cluster.yaml), and all of it is there." \
            "docs/deploy.md, \"From one broker to three\", says how a fleet moves."
    fi
elif [ "$copied" -gt 0 ]; then
    refuse "not started: $store belongs to a cluster, and a single broker would show none of its flights and begin new ones over them." \
        "Nothing was changed. Start the fleet as before, with all brokers (deploy/compose.cluster.yaml), and all of it is there." \
        "docs/deploy.md, \"From one broker to three\", says how a fleet moves."
fi
exec "$server" "$@"
