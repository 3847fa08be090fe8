# Starts the broker of this container, unless its store was written the other way: by a single server and it is to join a cluster,
# or by a cluster and it is to run alone. nats-server would start, show none of the streams, and drop or overwrite them. A store that
# was in a cluster before passes as a cluster's, even if a single server wrote its streams since; a cluster is seen in the file behind --config only.
# Builtins of the shell only: the image has no other programs. docs/deploy.md, "From one broker to three".
set -eu
server=${NATS_PROGRAM:-/nats-server}
store=${NATS_STORE:-/data}

refuse() {
    printf 'broker: %s\n' "$@" >&2
    exit 1
}

# Whether the configuration that these arguments name has a cluster.
is_clustered() {
    while [ $# -gt 1 ]; do
        if [ "$1" = --config ]; then
            while read -r word _; do
                case $word in cluster | cluster[:\{]*) return 0 ;; esac
            done < "$2"
        fi
        shift
    done
    return 1
}

# Whether a cluster ever held this store: its servers keep the list of streams together, in the folder of the system account.
has_been_clustered() {
    for meta in "$store"/jetstream/*/_js_/_meta_; do
        [ ! -e "$meta" ] || return 0
    done
    return 1
}

# Each stream says of itself how many servers keep it.
streams=0
copies=1
for stream in "$store"/jetstream/*/streams/*/meta.inf; do
    [ -e "$stream" ] || continue
    streams=$((streams + 1))
    said=
    read -r said < "$stream" || :
    case $said in *'"num_replicas":1,'*) ;; *'"num_replicas":'*) copies=several ;; esac
done

if is_clustered "$@"; then
    if [ "$streams" -gt 0 ] && ! has_been_clustered; then
        refuse "not started: $store has $streams streams of a single broker, and a cluster would drop them with every flight." \
            "Nothing was changed. Start the fleet as before, with one broker (without deploy/compose.cluster.yaml), and all of it is there." \
            "docs/deploy.md, \"From one broker to three\", says how a fleet moves."
    fi
elif [ "$copies" = several ]; then
    refuse "not started: $store belongs to a cluster, and a single broker would show none of its flights and begin new ones over them." \
        "Nothing was changed. Start the fleet as before, with all brokers (deploy/compose.cluster.yaml), and all of it is there." \
        "docs/deploy.md, \"From one broker to three\", says how a fleet moves."
fi
exec "$server" "$@"
