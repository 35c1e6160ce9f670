#!/bin/sh
# syntax_only.sh COMPILER WORDS... -o OUTPUT ...: the launcher of targets whose sources are only read.
# The compiler checks the source and generates nothing; OUTPUT is left empty, for Ninja.
set -eu
output=
previous=
for word; do
  [ "$previous" != -o ] || output=$word
  previous=$word
done
"$@" -fsyntax-only -w -O0 -g0
: >"$output"
