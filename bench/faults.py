#!/usr/bin/python3
"""Kills random ranks of a training job, again and again, and says how it survived.

    bench/faults.py --weft build/release/weft --kills 100

Starts examples/digits.py on four elastic ranks, sends SIGKILL to a random one (rank 0 included) at a
random moment, waits until the survivors have taken a step and the replacement has joined, and goes on.
Prints the seconds from each kill to the survivors' next step and until four ranks train again, and
checks that every step was taken once and that the losses stay near those of an undisturbed run.
"""

import argparse
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(word) for word in file.read().split()]


def ranks_of(launcher):
    """Pids of the training processes, all started by the launcher."""
    found = []
    for pid in children(launcher):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                if b"digits.py" in file.read():
                    found.append(pid)
        except OSError:
            pass
    return found


class Losses:
    """Lines `step loss ranks seconds` as they are written."""

    def __init__(self, path):
        self.path, self.rows, self.offset = path, [], 0

    def read(self):
        if os.path.exists(self.path):
            with open(self.path) as file:
                file.seek(self.offset)
                for line in file:
                    if not line.endswith("\n"):
                        break
                    self.offset += len(line)
                    step, loss, ranks, seconds = line.split()
                    self.rows.append((int(step), float(loss), int(ranks), float(seconds)))
        return self.rows

    def wait(self, wanted, after, timeout):
        """The first row later than `after` that is wanted."""
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            for row in self.read()[-200:]:
                if row[3] > after and wanted(row):
                    return row
            time.sleep(0.01)
        return None


def start(arguments, folder, steps, losses):
    environment = dict(os.environ)
    environment["PYTHONPATH"] = os.path.join(os.path.dirname(arguments.weft), "python")
    command = [arguments.weft, "launch", "-n", "4", "--elastic", "2:4", "--log-dir",
               os.path.join(folder, "logs"), "/usr/bin/python3",
               os.path.join(ROOT, "examples", "digits.py"), "--steps", str(steps),
               "--losses", losses]
    with open(os.path.join(folder, "out"), "ab") as out:
        return subprocess.Popen(command, stdout=out, stderr=out, env=environment)


def undisturbed(arguments, folder, steps):
    path = os.path.join(folder, "quiet")
    job = start(arguments, folder, steps, path)
    job.wait(timeout=600)
    return {row[0]: row[1] for row in Losses(path).read()}


def jump(rows, quiet, window=50):
    """The largest difference of the means of a window of steps, to the undisturbed run."""
    worst = 0.0
    pairs = [(loss, quiet[step]) for step, loss, _, _ in rows if step in quiet]
    for first in range(0, len(pairs) - window, window):
        part = pairs[first:first + window]
        worst = max(worst, abs(statistics.mean(a for a, _ in part) -
                               statistics.mean(b for _, b in part)))
    return worst


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--weft", default=os.path.join(ROOT, "build/release/weft"))
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    draw = random.Random(arguments.seed)
    next_step, back, lost = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        losses = Losses(os.path.join(folder, "losses"))
        job = start(arguments, folder, 10_000_000, losses.path)
        try:
            if losses.wait(lambda row: row[2] == 4, 0, 120) is None:
                print("the job did not start", file=sys.stderr)
                return 1
            for kill in range(arguments.kills):
                time.sleep(draw.uniform(0, 0.3))
                victim = draw.choice(ranks_of(job.pid))
                at = time.monotonic()
                os.kill(victim, signal.SIGKILL)
                row = losses.wait(lambda row: row[2] < 4, at, 60)
                again = row and losses.wait(lambda row: row[2] == 4, row[3], 120)
                if not again or job.poll() is not None:
                    lost.append(kill)
                    print(f"kill {kill}: no recovery", file=sys.stderr)
                    with open(os.path.join(folder, "out")) as out:
                        print("".join(out.readlines()[-30:]), file=sys.stderr)
                    break
                next_step.append(row[3] - at)
                back.append(again[3] - at)
                print(f"kill {kill}: step {row[0]} after {next_step[-1]:.3f} s, four ranks after "
                      f"{back[-1]:.2f} s", file=sys.stderr)
        finally:
            job.send_signal(signal.SIGTERM)
            try:
                job.wait(timeout=60)
            except subprocess.TimeoutExpired:
                job.kill()
        rows = losses.read()
        steps = [row[0] for row in rows]
        # The rank that writes the lines may die between a step and its line.
        gaps = sum(b <= a or b > a + 2 for a, b in zip(steps, steps[1:]))
        quiet = undisturbed(arguments, folder, min(steps[-1], 2000)) if steps else {}
        result = {
            "schema": 1, "kills": arguments.kills, "recoveries": len(next_step),
            "next_step_s": {"median": statistics.median(next_step or [0]),
                            "max": max(next_step or [0])},
            "four_ranks_s": {"median": statistics.median(back or [0]), "max": max(back or [0])},
            "steps": len(steps), "steps_out_of_order": gaps,
            "loss_difference": jump(rows, quiet), "load": os.getloadavg()[0],
        }
    if arguments.json:
        print(json.dumps(result, indent=2))
    else:
        print(f"{result['recoveries']} recoveries of {result['kills']} kills; next step after "
              f"{result['next_step_s']['median']:.3f} s (median), {result['next_step_s']['max']:.3f}"
              f" s (most); four ranks after {result['four_ranks_s']['median']:.2f} s (median), "
              f"{result['four_ranks_s']['max']:.2f} s (most)\n{result['steps']} steps, "
              f"{gaps} out of order; losses within {result['loss_difference']:.3f} of an "
              f"undisturbed run (means of 50 steps); load {result['load']:.1f}")
    return 0 if result["recoveries"] == arguments.kills and gaps == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
