#!/usr/bin/env python3
"""How long it takes until the commands of a job run: on free nodes, and after a preemption.

A real `weft up` with two nodes. Measured from the moment at which the submission is sent, so the
figures hold two durable records, the decision, the agents and the shell's start; the time from the
answer (the job is on the disk) is printed too. The job that is in the way ignores its signal, so
that it uses up its 100 ms of grace; then once more with a job that is frozen instead, and how long it takes
until that one counts on after the winner's end. The time of a plain write and fdatasync on the same disk stands
beside.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

from daemon_http import DaemonConnection
from submit import at, raw_syncs

GRACE_S = 0.1
RANKS = 2
# The first thing that the command does; both clocks are the machine's.
STAMP = "echo $EPOCHREALTIME > $OUT.$RANK.draft; mv $OUT.$RANK.draft $OUT.$RANK; "


class Cluster:
    def __init__(self, weft, store):
        self.weft, self.store, self.number = weft, store, 0
        words = [weft, "up", "--cluster", f"{RANKS}x1", "--policy", "priority", "--store", store]
        self.daemon = subprocess.Popen(words, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
        self.daemon.stdout.readline()
        self.connection = DaemonConnection(store)
        self.until(lambda: all(n["connected"] for n in self.ask("GET", "/v1/nodes")["nodes"]))

    def ask(self, method, target, body=None):
        self.connection.request(method, target, json.dumps(body) if body else None)
        reply = self.connection.getresponse()
        text = reply.read()
        assert reply.status < 300, text
        return json.loads(text)

    def until(self, holds, timeout_s=30):
        end = time.monotonic() + timeout_s
        while not holds():
            assert time.monotonic() < end, "it does not come"
            time.sleep(0.002)

    def state(self, uuid):
        return self.ask("GET", f"/v1/jobs/{uuid}")["state"]

    def submit(self, run, priority, preempt="checkpoint"):
        """The job, when it was sent and when answered, and where its ranks write their times."""
        self.number += 1
        out = os.path.join(self.store, f"stamp{self.number}")
        spec = {"v": 1, "name": f"job{self.number}", "run": STAMP + run, "workdir": "/",
                "envs": {"OUT": out}, "num_nodes": RANKS, "priority": priority,
                "resources": {"accelerators": [{"type": "", "count": 1}]},
                "checkpoint": {"grace_s": GRACE_S, "preempt": preempt}}
        sent = time.time()
        uuid = self.ask("POST", "/v1/jobs", {"spec": spec})["jobs"][0]["uuid"]
        return uuid, sent, time.time(), out

    def last_stamp(self, out):
        names = [f"{out}.{rank}" for rank in range(RANKS)]
        self.until(lambda: all(os.path.exists(name) for name in names))
        stamps = []
        for name in names:
            with open(name) as file:
                stamps.append(float(file.read()))
        return max(stamps)

    def end(self):
        subprocess.run([self.weft, "down", "--store", self.store], check=False)
        self.daemon.wait()


def starts(cluster, count):
    """Seconds from the submission, and from its answer, to the last rank's first line."""
    from_sent, from_answer = [], []
    for _ in range(count):
        uuid, sent, answered, out = cluster.submit("true", 0)
        last = cluster.last_stamp(out)
        from_sent.append(last - sent)
        from_answer.append(last - answered)
        cluster.until(lambda: cluster.state(uuid) == "finished")
    return sorted(from_sent), sorted(from_answer)


def preemptions(cluster, count):
    """Seconds from the submission of a more urgent job to its last rank's first line."""
    loser, _, _, out = cluster.submit("trap '' TERM; while :; do sleep 0.01; done", 0)
    cluster.last_stamp(out)
    times = []
    for _ in range(count):
        cluster.until(lambda: cluster.state(loser) == "running")
        winner, sent, _, stamp = cluster.submit("true", 1)
        times.append(cluster.last_stamp(stamp) - sent)
        cluster.until(lambda: cluster.state(winner) == "finished")
    cluster.ask("POST", f"/v1/jobs/{loser}/cancel")
    return sorted(times)


def frozen_preemptions(cluster, count):
    """The same with a loser that is frozen, and seconds from the winner's end to the loser's next line."""
    loser, _, _, out = cluster.submit(
        "while :; do echo $EPOCHREALTIME > $OUT.beat.$RANK; sleep 0.01; done", 0, "freeze")
    cluster.last_stamp(out)
    beat = f"{out}.beat.0"
    cluster.until(lambda: os.path.exists(beat))

    def last_beat():
        with open(beat) as file:
            return float(file.read() or 0)

    times, back = [], []
    for _ in range(count):
        cluster.until(lambda: cluster.state(loser) == "running")
        winner, sent, _, stamp = cluster.submit("true", 1)
        ran = cluster.last_stamp(stamp)
        times.append(ran - sent)
        cluster.until(lambda: last_beat() > ran)
        back.append(last_beat() - ran)
        cluster.until(lambda: cluster.state(winner) == "finished")
    assert cluster.ask("GET", f"/v1/jobs/{loser}")["restarts"] == count
    cluster.ask("POST", f"/v1/jobs/{loser}/cancel")
    return sorted(times), sorted(back)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--weft", default="build/release/weft")
    parser.add_argument("--starts", type=int, default=60)
    parser.add_argument("--preemptions", type=int, default=20)
    parser.add_argument("--store", help="on the disk to be measured (a temporary folder)")
    parser.add_argument("--json", action="store_true")
    a = parser.parse_args()
    store = tempfile.mkdtemp(prefix="weft-start-", dir=a.store)
    cluster = Cluster(os.path.abspath(a.weft), store)
    try:
        raw = raw_syncs(store, 100)
        started, placed = starts(cluster, a.starts)
        preempted = preemptions(cluster, a.preemptions)
        frozen, thawed = frozen_preemptions(cluster, a.preemptions)
        raw = sorted(raw + raw_syncs(store, 100))
    finally:
        cluster.end()
        shutil.rmtree(store, ignore_errors=True)
    result = {}
    for name, times in [("raw_fdatasync", raw), ("submit_to_exec", started),
                        ("answer_to_exec", placed), ("preempt_to_exec", preempted),
                        ("freeze_to_exec", frozen), ("winner_to_thawed", thawed)]:
        result[f"{name}_p50_ms"] = at(times, 0.5)
        result[f"{name}_p95_ms"] = at(times, 0.95)
    print(json.dumps(result) if a.json else
          "\n".join(f"{name}: {value:.2f}" for name, value in result.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
