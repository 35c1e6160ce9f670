#!/usr/bin/env python3
"""Two jobs send over the same links: one limited, one free. How much does each get?

Nodes are network namespaces with links of 200 Mbit/s; ranks use plain sockets, so nothing but the
node's enforcement holds them back. Needs root.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from daemon_http import DaemonConnection  # noqa: E402

RANK = '''
import os, socket, sys, time
seconds = float(sys.argv[1])
address = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
if os.environ["RANK"] == "0":
    server = socket.socket()
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind(address)
    server.listen(1)
    server.settimeout(20)
    link, _ = server.accept()
    link.settimeout(20)
    got, begin = 0, None
    while True:
        part = link.recv(1 << 16)
        if not part:
            break
        now = time.monotonic()
        if begin is None:
            begin = now
        if now - begin > 1:  # after the start
            got += len(part)
            last = now
    print("mbit", got * 8e-6 / (last - begin - 1), flush=True)
else:
    deadline = time.monotonic() + 20
    while True:
        try:
            link = socket.create_connection(address, timeout=5)
            break
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        link.sendall(b"x" * 65536)
    link.close()
'''


def ask(store, method, target, body=None):
    connection = DaemonConnection(store)
    connection.request(method, target, json.dumps(body) if body is not None else None)
    reply = connection.getresponse()
    text = reply.read()
    if reply.status >= 400:
        raise SystemExit(f"{method} {target}: {reply.status} {text.decode()}")
    return json.loads(text)


def wait_for(what, deadline_s):
    end = time.monotonic() + deadline_s
    while not what():
        if time.monotonic() > end:
            raise SystemExit("the cluster did not do its part in time")
        time.sleep(0.1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--weft", default="build/release/weft")
    parser.add_argument("--seconds", type=float, default=6)
    parser.add_argument("--limit", type=float, default=50, help="Mbit/s of the limited job")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="weft-bandwidth-")
    store = os.path.join(folder, "store")
    with open(os.path.join(folder, "rank.py"), "w") as script:
        script.write(RANK)
    with open(os.path.join(folder, "cluster.yaml"), "w") as cluster:
        cluster.write("nodes:\n  - {name: node, count: 2, devices: 2, network_gbit_s: 0.2}\n")
    daemon = subprocess.Popen([options.weft, "up", "--cluster", os.path.join(folder, "cluster.yaml"),
                               "--policy", "fifo", "--store", store, "--namespaces"],
                              stdout=subprocess.DEVNULL)
    try:
        wait_for(lambda: os.path.exists(os.path.join(store, "sock")), 20)
        wait_for(lambda: all(n["in_service"] for n in ask(store, "GET", "/v1/nodes")["nodes"]), 20)
        for name, limit in (("limited", options.limit * 1e6 / 8), ("free", 0)):
            ask(store, "POST", "/v1/jobs", {"spec": {
                "v": 1, "name": name, "num_nodes": 2, "workers_per_node": 1, "workdir": folder,
                "run": f"exec /usr/bin/python3 rank.py {options.seconds}",
                "resources": {"accelerators": [{"type": "", "count": 2}]},
                "share": {"percent": 50}, "bandwidth": {"limit_bytes_per_s": limit}}})
        wait_for(lambda: not ask(store, "GET", "/v1/jobs")["jobs"], options.seconds + 30)
        got = {}
        for name in ("limited", "free"):
            text = ask(store, "GET", f"/v1/jobs/{name}/logs?rank=0")["text"]
            got[name] = float(text.split("mbit")[1].split()[0])
    finally:
        subprocess.run([options.weft, "down", "--store", store], check=False)
        daemon.wait(timeout=20)
        shutil.rmtree(folder, ignore_errors=True)
    off = 100 * (got["limited"] / options.limit - 1)
    if options.json:
        print(json.dumps({"link_mbit": 200, "limit_mbit": options.limit, "limited_mbit": got["limited"],
                          "free_mbit": got["free"], "off_pct": off}))
    else:
        print(f"limit {options.limit:.0f} Mbit/s: got {got['limited']:.1f} ({off:+.1f} %), "
              f"the free job beside it {got['free']:.1f} of 200")
    return 0 if abs(off) <= 10 else 1


if __name__ == "__main__":
    sys.exit(main())
