#!/usr/bin/python3
"""Cuts the network between ranks, or stops one, and checks that never two groups go on.

    bench/partition.py --weft build/release/weft [--case 3-1|2-2|stop]

Four hosts are network namespaces joined by a bridge (bench/arena.sh; needs root). Each runs `weft bench
survive`, which sums, re-forms after a loss, and says what it sees. After `--cut` seconds one host is cut
off, two are moved to a bridge of their own, or one rank is stopped; after `--heal` seconds that is
undone. Fails when a membership number has two meanings, when two groups sum at the same time, when a
member that was left out takes a step that the others had not taken, or when a sum is wrong.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ARENA = os.path.join(ROOT, "bench", "arena.sh")
RANKS = 4


def ip(*words):
    subprocess.run(["ip", *words], check=True, timeout=20)


def survivors(weft, tag, folder, seconds, deadline):
    ranks = []
    for rank in range(RANKS):
        with open(os.path.join(folder, f"log{rank}"), "wb") as log:
            ranks.append(subprocess.Popen(
                [ARENA, "exec", tag, str(rank), weft, "bench", "survive", "--rank", str(rank),
                 "--ranks", str(RANKS), "--interface", "net0", "--rendezvous", folder,
                 "--seconds", str(seconds), "--deadline", str(deadline)], stdout=log))
    return ranks


def rows(folder):
    found = []
    for rank in range(RANKS):
        with open(os.path.join(folder, f"log{rank}")) as log:
            found += [json.loads(line) for line in log if line.startswith("{")]
    return sorted(found, key=lambda row: row["t"])


def weft_pid(process):
    """The rank itself, below the shell and `ip netns exec` that replace themselves by it."""
    pid = process.pid
    while True:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            below = file.read().split()
        if not below:
            return pid
        pid = int(below[0])


def judge(log, cut_at):
    """What is wrong, in words."""
    wrong = [f"member {row['member']} got a wrong sum" for row in log if row["event"] == "wrong"]
    meaning, steps = {}, [row for row in log if row["event"] in ("step", "reformed")]
    for row in steps:
        members = tuple(row["members"])
        if meaning.setdefault(row["number"], members) != members:
            wrong.append(f"membership {row['number']} is {meaning[row['number']]} and {members}")
    # A member that was stopped may end the step that all others had ended before, not a later one.
    ended = {}
    for row in (row for row in log if row["event"] == "error"):
        for member in row["members"]:
            if member != row["member"]:
                key = (row["number"], member)
                ended[key] = max(ended.get(key, 0), row["steps"] + 1)
    for row in (row for row in log if row["event"] == "step" and row["t"] > cut_at):
        later = [r for r in log if r["event"] == "step" and r["number"] > row["number"]
                 and r["t"] < row["t"]]
        if later and row["steps"] > ended.get((row["number"], row["member"]), 0):
            wrong.append(f"member {row['member']} took step {row['steps']} of membership "
                         f"{row['number']} after others went on without it")
    return sorted(set(wrong))


def drill(weft, case, cut_s, heal_s, end_s):
    tag = f"weftp{os.getpid()}"
    subprocess.run([ARENA, "up", tag, str(RANKS), "1gbit", "256kb"], check=True, timeout=60)
    ranks = []
    with tempfile.TemporaryDirectory() as folder:
        try:
            ranks = survivors(weft, tag, folder, end_s, cut_s + heal_s)
            switch = f"{tag}-switch"
            time.sleep(cut_s)
            cut_at = time.monotonic()
            if case == "3-1":
                ip("-n", switch, "link", "set", "port3", "down")
            elif case == "2-2":
                ip("-n", switch, "link", "add", "bridge1", "type", "bridge")
                ip("-n", switch, "link", "set", "bridge1", "up")
                for port in ("port2", "port3"):
                    ip("-n", switch, "link", "set", port, "master", "bridge1")
            else:
                os.kill(weft_pid(ranks[1]), signal.SIGSTOP)
            time.sleep(heal_s)
            if case == "3-1":
                ip("-n", switch, "link", "set", "port3", "up")
            elif case == "2-2":
                for port in ("port2", "port3"):
                    ip("-n", switch, "link", "set", port, "master", "bridge0")
            else:
                os.kill(weft_pid(ranks[1]), signal.SIGCONT)
            for rank in ranks:
                rank.wait(timeout=end_s + 60)
        finally:
            for rank in ranks:
                if rank.poll() is None:
                    rank.kill()
            subprocess.run([ARENA, "down", tag], check=True, timeout=60)
        return rows(folder), cut_at


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--weft", default=os.path.join(ROOT, "build/release/weft"))
    parser.add_argument("--case", choices=["3-1", "2-2", "stop"], action="append")
    parser.add_argument("--cut", type=float, default=2)
    parser.add_argument("--heal", type=float, default=8)
    parser.add_argument("--end", type=float, default=18)
    arguments = parser.parse_args()
    bad = False
    for case in arguments.case or ["3-1", "2-2", "stop"]:
        log, cut_at = drill(arguments.weft, case, arguments.cut, arguments.heal, arguments.end)
        first = {}
        for row in log:
            if row["t"] > cut_at and row["event"] == "error":
                first.setdefault("error", row["t"] - cut_at)
            if row["t"] > cut_at and row["event"] == "reformed":
                first.setdefault(f"membership {row['number']} of {row['members']}",
                                 row["t"] - cut_at)
        ended = [row["member"] for row in log if row["event"] == "ended"]
        wrong = judge(log, cut_at)
        told = "; ".join(f"{what} after {seconds:.2f} s" for what, seconds in first.items())
        print(f"{case}: {sum(row['event'] == 'step' for row in log)} steps seen; {told}; "
              f"members that ended: {ended}; {'never two groups' if not wrong else wrong}")
        bad |= bool(wrong)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
