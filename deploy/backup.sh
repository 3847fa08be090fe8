#!/bin/sh
# Saves the compose fleet's broker and keys, and puts them back. From the repository's root, with the COMPOSE_… variables that the
# fleet was started with:
#
#   sh deploy/backup.sh save DIR       stops the fleet, writes DIR/<server>.tar, DIR/keys.tar and their digests, starts the fleet
#   sh deploy/backup.sh restore DIR    the same into a fleet that has no volumes yet, and starts it
#
# COMPOSE names another program than `docker compose`. The files hold secrets: anyone who has keys.tar can make any credentials.
set -eu
umask 077
compose=${COMPOSE:-docker compose}

fail() {
    printf 'backup: %s\n' "$1" >&2
    exit 1
}

# The container of a service, also one that has ended; nothing where the fleet has no such service.
container() {
    $compose ps -a -q "$1" 2>/dev/null | head -n 1
}

# tar, in a container that sees the volumes of another one and nothing else.
tar_of() {
    of=$1
    shift
    docker run --rm --interactive --network none --cap-drop ALL --volumes-from "$of" --entrypoint tar "$image" "$@"
}

[ $# -eq 2 ] || fail "say save or restore, and a folder"
folder=$2

# Finds the containers; all exist, whether or not they run.
find_all() {
    keys=$(container keys)
    [ -n "$keys" ] || fail "there is no container of keys: is this the folder, and are these the files, that the fleet was started with?"
    image=$(docker inspect --format '{{.Image}}' "$keys")
    servers=""
    for server in nats nats-2 nats-3; do
        if [ -n "$(container "$server")" ]; then servers="$servers $server"; fi
    done
    [ -n "$servers" ] || fail "there is no container of the broker"
}

case "$1" in
save)
    find_all
    mkdir -p "$folder"
    [ -z "$(ls -A "$folder")" ] || fail "$folder is not empty"
    # Whatever fails from here on, the fleet goes on.
    trap '$compose start' EXIT
    trap 'exit 130' HUP INT TERM
    # Processes hand back what they hold; the broker closes its files. What is copied is one moment.
    $compose stop
    for server in $servers; do
        tar_of "$(container "$server")" -C /data -cf - . > "$folder/$server.tar"
    done
    tar_of "$keys" -C /keys -cf - . > "$folder/keys.tar"
    (cd "$folder" && sha256sum -- *.tar > SHA256SUMS)
    trap - EXIT HUP INT TERM
    $compose start
    ;;
restore)
    (cd "$folder" && sha256sum --check --quiet SHA256SUMS) || fail "$folder is not what was saved"
    # Containers make the volumes and give them their owners. Without dependencies: nothing runs yet that could be waited for.
    services=$($compose config --services)
    for service in $(printf '%s\n' "$services" | grep -e '-volume$') keys $(printf '%s\n' "$services" | grep -x -e 'nats\(-[23]\)\{0,1\}'); do
        $compose up --no-start --no-deps "$service"
    done
    find_all
    for server in $servers; do
        [ -f "$folder/$server.tar" ] || fail "$folder has no $server.tar: a cluster is restored with as many servers as it was saved"
        held=$(tar_of "$(container "$server")" -C /data -cf - . | wc -c)
        # An empty folder: one entry, and tar's end.
        [ "$held" -le 10240 ] || fail "the volume of $server is not empty: restore into a fleet without volumes ('$compose down --volumes')"
    done
    tar_of "$keys" -C /keys -xf - < "$folder/keys.tar"
    for server in $servers; do
        tar_of "$(container "$server")" -C /data -xf - < "$folder/$server.tar"
    done
    $compose up -d
    ;;
*)
    fail "say save or restore, not $1"
    ;;
esac
