#!/usr/bin/env python3
"""Kills controllers, agents, keepers and ranks of a small cluster at random moments while jobs are
submitted, and then checks what must hold whatever was killed:

  lost         acknowledged jobs that the daemon does not know any more
  double_runs  ranks of one (job, epoch) that ran twice
  overlaps     ranks of two epochs of one job that lived at the same time
  stuck        acknowledged jobs that did not end in time after the last kill

With --freeze jobs of different priorities preempt each other by freezing.

Jobs write down themselves when they lived. Only processes of the drill's own store are killed.
"""
import argparse
import glob
import http.client
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../bench/live"))
from daemon_http import DaemonConnection  # noqa: E402

# Notes every 50 ms that it lives, on the machine's monotonic clock.
RUN = """
F="$LEDGER/$WEFT_JOB.$WEFT_JOB_EPOCH.$RANK.$$"
read NOW REST < /proc/uptime; echo "$NOW" > "$F"
for I in $(seq {steps}); do sleep 0.05; read NOW REST < /proc/uptime; echo "$NOW" >> "$F"; done
"""


def ask(store, method, target, body=None):
    connection = DaemonConnection(store, timeout=10)
    try:
        connection.request(method, target, json.dumps(body) if body is not None else None)
        reply = connection.getresponse()
        return reply.status, json.loads(reply.read())
    finally:
        connection.close()


def command_lines(store):
    """pid and words of every process of this store's agents."""
    found = []
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            with open(path, "rb") as file:
                words = file.read().decode(errors="replace").split("\0")
        except OSError:
            continue
        if len(words) > 2 and words[1] == "agent" and any(w.startswith(store + "/") for w in words):
            found.append((int(path.split("/")[2]), words))
    return found


def children_of(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


class Cluster:
    def __init__(self, weft, store, lease, policy):
        self.words = [weft, "up", "--cluster", "2x2", "--store", store, "--lease", str(lease),
                      "--policy", policy]
        self.store, self.daemon, self.starts = store, None, 0
        self.log = open(os.path.join(store, "drill.log"), "ab")

    def up(self):
        self.daemon = subprocess.Popen(self.words, stdout=self.log, stderr=self.log,
                                       stdin=subprocess.DEVNULL)
        self.starts += 1

    def kill_one(self, dice):
        """Kills a controller, an agent, its server of keepers, a keeper or a rank."""
        kinds = {"controller": [self.daemon.pid], "agent": [], "server": [], "keeper": [],
                 "rank": []}
        for pid, words in command_lines(self.store):
            if words[2] != "keep":
                kinds["agent"].append(pid)
            elif not words[4].strip():
                kinds["server"].append(pid)
            else:
                kinds["keeper"].append(pid)
                kinds["rank"] += children_of(pid)
        kind = dice.choice([k for k in kinds if kinds[k]])
        try:
            os.kill(dice.choice(kinds[kind]), signal.SIGKILL)
        except ProcessLookupError:
            return None
        if kind == "controller":
            self.daemon.wait()
            time.sleep(dice.uniform(0, 0.4))
            self.up()
        return kind

    def end(self):
        try:
            ask(self.store, "POST", "/v1/down?now=1")
            self.daemon.wait(20)
        except Exception:
            self.daemon.kill()
            self.daemon.wait()
        for pid, _ in command_lines(self.store):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass


def submitter(store, ledger, stop, acknowledged, refused, dice, most_waiting, freeze):
    number = 0
    while not stop.is_set():
        spec = {"v": 1, "name": f"job{number}", "run": RUN.format(steps=dice.randint(4, 30)),
                "workdir": "/", "envs": {"LEDGER": ledger},
                "resources": {"accelerators": [{"type": "", "count": dice.choice([1, 1, 2])}]},
                "num_nodes": 1, "checkpoint": {"grace_s": 0.1},
                # Killed more often than it would be worth to wait longer and longer for.
                "retries": {"max": 1000, "backoff_s": 0.5, "max_backoff_s": 2},
                "on_controller_loss": dice.choice(["continue", "stop"])}
        if freeze:
            spec["checkpoint"]["preempt"] = dice.choice(["freeze", "freeze", "checkpoint"])
            spec["priority"] = dice.randint(0, 3)
        if spec["resources"]["accelerators"][0]["count"] == 2 and dice.random() < 0.5:
            spec["num_nodes"] = 2
            spec["resources"]["accelerators"][0]["count"] = 1
        try:
            status, answer = ask(store, "POST", "/v1/jobs", {"spec": spec})
            if status == 201:
                acknowledged.append(answer["jobs"][0]["uuid"])
                number += 1
            else:
                refused.append(answer)
                return
            waiting = sum(1 for j in ask(store, "GET", "/v1/jobs")[1]["jobs"])
            time.sleep(1 if waiting > most_waiting else dice.uniform(0.02, 0.3))
        except (OSError, http.client.HTTPException, ValueError, KeyError):
            time.sleep(0.05)  # the daemon is away


def wait_for_ends(store, acknowledged, timeout):
    """The states of all jobs once every acknowledged one has ended, or when the time is up."""
    end = time.monotonic() + timeout
    states = {}
    while time.monotonic() < end:
        try:
            jobs = ask(store, "GET", "/v1/jobs?all=1")[1]["jobs"]
        except (OSError, http.client.HTTPException, ValueError):
            time.sleep(0.1)
            continue
        states = {job["uuid"]: job["state"] for job in jobs}
        open_states = {"queued", "starting", "running", "stopping"}
        if not any(states.get(uuid) in open_states for uuid in acknowledged):
            break
        time.sleep(0.2)
    return states


def read_ledger(ledger):
    """Per job: (epoch, rank, pid, first moment, last moment)."""
    lives = {}
    for path in glob.glob(os.path.join(ledger, "*")):
        uuid, epoch, rank, pid = os.path.basename(path).rsplit(".", 3)
        with open(path) as file:
            moments = [float(word) for word in file.read().split()]
        if moments:
            lives.setdefault(uuid, []).append((int(epoch), int(rank), int(pid), moments[0], moments[-1]))
    return lives


def judge(lives):
    doubles = overlaps = 0
    for runs in lives.values():
        keys = [(epoch, rank) for epoch, rank, *_ in runs]
        doubles += len(keys) - len(set(keys))
        last_of = {}
        first_of = {}
        for epoch, _, _, first, last in runs:
            last_of[epoch] = max(last_of.get(epoch, 0), last)
            first_of[epoch] = min(first_of.get(epoch, 1e18), first)
        epochs = sorted(first_of)
        overlaps += sum(1 for a, b in zip(epochs, epochs[1:]) if first_of[b] < last_of[a])
    return doubles, overlaps


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--weft", default="build/release/weft")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--lease", type=float, default=1)
    parser.add_argument("--freeze", action="store_true", help="preempt each other by freezing")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--keep", action="store_true", help="leave the store for a look")
    a = parser.parse_args()
    dice = random.Random(a.seed)
    store = tempfile.mkdtemp(prefix="weft-drill-")
    ledger = os.path.join(store, "ledger")
    os.mkdir(ledger)
    os.chmod(ledger, 0o777)
    cluster = Cluster(os.path.abspath(a.weft), store, a.lease,
                      "priority" if a.freeze else "backfill")
    cluster.up()
    stop, acknowledged, refused = threading.Event(), [], []
    thread = threading.Thread(target=submitter, args=(
        store, ledger, stop, acknowledged, refused, random.Random(a.seed + 1), 8, a.freeze))
    thread.start()
    killed = {}
    done = 0
    deadline = time.monotonic() + 60 + 3 * a.kills
    try:
        while done < a.kills and time.monotonic() < deadline and not refused:
            time.sleep(dice.uniform(0.05, 0.6))
            kind = cluster.kill_one(dice)
            if kind is not None:
                killed[kind] = killed.get(kind, 0) + 1
                done += 1
        stop.set()
        thread.join(30)
        states = wait_for_ends(store, acknowledged, 90 + 2 * a.lease)
        lives = read_ledger(ledger)
    finally:
        stop.set()
        thread.join(30)
        cluster.end()
    doubles, overlaps = judge(lives)
    ended = {"finished", "failed", "cancelled", "rejected"}
    result = {
        "kills": done, "acknowledged": len(acknowledged),
        "lost": sum(1 for uuid in acknowledged if uuid not in states),
        "double_runs": doubles, "overlaps": overlaps,
        "stuck": sum(1 for uuid in acknowledged if uuid in states and states[uuid] not in ended),
        "finished": sum(1 for uuid in acknowledged if states.get(uuid) == "finished"),
        "never_ran": sum(1 for uuid in acknowledged
                         if states.get(uuid) == "finished" and uuid not in lives),
        "killed": killed, "seed": a.seed, "refused": refused[:1],
    }
    print(json.dumps(result) if a.json else "\n".join(f"{k}: {v}" for k, v in result.items()))
    good = (done == a.kills and acknowledged and result["finished"] == len(acknowledged) and
            not any(result[k] for k in ("lost", "double_runs", "overlaps", "stuck", "never_ran")))
    if not a.keep and good:
        shutil.rmtree(store, ignore_errors=True)
    elif not good:
        print(f"kill_drill: the store is left in {store}", file=sys.stderr)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
