#!/bin/sh
# A small Kubernetes on this machine, for `cargo xtask soak kubernetes`: one node, whose pods Docker runs.
#
#   cluster.sh build DIR             makes its programs from Debian's source package: ten minutes, once
#   cluster.sh up DIR                starts it; DIR/kubeconfig and DIR/bin/kubectl are the way to it
#   cluster.sh down DIR              ends it, with its containers and volumes
#   cluster.sh with DIR COMMAND …    all of these, around a command; also where that is interrupted
#
# It is Kubernetes 1.20, the last of which Debian has all the sources. What the chart needs of 1.28 is patched in: the label with a
# pod's number, which begins with 1. No network policy is enforced, no pod admission policy either.
# Needs Debian 12 on x86-64, root, a C compiler, openssl, python3, and Docker with the cgroup driver `cgroupfs`.
set -eu
# The kubelet asks the engine of this machine, and no other.
unset DOCKER_HOST

RELEASE=bookworm
VERSION=1.20.2
PROGRAMS="kube-apiserver kube-controller-manager kube-scheduler kubelet kubectl"
# What the kubelet calls its folder; pods' volumes and seccomp profiles are there.
KUBELET=/var/lib/kubelet
# Says there whose it is.
MARK=holdpoint-cluster
# Volumes for brokers and archives, each used once.
VOLUMES=8
# Every container that a kubelet makes has this label.
LABEL=io.kubernetes.pod.name
HERE=$(cd "$(dirname "$0")" && pwd)

fail() {
    echo "cluster.sh: $*" >&2
    exit 1
}

# What is missing here, before minutes go by.
looked_over() {
    [ "$(id -u)" = 0 ] || fail "it has to run as root"
    for program in cc docker openssl python3 nsenter; do
        command -v "$program" > /dev/null || fail "there is no \`$program\`"
    done
    driver=$(docker info --format '{{.CgroupDriver}}') || fail "no Docker engine answers"
    [ "$driver" = cgroupfs ] || fail "Docker's cgroup driver is $driver, and the kubelet of that time wants cgroupfs here"
}

# Packages and the sources, by the machine's own list of Debian's packages. Nothing is installed.
get() {
    # Both forms that such a list has; others than Debian need not have sources.
    list="$DIR/debian.sources"
    grep -ls debian-archive-keyring /etc/apt/sources.list.d/*.sources |
        xargs -r sed -s 's/^Types: .*/Types: deb deb-src/; $G' > "$list"
    if [ ! -s "$list" ]; then
        list="$DIR/debian.list"
        sed -n 's/^deb \(.*\)/&\ndeb-src \1/p' /etc/apt/sources.list > "$list"
    fi
    grep -q "$RELEASE" "$list" || fail "the sources of Kubernetes are in Debian 12 ($RELEASE) alone"
    mkdir -p "$DIR/lists/partial" "$DIR/cache/archives/partial"
    apt="-qq -o Dir::Etc::sourcelist=$list -o Dir::Etc::sourceparts=- -o APT::Sandbox::User=root
         -o Dir::State::lists=$DIR/lists -o Dir::Cache=$DIR/cache"
    cd "$DIR"
    # shellcheck disable=SC2086 # several options
    apt-get $apt update
    # shellcheck disable=SC2086
    apt-get $apt download golang-1.19-go golang-1.19-src etcd-server socat libwrap0
    for package in *.deb; do dpkg -x "$package" packages; done
    # shellcheck disable=SC2086
    apt-get $apt source --download-only kubernetes
    tar xzf kubernetes_*.orig.tar.gz
}

# What differs from the sources.
patched() {
    # A pod's number, as of 1.28, and from 1 on, as the chart's `ordinals` have it.
    sed -i 's|^\(\tpod.Labels\[\)apps.StatefulSetPodNameLabel\] = pod.Name$|&\n\1"apps.kubernetes.io/pod-index"] = fmt.Sprint(getOrdinal(pod) + 1)|' \
        pkg/controller/statefulset/stateful_set_utils.go
    grep -q pod-index pkg/controller/statefulset/stateful_set_utils.go || fail "the patch of the pods' numbers does not fit"
    # Not every machine lets its root be spared by the OOM killer.
    sed -i 's/int = -998$/int = 0/' pkg/kubelet/dockershim/docker_sandbox.go
}

# What the kubelet forwards ports with.
forwards() {
    cat > "$DIR/bin/socat" <<END
#!/bin/sh
LD_LIBRARY_PATH="$DIR/packages/usr/lib/x86_64-linux-gnu" exec "$DIR/packages/usr/bin/socat" "\$@"
END
    chmod +x "$DIR/bin/socat"
    "$DIR/bin/socat" -V > /dev/null
}

# The API's own description, which the sources leave out.
described() {
    "$GOROOT/bin/go" build -o "$DIR/openapi-gen" k8s.io/kubernetes/vendor/k8s.io/kube-openapi/cmd/openapi-gen
    packages=$(grep -rl --include='*.go' '+k8s:openapi-gen=' pkg staging/src/k8s.io | grep -v -e _test -e /code-generator/ -e /sample- |
        xargs -n1 dirname | sort -u | sed 's|^staging/src/|k8s.io/kubernetes/vendor/|; s|^pkg/|k8s.io/kubernetes/pkg/|' | paste -s -d,)
    "$DIR/openapi-gen" -i "$packages" -p k8s.io/kubernetes/pkg/generated/openapi -O zz_generated.openapi \
        -h vendor/k8s.io/code-generator/hack/boilerplate.go.txt -r /dev/null
}

build() {
    [ -e "$DIR/built" ] && return
    looked_over
    get
    export GOROOT="$DIR/packages/usr/lib/go-1.19" GOPATH="$DIR/go" GOCACHE="$DIR/go/cache" GO111MODULE=off CGO_ENABLED=0
    mkdir -p "$DIR/bin" "$GOPATH/src/k8s.io"
    ln -sfn "$DIR/kubernetes-$VERSION" "$GOPATH/src/k8s.io/kubernetes"
    cd "$GOPATH/src/k8s.io/kubernetes"
    patched
    described
    named=k8s.io/kubernetes/vendor/k8s.io/component-base/version
    for program in $PROGRAMS; do
        echo "building $program"
        "$GOROOT/bin/go" build -o "$DIR/bin/$program" \
            -ldflags "-s -w -X $named.gitVersion=v$VERSION -X $named.gitMajor=1 -X $named.gitMinor=20" "k8s.io/kubernetes/cmd/$program"
    done
    forwards
    mkdir -p "$DIR/pause"
    cc -static -O1 -DVERSION=holdpoint -o "$DIR/pause/pause" build/pause/linux/pause.c
    printf 'FROM scratch\nCOPY pause /pause\nUSER 65535:65535\nENTRYPOINT ["/pause"]\n' > "$DIR/pause/Dockerfile"
    cd "$DIR"
    rm -rf go "kubernetes-$VERSION" packages/usr/share/go-1.19 packages/usr/lib/go-1.19 openapi-gen lists cache ./*.deb ./kubernetes_*
    touch built
}

# A process of the cluster, by its name.
start() {
    name=$1
    shift
    setsid "$@" > "$RUN/$name.log" 2>&1 &
    echo "$!" > "$RUN/$name.pid"
}

up() {
    [ -e "$DIR/built" ] || fail "call \`build\` first"
    looked_over
    [ -z "$(pods)" ] || fail "there are containers of a kubelet: another cluster's, or of one that was not ended (\`down\`)"
    # Nobody else's folder is used, and nobody uses this one.
    mkdir "$KUBELET" 2> /dev/null || fail "$KUBELET is there: another kubelet's, or of a cluster that was not ended (\`down\`)"
    echo "$DIR" > "$KUBELET/$MARK"
    trap down EXIT
    rm -rf "$RUN"
    docker build --quiet --tag holdpoint/pause:1 "$DIR/pause" > "$DIR/pause/log" 2>&1 || fail "$(cat "$DIR/pause/log")"
    bridge=$(docker network inspect bridge --format '{{(index .IPAM.Config 0).Gateway}}')
    [ -n "$bridge" ] || bridge=$(ip -4 -o addr show docker0 | sed 's|.* inet \([0-9.]*\)/.*|\1|')
    mkdir -p "$RUN"
    token=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
    (umask 077 && echo "$token,soak,1,system:masters" > "$RUN/tokens.csv")
    (umask 077 && sed "s/TOKEN/$token/" "$HERE/kubeconfig" > "$DIR/kubeconfig")
    openssl genrsa -out "$RUN/accounts.key" 2048 2> /dev/null
    etcd=http://127.0.0.1:23790
    start etcd "$DIR/packages/usr/bin/etcd" --data-dir "$RUN/etcd" --listen-client-urls $etcd --advertise-client-urls $etcd \
        --listen-peer-urls http://127.0.0.1:23800
    start apiserver "$DIR/bin/kube-apiserver" --etcd-servers=$etcd --bind-address=127.0.0.1 --secure-port=16443 --cert-dir="$RUN/certs" \
        --token-auth-file="$RUN/tokens.csv" --authorization-mode=RBAC --anonymous-auth=false --disable-admission-plugins=ServiceAccount \
        --service-account-issuer=https://localhost --service-account-key-file="$RUN/accounts.key" \
        --service-account-signing-key-file="$RUN/accounts.key" --service-cluster-ip-range=10.96.0.0/16 \
        --kubelet-preferred-address-types=Hostname
    export KUBECONFIG="$DIR/kubeconfig"
    wait_for "the API" "$DIR/bin/kubectl" get --raw /readyz
    start controllers "$DIR/bin/kube-controller-manager" --kubeconfig="$KUBECONFIG" --leader-elect=false --port=0 \
        --service-account-private-key-file="$RUN/accounts.key"
    start scheduler "$DIR/bin/kube-scheduler" --kubeconfig="$KUBECONFIG" --leader-elect=false --port=0
    # Bound to the loopback: it lets anybody who reaches it run programs.
    start kubelet env PATH="$DIR/bin:$PATH" "$DIR/bin/kubelet" --kubeconfig="$KUBECONFIG" --root-dir="$KUBELET" --address=127.0.0.1 --hostname-override=localhost \
        --container-runtime=docker --cgroup-driver=cgroupfs --pod-infra-container-image=holdpoint/pause:1 --fail-swap-on=false \
        --cluster-dns="$bridge" --cluster-domain=cluster.local --image-gc-high-threshold=100 --oom-score-adj=0 --read-only-port=0 \
        --authorization-mode=AlwaysAllow --anonymous-auth=true --cert-dir="$RUN/certs" --make-iptables-util-chains=false
    start names python3 "$HERE/names.py" "$DIR/kubeconfig" "$bridge"
    wait_for "the node" sh -c "'$DIR/bin/kubectl' get nodes | grep -q ' Ready'"
    for number in $(seq $VOLUMES); do
        mkdir -p "$RUN/volumes/$number"
        sed "s|NUMBER|$number|; s|FOLDER|$RUN/volumes/$number|" "$HERE/volume.yaml"
    done | "$DIR/bin/kubectl" apply --filename - > "$RUN/volumes.log"
    trap - EXIT
}

wait_for() {
    what=$1
    shift
    for _ in $(seq 90); do
        "$@" > /dev/null 2>&1 && return
        sleep 1
    done
    tail -n 5 "$RUN"/*.log >&2
    fail "$what did not come within 90 s"
}

pods() {
    docker ps --all --quiet --filter "label=$LABEL"
}

# Whether a process runs, and is one of the cluster.
runs() {
    grep -s -q -a -F "$DIR" "/proc/$1/cmdline"
}

# Ends a process of the cluster, and waits for it.
stop() {
    pid=$(cat "$RUN/$1.pid" 2> /dev/null) || return 0
    for _ in $(seq 100); do
        runs "$pid" || return 0
        kill "$pid" 2> /dev/null || return 0
        sleep 0.1
    done
    kill -KILL "$pid" 2> /dev/null || true
}

down() {
    if [ "$(cat "$KUBELET/$MARK" 2> /dev/null)" != "$DIR" ]; then
        echo "cluster.sh: no cluster of $DIR is here" >&2
        return 0
    fi
    for name in names kubelet scheduler controllers apiserver etcd; do stop $name; done
    containers=$(pods)
    # shellcheck disable=SC2086 # several
    [ -z "$containers" ] || docker rm --force $containers > /dev/null
    grep -e " $KUBELET " -e " $KUBELET/" /proc/self/mounts | cut -d' ' -f2 | sort -r | xargs -r umount
    rm -rf --one-file-system "$RUN" "$KUBELET"
}

with() {
    build
    up
    trap down EXIT
    trap 'exit 130' INT TERM HUP
    HOLDPOINT_KUBECONFIG="$DIR/kubeconfig" PATH="$DIR/bin:$PATH" "$@"
}

[ $# -ge 2 ] || fail "cluster.sh build|up|down|with DIR"
word=$1
mkdir -p "$2"
DIR=$(cd "$2" && pwd)
RUN="$DIR/run"
shift 2
case $word in
build | up | down | with) "$word" "$@" ;;
*) fail "\`$word\` is none of build, up, down, with" ;;
esac
