#!/usr/bin/python3
"""What a step of a codec and a synchronisation mode is worth beside a plain one.

    PYTHONPATH=build/release/python bench/training/progress.py --seeds 3
    PYTHONPATH=build/release/python bench/training/progress.py int4/bsp@adamw none/local:period=16@adamw

Trains a task of tasks.py with plain averaging and with each pair, the same seeds and batches for all, at a constant
learning rate, until the mean loss over all examples is a tenth (--share) of what it was at the begin; it is looked at after every
average of parameters, where all ranks have the same. Progress is the steps of plain averaging over the steps of the
pair, the mean over seeds; docs/sync.md and docs/codecs.md say which numbers of the cost model come from here. A pair that is
not there after eight times as many steps is worth at most an eighth.
"""

import argparse
import os
import statistics
import sys

import torch
from tasks import ROOT, TASKS, Perceptron, optimizer_of

sys.path.insert(0, os.path.join(ROOT, "bindings", "python", "tests"))
from ranks import run  # noqa: E402

PERIODS = (2, 4, 8, 16, 32)
MOST_TIMES = 8
ALL = {**TASKS, "perceptron": Perceptron}


def loss_of(task, model):
    with torch.no_grad():
        return task.loss(model, torch.arange(task.examples)).item()


def batches(task, order):
    """Of an epoch."""
    chosen = torch.arange(task.examples) if hasattr(task, "own") else torch.randperm(task.examples, generator=order)
    return chosen.split(task.batch)[:task.examples // task.batch]


def steps_until(rank, size, task, pair, seed, options, most):
    """Steps until the loss is there; `most` or more: it was not."""
    import weft.torch

    torch.manual_seed(seed)
    model = task.model()
    mode, name = pair.split("@")
    codec, sync = mode.split("/", 1)
    optimizer = optimizer_of(name, model.parameters(), options.lr or task.rates[name])
    model = weft.torch.wrap(model, codec, sync, optimizer)
    goal, step, rounds = options.share * loss_of(task, model.module), 0, 0
    order = torch.Generator().manual_seed(seed)
    while step < most:
        for batch in batches(task, order):
            loss = task.loss(model, batch[rank::size])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            # After an average all ranks see the same loss, so that all end with the same step.
            if model.rounds > rounds and loss_of(task, model.module) <= goal:
                model.finish()
                return step
            rounds = model.rounds
    model.finish()
    return step


def rank_main(rank, size, options, pairs):
    task = ALL[options.task]()
    rows, plain = [], {}
    for pair in pairs:
        optimizer = pair.split("@")[1]
        worth = []
        for seed in range(options.first_seed, options.first_seed + options.seeds):
            key = optimizer, seed
            if key not in plain:
                plain[key] = steps_until(rank, size, task, f"none/bsp@{optimizer}", seed, options, 5000)
            steps = steps_until(rank, size, task, pair, seed, options, MOST_TIMES * plain[key])
            worth.append(plain[key] / steps)
        rows.append((pair, worth))
        if rank == 0:
            print(f"{pair:32} {statistics.mean(worth):.2f}  {' '.join(f'{one:.2f}' for one in worth)}", flush=True)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--task", choices=sorted(ALL), default="digits")
    parser.add_argument("pairs", nargs="*", help="CODEC/SYNC@OPTIMIZER (default: averages of parameters)")
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--share", type=float, default=0.1, help="of the first loss, that is to be reached")
    parser.add_argument("--lr", type=float, help="default: that of the task for the optimizer")
    parser.add_argument("--timeout", type=float, default=3600)
    options = parser.parse_args()
    pairs = options.pairs or [f"none/local:period={period}@{optimizer}"
                              for optimizer in ("adamw", "momentum", "sgd") for period in PERIODS]
    run(rank_main, options.ranks, options, pairs, limit_s=options.timeout)


if __name__ == "__main__":
    main()
