#!/usr/bin/python3
"""What one slow rank costs the others: bsp, with a backup worker, ssp and asp beside each other.

    PYTHONPATH=build/release/python bench/training/slow.py --slow 1:4 --json slow.json

Every rank computes for a fixed time a step (it sleeps, so that ranks do not slow each other on few
processors), the slow one FACTOR times as long. Prints the steps a second of the others, beside those of
a run in which no rank is slow, and by how much clocks differed at most: as the shard servers saw it, and
as the ranks' own logs have it, put in order of time: whenever a rank was let go on at clock c, how many
rounds the last rank was behind that had begun to push the fewest. Ends with 1 when a clock difference
exceeds the bound of ssp or does not reach it, or when the others lose more than 10 % under asp or with
backup workers.
"""

import argparse
import json
import os
import sys
import time

import torch
import torch.distributed as dist
from tasks import ROOT
from torch import nn

sys.path.insert(0, os.path.join(ROOT, "bindings", "python", "tests"))
from ranks import run  # noqa: E402

KEPT = 0.9  # of their throughput, by the others under asp and with backup workers


def one_run(rank, size, sync, compute_s, seconds, steps):
    """This rank's log: [(begins to push, may go on, its clock then)] of each step, in seconds of the
    host's clock."""
    import weft.torch

    torch.manual_seed(1)
    model = nn.Linear(64, 64)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    model = weft.torch.wrap(model, "none", sync, optimizer)
    inputs = torch.randn(4, 64)
    dist.barrier()
    log = []
    begin = time.monotonic()
    while len(log) < steps if steps else time.monotonic() < begin + seconds:
        time.sleep(compute_s)
        loss = (model(inputs) - inputs).square().mean()
        optimizer.zero_grad()
        pushes = time.monotonic()
        loss.backward()
        optimizer.step()
        log.append((pushes, time.monotonic(), model.rounds))
    difference = model.clock_difference()
    model.finish()
    return {"begin": begin, "log": log, "difference": max(difference, model.clock_difference())}


def rank_main(rank, size, options):
    slow, factor = options.slow
    found = {}
    for sync in options.modes:
        for slowed in (False, True):
            mine = options.compute * (factor if slowed and rank == slow else 1)
            # Ranks that wait for each other at every step must take equally many.
            every = options.compute * (factor if slowed else 1)
            steps = max(2, round(options.seconds / every)) if sync == "bsp" else 0
            found[sync, slowed] = one_run(rank, size, sync, mine, options.seconds, steps)
    return found


def widest(runs):
    """The largest clock difference in the ranks' logs."""
    events = []
    for rank, found in enumerate(runs):
        had = 0
        for pushes, goes_on, clock in found["log"]:
            events.append((pushes, 0, rank, had + 1))
            events.append((goes_on, 1, rank, clock))
            had = clock
        events.append((found["log"][-1][1] + 1e-9, 2, rank, 0))  # who has ended holds nobody up
    pushed = {rank: 0 for rank in range(len(runs))}
    most = 0
    for _, kind, rank, clock in sorted(events):
        if kind == 0:
            pushed[rank] = clock
        elif kind == 1:
            pushed[rank] = clock  # further than it pushed, where updates were made without it
            most = max(most, clock - min(pushed.values()))
        elif len(pushed) > 1:
            del pushed[rank]
    return most


def throughput(runs, without):
    """Steps a second of the ranks but one, while all were at work."""
    end = min(found["log"][-1][1] for found in runs)
    rates = []
    for rank, found in enumerate(runs):
        if rank == without:
            continue
        done = [goes_on for _, goes_on, _ in found["log"] if goes_on <= end]
        rates.append(len(done) / (done[-1] - found["begin"]) if done else 0.0)
    return sum(rates) / len(rates)


def row_of(sync, by_rank, options):
    slow, _ = options.slow
    even, uneven = ([found[sync, slowed] for found in by_rank] for slowed in (False, True))
    bound = int(sync.split("bound=")[1].split(",")[0]) if "bound=" in sync else None
    row = {"mode": sync, "others_steps_s": throughput(even, slow),
           "others_steps_s_slowed": throughput(uneven, slow), "bound": bound,
           "difference_servers": max(found["difference"] for found in uneven),
           "difference_logs": 0 if sync == "bsp" else widest(uneven)}
    row["kept"] = row["others_steps_s_slowed"] / row["others_steps_s"]
    free = sync.startswith("asp") or "backup=" in sync
    row["ok"] = not (free and row["kept"] < KEPT)
    if bound is not None:
        row["ok"] = bound == row["difference_servers"] == row["difference_logs"]
    return row


def slow_rank(text):
    rank, factor = text.split(":")
    return int(rank), float(factor)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--slow", type=slow_rank, default=(1, 4.0), metavar="RANK:FACTOR")
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=6, help="of a run (6)")
    parser.add_argument("--compute", type=float, default=0.05, help="seconds of a step (0.05)")
    parser.add_argument("--json", metavar="FILE", help="write the rows there")
    parser.add_argument("modes", nargs="*", default=["bsp", "bsp:backup=1", "ssp:bound=3",
                                                     "ssp:bound=8", "asp"])
    options = parser.parse_args()
    by_rank = run(rank_main, options.ranks, options, limit_s=60 + 4 * options.seconds *
                  len(options.modes))
    rows = [row_of(sync, by_rank, options) for sync in options.modes]
    slow, factor = options.slow
    print(f"rank {slow} of {options.ranks} is {factor:g} times as slow; steps a second of the others")
    print(f"{'mode':16} {'even':>6} {'slowed':>7} {'kept':>6}  {'bound':>5} {'servers':>8} {'logs':>5}")
    for row in rows:
        bound = "-" if row["bound"] is None else row["bound"]
        print(f"{row['mode']:16} {row['others_steps_s']:6.2f} {row['others_steps_s_slowed']:7.2f} "
              f"{row['kept']:6.1%}  {bound:>5} {row['difference_servers']:8} "
              f"{row['difference_logs']:5}{'' if row['ok'] else '  no'}")
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"schema": 1, "slow_rank": slow, "factor": factor, "ranks": options.ranks,
                       "rows": rows}, file, indent=1)
            file.write("\n")
    return 0 if all(row["ok"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
