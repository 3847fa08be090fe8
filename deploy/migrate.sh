#!/bin/sh
# Moves the compose fleet from one broker to a cluster of three, or back. From the repository's root, with the COMPOSE_… variables that
# the fleet was started with:
#
#   sh deploy/migrate.sh cluster DIR     one broker to three: from now on deploy/compose.cluster.yaml is one of the fleet's files
#   sh deploy/migrate.sh single DIR      back to one
#
# Every flight is audited before and after. The fleet stands still meanwhile. DIR, which has to be empty or not there, gets a copy of
# everything (`holdpoint migrate`). The brokers keep what they had under another name. COMPOSE names another program than
# `docker compose`.
set -eu
umask 077
program=${COMPOSE:-docker compose}
cluster=deploy/compose.cluster.yaml

fail() {
    printf 'migrate: %s\n' "$1" >&2
    exit 1
}

say() {
    printf '\n== %s\n' "$1" >&2
}

[ $# -eq 2 ] || fail "say cluster or single, and a folder"
mkdir -p "$2"
folder=$(cd "$2" && pwd)
[ -z "$(ls -A "$folder")" ] || fail "$folder is not empty"

# The fleet's files without the cluster's, and with it.
files=${COMPOSE_FILE:-}
if [ -z "$files" ]; then
    files=compose.yaml
    [ ! -e compose.override.yaml ] || files=$files:compose.override.yaml
fi
single=$(printf '%s' "$files" | tr ':' '\n' | grep -v -x -F "$cluster" | tr '\n' ':')
single=${single%:}
case "$1" in
cluster) from=$single; to=$single:$cluster; old="nats"; new="nats nats-2 nats-3" ;;
single) from=$single:$cluster; to=$single; old="nats nats-2 nats-3"; new="nats" ;;
*) fail "say cluster or single, not $1" ;;
esac
case "$1:$files" in
cluster:*"$cluster"*) fail "COMPOSE_FILE names $cluster already" ;;
esac

# Compose with the files that are given first.
compose() {
    with=$1
    shift
    COMPOSE_FILE=$with $program "$@"
}

# `holdpoint` of the console's container, as the caller: which brokers, whose key, then the command.
holdpoint() {
    with=$1 key=$2
    shift 2
    nats=$(for server in $servers; do printf ',nats://%s:4222' "$server"; done)
    compose "$with" --profile console run --rm --no-deps -T --user "$(id -u):$(id -g)" -v "$folder:/moved" \
        console "$@" --nats="${nats#,}" --creds="/moved/$key.creds"
}

healthy() {
    for service in "$@"; do
        waited=0
        until [ "$(docker inspect --format '{{.State.Health.Status}}' "$(compose "$with_files" ps -q "$service" | head -n 1)")" = healthy ]; do
            waited=$((waited + 1))
            [ "$waited" -le 180 ] || fail "$service does not become healthy: see its log"
            sleep 1
        done
    done
}

# Has the server of a service put its store aside, where it has one.
put_aside() {
    container=$(compose "$1" ps -a -q "$2" | head -n 1)
    image=$(docker inspect --format '{{.Image}}' "$(compose "$1" ps -a -q keys | head -n 1)")
    docker run --rm --network none --cap-drop ALL --user 10001:10001 --volumes-from "$container" --entrypoint sh "$image" -c \
        "[ ! -d /data/jetstream ] || mv /data/jetstream /data/before-$stamp"
}

stamp=$(date +%Y%m%d-%H%M%S)
mover=migrator-$stamp
compose "$from" run --rm -T keys operator > "$folder/operator.creds"
compose "$from" run --rm -T keys add migrator "$mover" --expires 12h --out - > "$folder/migrator.creds"
trap 'rm -f "$folder/operator.creds" "$folder/migrator.creds"' EXIT

say "auditing every flight"
servers=$old with_files=$from
holdpoint "$from" operator audit --all --json > "$folder/audit-before.json" || fail "the audit fails: nothing was changed"

say "stopping the fleet, and copying what its broker keeps to $folder"
compose "$from" stop
# shellcheck disable=SC2086 # names of services
compose "$from" start $old
# shellcheck disable=SC2086
healthy $old
holdpoint "$from" migrator migrate save /moved/copy || fail "nothing was moved: start the fleet as before"
# shellcheck disable=SC2086
compose "$from" stop $old

say "starting the other broker"
# shellcheck disable=SC2086
compose "$to" up --no-start --no-deps $new
for server in $old; do put_aside "$from" "$server"; done
for server in $new; do put_aside "$to" "$server"; done
servers=$new with_files=$to
# shellcheck disable=SC2086
compose "$to" up -d --no-deps $new
# shellcheck disable=SC2086
healthy $new
holdpoint "$to" migrator migrate load /moved/copy || fail "not loaded. The copy is in $folder, and in each broker's volume before-$stamp is what it had as jetstream"

say "starting the fleet"
compose "$to" up -d --remove-orphans
healthy orchestrator
say "auditing every flight again"
holdpoint "$to" operator audit --all --json > "$folder/audit-after.json" || fail "the audit fails: see $folder/audit-after.json"
cmp -s "$folder/audit-before.json" "$folder/audit-after.json" || fail "the audit says something else than before: compare $folder/audit-*.json"

compose "$to" run --rm -T keys revoke "$mover"
for server in $new; do compose "$to" kill -s HUP "$server"; done
say "moved. From now on: COMPOSE_FILE=$to
The volumes have what was there before as before-$stamp, and $folder has the copy: delete both when you are content."
