#!/bin/sh
# Moves the compose fleet from one broker to a cluster of three, or back. From the repository's root, with the COMPOSE_PROJECT_NAME and
# HOLDPOINT_… variables that the fleet was started with:
#
#   sh deploy/migrate.sh cluster DIR     one broker to three: from now on deploy/compose.cluster.yaml is one of the fleet's files
#   sh deploy/migrate.sh single DIR      back to one
#   sh deploy/migrate.sh undo DIR        back to what was before the move that wrote DIR, as long as DIR and the brokers' volumes have it
#
# Every flight is audited before and after. The fleet stands still meanwhile. DIR, which has to be empty or not there, gets a copy of
# everything (`holdpoint migrate`). The brokers keep what they had under another name. COMPOSE names another program than
# `docker compose`.
set -eu
umask 077
program=${COMPOSE:-docker compose}
cluster=deploy/compose.cluster.yaml
phase=nothing

fail() {
    printf 'migrate: %s\n' "$1" >&2
    exit 1
}

say() {
    printf '\n== %s\n' "$1" >&2
}

# Compose with the files that are given first.
compose() {
    with=$1
    shift
    COMPOSE_FILE=$with $program "$@"
}

# The container of a service, also one that has ended; nothing where the fleet has no such service.
container() {
    compose "$1" ps -a -q "$2" 2>/dev/null | head -n 1
}

# `holdpoint` of the console's container, as the caller: by which files, whose key, then the command.
holdpoint() {
    with_files=$1 key=$2
    shift 2
    nats=$(for server in $servers; do printf ',nats://%s:4222' "$server"; done)
    compose "$with_files" --profile console run --rm --no-deps -T --user "$(id -u):$(id -g)" -v "$folder:/moved" -e TMPDIR=/moved \
        -e HOLDPOINT__NATS__TRUST=/moved/trust.json \
        console "$@" --nats="${nats#,}" --creds="/moved/$key.creds"
}

# Waits until services are well: by which files, and which.
healthy() {
    with_files=$1
    shift
    for service in "$@"; do
        waited=0
        until [ "$(docker inspect --format '{{.State.Health.Status}}' "$(container "$with_files" "$service")")" = healthy ]; do
            waited=$((waited + 1))
            [ "$waited" -le 180 ] || fail "$service does not become healthy: see its log"
            sleep 1
        done
    done
}

# Renames a folder in the store of a service's broker, where it is: by which files, the service, from, to.
rename() {
    server=$(container "$1" "$2")
    [ -n "$server" ] || return 0
    [ "$(docker inspect --format '{{.State.Running}}' "$server")" = false ] || fail "$2 runs: its store is not touched"
    image=$(docker inspect --format '{{.Image}}' "$(container "$1" keys)")
    docker run --rm --network none --cap-drop ALL --user 10001:10001 --volumes-from "$server" --entrypoint sh "$image" -c \
        "[ ! -d /data/$3 ] || [ -e /data/$4 ] || mv /data/$3 /data/$4"
}

# How the caller goes on after an end that was not meant.
finish() {
    status=$?
    trap - EXIT
    rm -f "$folder/operator.creds" "$folder/migrator.creds"
    [ "$status" -ne 0 ] || exit 0
    case $phase in
    nothing) say "nothing was changed" ;;
    stopped) say "nothing was moved. Start the fleet as before: COMPOSE_FILE=$from $program up -d" ;;
    moving) say "not moved. \`sh deploy/migrate.sh undo $folder\` gives the brokers back what they had, and starts the fleet as it was" ;;
    started) say "the fleet runs on what was loaded, which is what was saved. \`sh deploy/migrate.sh undo $folder\` is the way back; it loses what happens since" ;;
    esac
    exit "$status"
}

# Puts everything back as it was before the move that wrote the folder.
undo() {
    [ -f "$folder/move" ] || fail "$folder is not of a move that changed something"
    # Written by this script: what was moved from where.
    . "$folder/move"
    compose "$to" stop
    for server in $old $new; do rename "$to" "$server" jetstream "after-$stamp"; done
    for server in $old; do
        compose "$from" up --no-start --no-deps "$server"
        rename "$from" "$server" "before-$stamp" jetstream
    done
    # shellcheck disable=SC2086 # words of an option
    compose "$from" up -d --remove-orphans $scale
    say "as before: COMPOSE_FILE=$from"
}

[ $# -eq 2 ] || fail "say cluster, single or undo, and a folder"
mkdir -p "$2"
folder=$(cd "$2" && pwd)
if [ "$1" = undo ]; then
    undo
    exit 0
fi
[ -z "$(ls -A "$folder")" ] || fail "$folder is not empty"

# The files that the fleet was started with, without the cluster's and with it.
keys=$($program ps -a -q keys 2>/dev/null | head -n 1)
[ -n "$keys" ] || fail "there is no fleet: is this the folder, and COMPOSE_PROJECT_NAME the name, that it was started with?"
project=$(docker inspect --format '{{index .Config.Labels "com.docker.compose.project"}}' "$keys")
# Each container knows those that it was made by.
single=$(for each in "$keys" $(docker ps -a -q --filter "label=com.docker.compose.project=$project"); do
    docker inspect --format '{{index .Config.Labels "com.docker.compose.project.config_files"}}' "$each" | tr ',' '\n'
done | grep -v -e 'deploy/compose\.cluster\.yaml$' -e '^$' | awk '!seen[$0]++' | tr '\n' ':')
single=${single%:}
[ -n "$single" ] || fail "the containers do not say by which files they were made: is this Compose older than 1.29?"
others=$(container "$single:$cluster" nats-2)
case "$1" in
cluster)
    [ -z "$others" ] || fail "this fleet has three brokers already"
    from=$single to=$single:$cluster old=nats new="nats nats-2 nats-3"
    ;;
single)
    [ -n "$others" ] || fail "this fleet has one broker already"
    from=$single:$cluster to=$single old="nats nats-2 nats-3" new=nats
    ;;
*) fail "say cluster, single or undo, not $1" ;;
esac
stamp=$(date +%Y%m%d-%H%M%S)
mover=migrator-$stamp
trap finish EXIT
trap 'exit 130' HUP INT TERM
scale=
for service in $(compose "$from" config --services); do
    count=$(compose "$from" ps -q "$service" | wc -l)
    [ "$count" -le 1 ] || scale="$scale --scale $service=$((count))"
done
compose "$from" run --rm -T keys operator > "$folder/operator.creds"
compose "$from" run --rm -T keys trust > "$folder/trust.json"
compose "$from" run --rm -T keys add migrator "$mover" --expires 12h --out - > "$folder/migrator.creds"

say "auditing every flight"
servers=$old
holdpoint "$from" operator audit --all --json > "$folder/audit-before.json" || fail "the audit fails: see $folder/audit-before.json"

say "stopping the fleet, and copying what its broker keeps to $folder"
phase=stopped
compose "$from" stop
# shellcheck disable=SC2086 # names of services, here and below
compose "$from" start $old
# shellcheck disable=SC2086
healthy "$from" $old
holdpoint "$from" migrator migrate save /moved/copy || fail "the copy is not whole"
# shellcheck disable=SC2086
compose "$from" stop $old

say "starting the other broker"
printf 'from="%s" to="%s" old="%s" new="%s" stamp="%s" scale="%s"\n' "$from" "$to" "$old" "$new" "$stamp" "$scale" > "$folder/move"
phase=moving
for server in $old; do rename "$from" "$server" jetstream "before-$stamp"; done
# shellcheck disable=SC2086
compose "$to" up --no-start --no-deps $new
for server in $new; do rename "$to" "$server" jetstream "before-$stamp"; done
servers=$new
# shellcheck disable=SC2086
compose "$to" up -d --no-deps $new
# shellcheck disable=SC2086
healthy "$to" $new
holdpoint "$to" migrator migrate load /moved/copy || fail "the copy was not loaded"

say "starting the fleet"
phase=started
# shellcheck disable=SC2086 # words of an option
compose "$to" up -d --remove-orphans $scale
healthy "$to" orchestrator
say "auditing every flight again"
holdpoint "$to" operator audit --all --json > "$folder/audit-after.json" || fail "the audit fails: see $folder/audit-after.json"
# What was under way goes on meanwhile; none may be missing.
grep '"flight":' "$folder/audit-before.json" > "$folder/flights" || true
while read -r flight; do
    grep -q -F "$flight" "$folder/audit-after.json" || fail "a flight is missing: $flight"
done < "$folder/flights"

compose "$to" run --rm -T keys revoke "$mover"
for server in $new; do compose "$to" kill -s HUP "$server"; done
say "moved. From now on: COMPOSE_FILE=$to
The brokers' volumes have what was there before as before-$stamp, and $folder has the copy: delete both once you are satisfied."
