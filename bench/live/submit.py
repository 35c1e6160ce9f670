#!/usr/bin/env python3
"""How long a durable submission takes, and how many a second 16 clients get through.

Prints the time of a plain write and fdatasync on the same disk beside it, and how long a controller
that was killed takes until it answers and decides again.
"""
import argparse
import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from daemon_http import DaemonConnection


def body(devices=4):
    # Takes the whole cluster, so that after the first all of them wait.
    return json.dumps({"spec": {"v": 1, "name": "wait", "run": "sleep 1000", "workdir": "/",
                                "resources": {"accelerators": [{"type": "", "count": devices}]}}})


def client(store, count, out):
    connection = DaemonConnection(store)
    text, times = body(), []
    for _ in range(count):
        begin = time.perf_counter()
        connection.request("POST", "/v1/jobs", text)
        reply = connection.getresponse()
        reply.read()
        assert reply.status == 201, reply.status
        times.append(time.perf_counter() - begin)
    out.put(times)


def clients(store, number, count):
    out = multiprocessing.Queue()
    processes = [multiprocessing.Process(target=client, args=(store, count, out)) for _ in range(number)]
    begin = time.perf_counter()
    for process in processes:
        process.start()
    times = sorted(sum((out.get() for _ in processes), []))
    for process in processes:
        process.join()
    return times, number * count / (time.perf_counter() - begin)


def raw_syncs(folder, count):
    times = []
    with open(os.path.join(folder, "raw"), "wb") as file:
        for _ in range(count):
            begin = time.perf_counter()
            file.write(b"x" * 1000)
            file.flush()
            os.fdatasync(file.fileno())
            times.append(time.perf_counter() - begin)
    return sorted(times)


def at(times, share):
    return 1000 * times[min(len(times) - 1, int(len(times) * share))]


def up(weft, store):
    words = [weft, "up", "--cluster", "1x4", "--store", store]
    daemon = subprocess.Popen(words, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
    begin = time.perf_counter()
    daemon.stdout.readline()
    return daemon, time.perf_counter() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--weft", default="build/release/weft")
    parser.add_argument("--jobs", type=int, default=10000, help="in the journal when it is killed")
    parser.add_argument("--store", help="on the disk to be measured (a temporary folder)")
    parser.add_argument("--json", action="store_true")
    a = parser.parse_args()
    store = tempfile.mkdtemp(prefix="weft-submit-", dir=a.store)
    daemon, _ = up(os.path.abspath(a.weft), store)
    try:
        raw = raw_syncs(store, 300)
        one, _ = clients(store, 1, 300)
        many, rate = clients(store, 16, max(1, (a.jobs - 300) // 16))
        raw += raw_syncs(store, 300)
        raw.sort()
        daemon.send_signal(signal.SIGKILL)
        daemon.wait()
        daemon, back = up(os.path.abspath(a.weft), store)
        connection = DaemonConnection(store)
        connection.request("GET", "/v1/status")
        status = json.loads(connection.getresponse().read())
    finally:
        subprocess.run([os.path.abspath(a.weft), "down", "--store", store], check=False)
        daemon.wait()
        shutil.rmtree(store, ignore_errors=True)
    result = {"raw_p50_ms": at(raw, 0.5), "raw_p99_ms": at(raw, 0.99),
              "submit_p50_ms": at(one, 0.5), "submit_p99_ms": at(one, 0.99),
              "clients_p50_ms": at(many, 0.5), "clients_p99_ms": at(many, 0.99),
              "clients_per_s": rate, "back_s": back, "jobs": sum(status["jobs"].values())}
    print(json.dumps(result) if a.json else
          "\n".join(f"{name}: {value:.3f}" for name, value in result.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
