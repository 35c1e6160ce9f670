# Read by the checks of pages: finds a browser, or ends with exit code 77 (skipped); makes $folder,
# which goes with the script.
browser=
for name in ${WEFT_BROWSER:-chromium chromium-browser google-chrome}; do
  if command -v "$name" >/dev/null 2>&1; then browser=$name; break; fi
done
if [ -z "$browser" ]; then
  echo "skipped: no Chromium here to open the page with (Debian: apt-get install chromium)"
  exit 77
fi

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# run_browser ADDRESS FLAGS: with nothing of the user's and nothing from the network.
run_browser() {
  address=$1
  shift
  timeout 60 "$browser" --headless --no-sandbox --disable-gpu --disable-quic --no-first-run \
    --disable-background-networking --disable-component-update --disable-sync \
    --user-data-dir="$folder/profile" --host-resolver-rules="MAP * ~NOTFOUND" \
    --virtual-time-budget=4000 "$@" "$address" 2>"$folder/browser.log"
}
