#!/bin/sh
# Opens the page of `weft plan search --report` in headless Chromium and checks what it shows.
#   check_plan.sh WEFT            makes a page with that program
#   check_plan.sh PAGE.html [PICTURE]  checks this page, and takes a picture of it
# Exit code 77 (skipped) when no browser is here.
set -eu

. "$(dirname "$0")/browser.sh"

case "$1" in
  *.html) page=$(realpath "$1") picture=${2:-} ;;
  *)
    page=$folder/plan.html picture=
    "$1" plan search gpt3-13b --devices 32,64 --batch 256 --device a100-80 --report "$page" \
      >"$folder/table.txt"
    ;;
esac

fail() {
  echo "plan page: $*"
  exit 1
}

run_browser "file://$page" --window-size=1500,1000 --dump-dom >"$folder/dom.txt" ||
  fail "the browser failed: $(tail -n 3 "$folder/browser.log")"
count() { grep -o "$1" "$folder/dom.txt" | wc -l; }
[ "$(count '<svg ')" -ge 4 ] || fail "there are $(count '<svg ') pictures; 4 or more are wanted"
[ "$(count '<table')" -ge 5 ] || fail "there are $(count '<table') tables; 5 or more are wanted"
[ "$(count 'parsererror')" -eq 0 ] || fail "a picture is not well-formed"
[ "$(count '<circle ')" -ge 2 ] || fail "the fronts have no points"
[ "$(count "forward of micro-batch")" -ge 1 ] || fail "the Gantt chart is empty"
[ "$(count '<polyline ')" -ge 2 ] || fail "memory over time has no lines"

if [ -n "$picture" ]; then
  run_browser "file://$page" --window-size=1500,3600 --screenshot="$picture" >/dev/null
  echo "$picture"
fi
