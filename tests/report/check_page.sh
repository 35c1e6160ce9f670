#!/bin/sh
# Opens a report page in headless Chromium, in several states, and checks what it drew.
#   check_page.sh WEFT ROOT            makes a page of the example trace with that program
#   check_page.sh PAGE.html [PICTURE]  checks this page, and takes a picture of it
# Exit code 77 (skipped) when no browser is here.
set -eu

. "$(dirname "$0")/browser.sh"

case "$1" in
  *.html) page=$(realpath "$1") picture=${2:-} ;;
  *)
    page=$folder/page.html picture=
    "$1" sim --cluster 4x8 --trace "$2/examples/traces/small-cluster.csv" \
      --policy fifo,srtf --node-mtbf 200000 --device-mtbf 2000000 --repair 5000 --report "$page" >"$folder/table.txt"
    ;;
esac

fail() {
  echo "report page, state '$state': $*"
  head -c 600 "$folder/head.txt"
  exit 1
}

# attribute NAME: of the html element, where the page says what it did.
attribute() { sed -n "s/.* data-$1=\"\([^\"]*\)\".*/\1/p" "$folder/head.txt"; }

# look STATE: opens the page in that state and checks what holds in every state.
look() {
  state=$1
  run_browser "file://$page$state" --window-size=1400,1000 --dump-dom >"$folder/dom.txt" ||
    { : >"$folder/head.txt"; fail "the browser failed: $(tail -n 3 "$folder/browser.log")"; }
  grep -m 1 '<html' "$folder/dom.txt" >"$folder/head.txt" || fail "there is no page"
  [ "$(attribute ready)" = 1 ] || fail "the page did not get ready"
  [ "$(attribute errors)" = 0 ] || fail "$(attribute errors) script errors"
  drawn=$(attribute spans-drawn)
  [ "$drawn" -gt 0 ] || fail "the timeline is empty"
}

look ""
runs=$(attribute runs)
all=$drawn
[ "$(grep -o '<path d="M' "$folder/dom.txt" | wc -l)" -eq $((3 * runs)) ] ||
  fail "three charts of $runs runs have $((3 * runs)) lines"
[ "$(grep -o '<td class="policy"' "$folder/dom.txt" | wc -l)" -eq "$runs" ] ||
  fail "the table has a row for each of the $runs runs"
job=$(grep -o '"jobs":{.*' "$folder/dom.txt" | sed 's/.*"name":\["\([^"]*\)".*/\1/' | head -n 1)

if grep -q '"outages":{' "$folder/dom.txt"; then
  [ "$(attribute outages-drawn)" -gt 0 ] || fail "no outage is drawn"
fi

look "#zoom=0,3600,0,4"
[ "$drawn" -lt "$all" ] || fail "$drawn bars of $all are in view after zooming in"
look "#run=$((runs - 1))&colour=tenant"
grep -o 'id="legend">.*' "$folder/dom.txt" | grep -q swatch || fail "tenants have no legend"
look "#job=$job"
grep -o 'id="found"[^<]*' "$folder/dom.txt" | grep -qF "$job" || fail "the job '$job' is not found"

if [ -n "$picture" ]; then
  run_browser "file://$page" --window-size=1400,2100 --screenshot="$picture" >/dev/null
fi
echo "report page: $runs runs, $all bars, 4 states, no script error"
