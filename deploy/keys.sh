#!/bin/sh
# The fleet's keys, in /keys: a folder for each role, each a volume that only that role's containers mount.
#
#   init              make what is missing (also when there is nothing to do), and the roles that HOLDPOINT_ROLES names
#   operator          print an operator's credentials: `holdpoint run PLAN --nats … --creds FILE` wants them
#   trust             print whose signatures count: nothing secret
#   anything else     as `holdpoint keys` says it: add operator alice --out -, list, revoke …
set -eu
umask 077
keys=/keys

# The servers of a cluster know each other by a password; agents, who share a network with them, do not.
routes() {
    [ -e "$keys/broker/routes.conf" ] && return
    password=$(head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n')
    {
        printf 'authorization { user: route, password: "%s", timeout: 5 }\nroutes: [\n' "$password"
        for server in nats nats-2 nats-3; do
            printf '  "nats://route:%s@%s:6222"\n' "$password" "$server"
        done
        printf ']\n'
    } > "$keys/broker/routes.conf.part"
    mv "$keys/broker/routes.conf.part" "$keys/broker/routes.conf"
}

# Roles of the org chart, with blanks between them; `NAME:build` for one whose turns make work.
roles() {
    for word in ${HOLDPOINT_ROLES:-}; do
        case "$word" in
        *:build) holdpoint keys role add "${word%:build}" --builds --dir "$keys" >&2 ;;
        *) holdpoint keys role add "$word" --dir "$keys" >&2 ;;
        esac
    done
}

case "${1:-init}" in
init)
    shift || true
    holdpoint keys init --dir "$keys" "$@" >&2
    roles
    routes
    ;;
operator)
    cat "$keys/operator/operator-1.creds"
    ;;
trust)
    cat "$keys/trust.json"
    ;;
*)
    exec holdpoint keys "$@" --dir "$keys"
    ;;
esac
