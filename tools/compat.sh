#!/usr/bin/env bash
# compat.sh [SUITE...]: builds the project as it lies here, and runs its tests, on other releases of
# Debian (default: trixie, which is 13, and forky, which is testing). `./dev compat` calls it.
#
# Each release is a folder that debootstrap makes below WEFT_COMPAT_DIR (default: weft-compat in
# the user's cache folder) on first use. Packages, ccache and the build stay there for the next run;
# delete the folder to begin with today's packages. The checkout is mounted in it read-only.
# Needs root and debootstrap, and skips with a message where one is missing.
set -euo pipefail

say() { printf 'compat: %s\n' "$*" >&2; }

checkout=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
folder=${WEFT_COMPAT_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/weft-compat}
jobs=${WEFT_JOBS:-$(nproc 2>/dev/null || echo 2)}
# Live tests watch the clock, browser and soak tests take long. All but the browser's are compiled.
# Texts (the style of sources, links of pages) are the same everywhere.
left_out='soak|live|browser'
texts='^(tidy|readme\.links)$'
# Where things are, seen from inside. Each checkout has a build of its own.
source_inside=/weft
build_inside=/var/tmp/weft-build-$(printf '%s' "$checkout" | cksum | cut -d ' ' -f 1)

if [ "$(id -u)" -ne 0 ]; then
  say "skipped: folders with another Debian need root"
  exit 0
fi
if ! command -v debootstrap >/dev/null; then
  say "skipped: debootstrap is missing (apt-get install debootstrap)"
  exit 0
fi
# All mounts are made in a namespace of this process. They end with it, however it ends, and a
# program outside never walks through them.
if [ -z "${WEFT_COMPAT_MOUNTS_APART:-}" ]; then
  if ! unshare --mount true 2>/dev/null; then
    say "skipped: this machine does not let root mount (unshare --mount)"
    exit 0
  fi
  WEFT_COMPAT_MOUNTS_APART=yes exec unshare --mount "$0" "$@"
fi

# run COMMAND...: in the background, so that a signal is handled at once and handed on.
child=
run() {
  "$@" 9>&- &  # without the lock, which a process left behind would keep
  child=$!
  local code=0
  wait "$child" || code=$?
  child=
  return "$code"
}
stop() {
  trap '' INT TERM HUP
  [ -z "$child" ] || kill -TERM "$child" 2>/dev/null || true
  wait
  unmount
  exit "$1"
}

mounted=()
mount_at() {  # mount_at PLACE OPTION...
  local place=$1
  shift
  mkdir -p "$place"
  mount "$@" "$place"
  mounted=("$place" ${mounted[@]+"${mounted[@]}"})
}
unmount() {
  local place
  for place in ${mounted[@]+"${mounted[@]}"}; do umount -R "$place" || umount -Rl "$place" || true; done
  mounted=()
}
trap unmount EXIT
trap 'stop 130' INT
trap 'stop 143' TERM HUP

# The package source of the machine: the first that apt's configuration names.
package_source() {
  local file
  for file in /etc/apt/sources.list.d/*.sources /etc/apt/sources.list.d/*.list /etc/apt/sources.list; do
    [ ! -f "$file" ] || sed -n -E 's/^URIs:[[:space:]]*([^[:space:]]+).*/\1/p
      s/^deb([[:space:]]+\[[^]]*\])?[[:space:]]+([^[:space:]]+).*/\2/p' "$file"
  done | head -n 1
}

make_root() {  # make_root SUITE ROOT
  [ ! -e "$2/.made" ] || return 0
  local from script=/usr/share/debootstrap/scripts/$1
  from=$(package_source)
  if [ -z "$from" ]; then
    say "apt's configuration names no package source"
    return 1
  fi
  # A debootstrap that is older than the release makes it as it makes unstable.
  [ -e "$script" ] || script=/usr/share/debootstrap/scripts/sid
  say "$1: making $2; what debootstrap says is in $2.log"
  rm -rf "$2"
  if ! run debootstrap --variant=minbase --include=ca-certificates "$1" "$2" "$from" "$script" \
    >"$2.log" 2>&1; then
    tail -n 5 "$2.log" >&2
    return 1
  fi
  printf '#!/bin/sh\nexit 101\n' >"$2/usr/sbin/policy-rc.d"  # packages start no service in there
  chmod +x "$2/usr/sbin/policy-rc.d"
  touch "$2/.made"
}

enter() {  # enter ROOT: mounts what programs in there need
  mount_at "$1/proc" -t proc proc
  mount_at "$1/sys" --rbind /sys
  mount_at "$1/dev" --rbind /dev
  mount_at "$1$source_inside" --bind -o ro "$checkout"
  # How this machine's apt reaches its source.
  local settings
  for settings in apt.conf.d auth.conf.d; do
    [ ! -d "/etc/apt/$settings" ] || mount_at "$1/etc/apt/$settings" --bind -o ro "/etc/apt/$settings"
  done
  cp -L /etc/resolv.conf "$1/etc/resolv.conf" 2>/dev/null || true
  grep -qs localhost "$1/etc/hosts" || echo '127.0.0.1 localhost' >>"$1/etc/hosts"
}

# shellcheck disable=SC2016  # the inner shell expands them
inside() {  # inside ROOT COMMAND...
  local root=$1
  shift
  run chroot "$root" /usr/bin/env -i HOME=/root LANG=C.UTF-8 TERM="${TERM:-dumb}" \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    CCACHE_DIR=/var/cache/weft-ccache GTEST_OUTPUT="json:$build_inside/results/" \
    ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} \
    sh -c 'cd "$0" && exec "$@"' "$source_inside" "$@"
}

versions() {  # versions ROOT: one line
  local name package version line=
  while read -r name package; do
    version=$(dpkg-query --admindir="$1/var/lib/dpkg" -W -f '${Version}' "$package" 2>/dev/null) ||
      version=missing
    version=${version#*:}
    version=${version##*really.}  # a package that went back to an older version
    line="$line, $name ${version%%[-+]*}"
  done <<'END'
g++ g++
CMake cmake
fmt libfmt-dev
CLI11 libcli11-dev
nlohmann-json nlohmann-json3-dev
yaml-cpp libyaml-cpp-dev
boost libboost-dev
highway libhwy-dev
OpenSSL libssl-dev
SQLite libsqlite3-dev
gtest libgtest-dev
python python3-dev
pybind11 pybind11-dev
torch libtorch-dev
END
  echo "${line#, }"
}

# What the test programs wrote: each file begins with its totals.
counts() {  # counts RESULTS
  local results=("$1"/*.json)
  if [ ! -e "${results[0]}" ]; then
    echo "no test program ran"
    return
  fi
  awk -v programs="${#results[@]}" '
    /"result": "SKIPPED"/ {++skipped}
    FNR == 2 {gsub(/[^0-9]/, ""); tests += $0}
    FNR == 3 {gsub(/[^0-9]/, ""); failed += $0}
    END {printf "%d tests in %d programs, %d failed, %d skipped", tests, programs, failed, skipped}
  ' "${results[@]}"
}

# Builds and tests in ROOT; what it found goes to the end of `report`.
report=
try_suite() {  # try_suite SUITE ROOT
  local suite=$1 root=$2 built=yes passed=yes torch=compiles begin=$SECONDS summary
  local build=$root$build_inside
  enter "$root"
  inside "$root" dpkg --configure -a >&2 || true  # where an earlier run was interrupted
  if ! inside "$root" ./dev setup python; then
    report+="$suite: the packages could not be installed"$'\n'
    return 1
  fi
  if ! inside "$root" cmake --preset dev -B "$build_inside" -DWEFT_HOUSE_CHECKS=OFF \
    -DWEFT_TEST_PER_BINARY=ON >"$root.configure.log" 2>&1; then
    tail -n 30 "$root.configure.log" >&2
    report+="$suite: red: CMake failed; see $root.configure.log"$'\n'
    return 1
  fi
  inside "$root" ninja -C "$build_inside" -j "$jobs" -k 0 >&2 || built=no
  if grep '^-- python: the PyTorch' "$root.configure.log" >&2; then
    torch="left out"
  elif ! inside "$root" ninja -C "$build_inside" -j "$jobs" weft_torch_module >/dev/null; then
    torch="does not compile"
  fi
  rm -rf "$build/results"
  rm -f "$build/ctest.log"
  inside "$root" ctest --test-dir "$build_inside" --output-on-failure --no-tests=error \
    --no-label-summary --timeout 3600 -j "$jobs" -LE "$left_out" -E "$texts" \
    --output-log "$build_inside/ctest.log" >&2 || passed=no
  report+="$suite: $(versions "$root")"$'\n'
  [ "$built" = yes ] || report+="$suite: red: the build failed; ninja's messages are above"$'\n'
  [ "$passed" = yes ] || report+="$suite: red: tests failed; see $build/ctest.log"$'\n'
  summary=$(grep -s 'tests passed' "$build/ctest.log" || echo "ctest ran nothing")
  report+="$suite: $summary; $(counts "$build/results"); torch module: $torch;"
  report+=" $((SECONDS - begin)) s"$'\n'
  [ "$built $passed" = "yes yes" ]
}

[ $# -gt 0 ] || set -- trixie forky
mkdir -p "$folder"
red=
for suite in "$@"; do
  case "$suite" in
    *[!a-z]* | '') say "'$suite' is no name of a release"; exit 2 ;;
  esac
  exec 9>"$folder/$suite.lock"
  flock --nonblock 9 || { say "$suite: another run is at it; waiting"; flock 9; }
  if ! make_root "$suite" "$folder/$suite"; then
    report+="$suite: red: debootstrap could not make it"$'\n'
    red=yes
    continue
  fi
  try_suite "$suite" "$folder/$suite" || red=yes
  unmount
done
printf '%s' "$report"
[ -z "$red" ]
