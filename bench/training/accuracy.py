#!/usr/bin/python3
"""Final accuracy for pairs of codec and synchronisation mode, at equal epochs.

    PYTHONPATH=build/release/python bench/training/accuracy.py --seeds 5 --json digits.json
    PYTHONPATH=build/release/python bench/training/accuracy.py --task gpt --seeds 2

Trains a task of tasks.py once for each pair and seed, the same seeds and batches for all, and prints
each pair's accuracy (mean ± standard error over seeds) and its mean difference from plain averaging of
gradients (none/bsp) with the same optimizer, seed by seed; learning rates fall to 0 along a cosine. A pair that ends more than 1 % below it is
marked, and its accuracy epoch by epoch is printed beside plain's. Ends with 1 when there are more than
three such pairs.

A pair is CODEC/SYNC@OPTIMIZER (adamw, momentum, sgd). Codecs that send a few bits or values and keep the
rest for later steps are made for SGD; DGC contains its momentum.
"""

import argparse
import json
import os
import statistics
import sys

import torch
import torch.distributed as dist
from tasks import ROOT, TASKS, optimizer_of

sys.path.insert(0, os.path.join(ROOT, "bindings", "python", "tests"))
from ranks import run  # noqa: E402

PLAIN = "none/bsp@"
WARM_UP = 4  # epochs in which DGC's share falls to its rate, as its paper has it
ALLOWED, MOST_WORSE = 0.01, 3


def supported(task):
    """Every pair that Weft claims to support."""
    warm_up = WARM_UP * (task.examples // task.batch)
    topk = f"topk:rate={task.share}"
    late = [("efsign", "momentum"), (topk, "momentum"), ("powersgd", "momentum"),
            (f"dgc:rate={task.share},warmup={warm_up}", "sgd")]
    return (
        [f"{codec}/bsp@adamw" for codec in ("fp16", "bf16", "int8", "qsgd", "thc")]
        + [f"{codec}/bsp@{optimizer}" for codec, optimizer in late]
        + [f"{codec}/{sync}@adamw" for sync in ("local:period=8", task.diloco)
           for codec in ("none", "int8", "int4")]
        + [f"{codec}/{sync}@{optimizer}" for sync in ("ssp:bound=3", "asp")
           for codec, optimizer in (("none", "adamw"), ("int8", "adamw"), (topk, "momentum"))]
    )


def plain_of(pair):
    """What a pair is compared with. DGC's momentum is compared with the optimizer's."""
    optimizer = pair.split("@")[1]
    return PLAIN + ("momentum" if optimizer == "sgd" else optimizer)


def trained(rank, size, task, pair, seed, epochs, rate):
    """(accuracy at the end, accuracy after each epoch as rank 0 has it)."""
    import weft.torch

    torch.manual_seed(seed)
    model = task.model()
    mode, name = pair.split("@")
    codec, sync = mode.split("/", 1)
    optimizer = optimizer_of(name, model.parameters(), rate or task.rates[name])
    model = weft.torch.wrap(model, codec, sync, optimizer)
    steps = task.examples // task.batch
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs * steps)
    curve = []
    for epoch in range(epochs):
        order = torch.randperm(task.examples,
                               generator=torch.Generator().manual_seed(seed * 1000 + epoch))
        for batch in order.split(task.batch)[:steps]:
            loss = task.loss(model, batch[rank::size])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
        if rank == 0:
            curve.append(task.accuracy(model.module))
    model.finish()
    mine = torch.tensor([task.accuracy(model.module)])  # between averages ranks differ
    dist.all_reduce(mine)
    return mine.item() / size, curve


def rank_main(rank, size, options, about, rows, pairs):
    """Rows of the pairs, written one by one, so that a run that is broken off can go on."""
    task = TASKS[options.task]()
    for pair in pairs:
        runs = [trained(rank, size, task, pair, seed, about["epochs"], options.lr)
                for seed in range(options.first_seed, options.first_seed + options.seeds)]
        rows.append({"pair": pair, "accuracy": [last for last, _ in runs],
                     "curve": [statistics.mean(epoch) for epoch in zip(*(c for _, c in runs))]})
        if rank == 0:
            print(f"{pair}: {statistics.mean(rows[-1]['accuracy']):.4f}", file=sys.stderr,
                  flush=True)
            write(options.json, about, rows)
    return rows


def spread(values):
    """The standard error of their mean."""
    return statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else 0.0


def write(path, about, rows):
    if path:
        with open(path, "w") as file:
            json.dump({**about, "rows": rows}, file, indent=1)
            file.write("\n")


def print_rows(rows):
    by_pair = {row["pair"]: row for row in rows}
    worse = []
    print(f"{'pair':28} {'accuracy':>8} {'±':>6} {'- plain':>8} {'±':>6}")
    for row in rows:
        plain = by_pair[plain_of(row["pair"])]
        gaps = [mine - other for mine, other in zip(row["accuracy"], plain["accuracy"])]
        mean, base = statistics.mean(row["accuracy"]), statistics.mean(plain["accuracy"])
        row["worse"] = mean < base * (1 - ALLOWED)
        if row["worse"]:
            worse.append(row)
        print(f"{row['pair']:28} {mean:8.4f} {spread(row['accuracy']):6.4f} "
              f"{statistics.mean(gaps):+8.4f} {spread(gaps):6.4f}{'  worse' if row['worse'] else ''}")
    for pair in sorted({plain_of(row["pair"]) for row in worse}) + [row["pair"] for row in worse]:
        curve = " ".join(f"{value:.3f}" for value in by_pair[pair]["curve"])
        print(f"{pair} by epoch: {curve}")
    pairs = sum(not row["pair"].startswith(PLAIN) for row in rows)
    print(f"{len(worse)} of {pairs} pairs end more than {ALLOWED:.0%} below plain averaging")
    return worse


def earlier(path, about):
    """Rows by pair of an earlier run of the same kind."""
    if not path or not os.path.exists(path):
        return {}
    with open(path) as file:
        saved = json.load(file)
    if any(saved.get(key) != value for key, value in about.items()):
        raise SystemExit(f"{path} is of another kind of run: delete it, or name another file")
    return {row["pair"]: row for row in saved["rows"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--task", choices=TASKS, default="digits")
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=1, help="others, to choose settings with")
    parser.add_argument("--epochs", type=int, default=0, help="default: the task's")
    parser.add_argument("--lr", type=float, default=0, help="default: the task's")
    parser.add_argument("--json", metavar="FILE",
                        help="write the rows there; pairs that it has are not run again")
    parser.add_argument("--limit", type=float, default=3600, help="seconds for all of it")
    parser.add_argument("pairs", nargs="*", help="CODEC/SYNC@OPTIMIZER (the supported)")
    options = parser.parse_args()
    asked = options.pairs or supported(TASKS[options.task]())
    about = {"schema": 1, "task": options.task, "ranks": options.ranks, "seeds": options.seeds,
             "first_seed": options.first_seed,
             "epochs": options.epochs or TASKS[options.task].epochs, "rate": options.lr}
    known = earlier(options.json, about)
    plains = dict.fromkeys(plain_of(pair) for pair in [*known, *asked])
    pairs = [*plains, *(pair for pair in asked if pair not in plains)]
    missing = [pair for pair in pairs if pair not in known]
    rows = list(known.values())
    if missing:
        rows = run(rank_main, options.ranks, options, about, rows, missing,
                   limit_s=options.limit)[0]
    rows.sort(key=lambda row: row["pair"] not in plains)
    worse = print_rows(rows)
    write(options.json, about, rows)
    return 1 if len(worse) > MOST_WORSE else 0


if __name__ == "__main__":
    sys.exit(main())
