#!/bin/sh
# A small shaped network on one machine: hosts are network namespaces, joined by a bridge in a
# namespace of its own; each host's link is limited in both directions by a token bucket (tc tbf).
#   bench/arena.sh up TAG [HOSTS [RATE [BURST [CONGESTION]]]]  hosts TAG-h0, TAG-h1, ...
#   bench/arena.sh exec TAG HOST COMMAND...  runs the command on host HOST
#   bench/arena.sh down TAG                  removes what `up` made under this tag, no more
# Four hosts, 200mbit, 64kb and the kernel's congestion control unless told otherwise. Every host has
# the interface net0 with the address 10.77.0.(HOST + 1). Needs root and iproute2.
set -eu

fail() { printf 'arena: %s\n' "$*" >&2; exit 2; }
usage() { sed -n '4,6s/^# *//p' "$0" >&2; exit 2; }

number() {  # number WHAT TEXT LEAST MOST
  case "$2" in '' | *[!0-9]*) fail "$1 is '$2'; it must be a number from $3 to $4" ;; esac
  [ "${#2}" -le 6 ] && [ "$2" -ge "$3" ] && [ "$2" -le "$4" ] ||
    fail "$1 is $2; it must be from $3 to $4"
}

# A command that hangs in the kernel must not hang its caller.
net() { timeout 20 ip "$@"; }

namespaces() { net netns list | awk '{print $1}' | grep -E "^$tag-(switch|h[0-9]+)\$" || true; }

down() {
  for name in $(namespaces); do
    net netns del "$name" || say_left=yes  # its end of every cable goes with it
  done
  [ -z "${say_left:-}" ] || fail "namespaces of $tag are left: $(namespaces | tr '\n' ' ')"
}

# shape NAMESPACE DEVICE. A queue of 20 ms: longer ones only add delay, shorter ones drop bursts.
shape() {
  timeout 20 ip netns exec "$1" tc qdisc add dev "$2" root tbf rate "$rate" burst "$burst" \
    latency 20ms
}

up() {
  hosts=${1:-4} rate=${2:-200mbit} burst=${3:-64kb} congestion=${4:-}
  number HOSTS "$hosts" 2 64
  [ -z "$(namespaces)" ] || fail "$tag is up already; 'arena.sh down $tag' removes it"
  trap 'down; fail "the network could not be made; it is gone again"' EXIT
  net netns add "$tag-switch"
  net -n "$tag-switch" link add bridge0 type bridge
  net -n "$tag-switch" link set bridge0 up
  host=0
  while [ "$host" -lt "$hosts" ]; do
    name=$tag-h$host
    net netns add "$name"
    net -n "$tag-switch" link add "port$host" type veth peer name net0 netns "$name"
    net -n "$tag-switch" link set "port$host" master bridge0 up
    net -n "$name" addr add "10.77.0.$((host + 1))/24" dev net0
    net -n "$name" link set lo up
    net -n "$name" link set net0 up
    shape "$name" net0
    shape "$tag-switch" "port$host"
    [ -z "$congestion" ] || timeout 20 ip netns exec "$name" \
      sh -c 'printf "%s" "$1" >/proc/sys/net/ipv4/tcp_congestion_control' sh "$congestion"
    host=$((host + 1))
  done
  trap - EXIT
}

[ $# -ge 2 ] || usage
verb=$1 tag=$2
shift 2
case "$tag" in '' | *[!a-zA-Z0-9-]*) fail "the tag is '$tag'; use letters, digits and -" ;; esac
[ "$(id -u)" -eq 0 ] || fail "network namespaces need root"
command -v ip >/dev/null 2>&1 && command -v tc >/dev/null 2>&1 || fail "install iproute2"
case "$verb" in
  up) up "$@" ;;
  down) down ;;
  exec)
    [ $# -ge 2 ] || usage
    number HOST "$1" 0 63
    name=$tag-h$1
    shift
    exec ip netns exec "$name" "$@"
    ;;
  *) usage ;;
esac
