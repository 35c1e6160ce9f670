#!/usr/bin/python3
"""Accuracy per method when ranks have different data: digits split by a Dirichlet distribution.

    PYTHONPATH=build/release/python bench/training/uneven.py --json uneven.json

Every rank holds its own part of the images (weft.torch.split_data) and sees each of them once an
epoch, in batches of its own, with plain SGD. Methods with local steps take a whole local epoch between
averages, which weigh a rank by its images; shard servers get every rank's ways as they come. bsp takes
a step for each global batch, to which every rank gives its share. Prints accuracy on unseen images,
mean ± standard error over seeds; a seed draws split, model and order.
"""

import argparse
import json
import math
import os
import statistics
import sys

import torch
import torch.distributed as dist
from accuracy import spread
from tasks import ROOT, TASKS

sys.path.insert(0, os.path.join(ROOT, "bindings", "python", "tests"))
from ranks import run  # noqa: E402

METHODS = ["bsp", "local", "fedavg", "fedavg:participation=0.5", "fedprox:mu=0.1", "fednova",
           "scaffold", "fedadam", "slowmo:outer_momentum=0.5", "diloco:outer_lr=0.7,outer_momentum=0.5",
           "ssp:bound=3", "asp", "fedbuff:buffer=8,period=4", "gossip:graph=exponential"]
TOGETHER = ("bsp",)  # ranks step together
ASYNCHRONOUS = ("ssp", "asp", "fedbuff", "gossip")


def batches(mine, count, order):
    """The indices of one epoch, `mine` in a random order, in `count` pieces as even as can be."""
    mine = mine[torch.randperm(len(mine), generator=order)]
    return torch.tensor_split(mine, count)


def plan(sync, own, parts, options):
    """(batches of an epoch of this rank, arguments of wrap)."""
    examples = sum(len(part) for part in parts)
    if sync.split(":")[0] in TOGETHER:
        return math.ceil(examples / options.global_batch), {"weight": float(len(own))}
    name = sync.split(":")[0]
    if name in ASYNCHRONOUS:
        # Shards and neighbours take a rank's way divided by the ranks: a step is part of a global one.
        batch = options.global_batch / len(parts)
        # Neighbours wait for each other: all take as many steps.
        mine = examples / len(parts) if name == "gossip" else len(own)
        return math.ceil(mine / batch), {}
    count = math.ceil(len(own) / options.batch)
    return count, {"weight": float(len(own)), "local_steps": count}


def trained(rank, size, task, sync, seed, options):
    import weft.torch

    labels = task.labels[: task.examples].tolist()
    parts = weft.torch.split_data(options.split, labels, size, seed)
    own = torch.tensor(parts[rank])
    count, arguments = plan(sync, own, parts, options)
    torch.manual_seed(seed)
    model = task.model()
    optimizer = torch.optim.SGD(model.parameters(), lr=options.lr)
    model = weft.torch.wrap(model, "none", sync, optimizer, **arguments)
    order = torch.Generator().manual_seed(seed * 1000 + rank)
    for _ in range(options.epochs):
        for batch in batches(own, count, order):
            if len(batch) == 0:  # it takes part with some image of its own
                batch = own[torch.randint(len(own), (1,), generator=order)]
            loss = task.loss(model, batch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    model.finish()
    mine = torch.tensor([task.accuracy(model.module)])
    dist.all_reduce(mine)
    return mine.item() / size, [len(part) for part in parts]


def rank_main(rank, size, options):
    task = TASKS["digits"]()
    found = {}
    for sync in options.methods:
        runs = [trained(rank, size, task, sync, seed, options)
                for seed in range(1, 1 + options.seeds)]
        found[sync] = runs
        if rank == 0:
            values = [last for last, _ in runs]
            print(f"{sync}: {statistics.mean(values):.4f} ± {spread(values):.4f}",
                  file=sys.stderr, flush=True)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--split", default="dirichlet:0.1")
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--batch", type=int, default=32, help="of a rank (32)")
    parser.add_argument("--global-batch", type=int, default=128, help="of bsp (128)")
    parser.add_argument("--lr", type=float, default=0.1, help="of SGD (0.1)")
    parser.add_argument("--json", metavar="FILE", help="write the rows there")
    parser.add_argument("--limit", type=float, default=3600, help="seconds for all of it")
    parser.add_argument("methods", nargs="*", default=METHODS, help="sync modes")
    options = parser.parse_args()
    found = run(rank_main, options.ranks, options, limit_s=options.limit)[0]
    rows = []
    print(f"{'method':40} {'accuracy':>8} {'±':>6}")
    for sync in options.methods:
        values = [last for last, _ in found[sync]]
        rows.append({"method": sync, "accuracy": values})
        print(f"{sync:40} {statistics.mean(values):8.4f} {spread(values):6.4f}")
    parts = [sizes for _, sizes in found[options.methods[0]]]
    print(f"images of the ranks, first seed: {' '.join(map(str, parts[0]))}")
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"schema": 1, "split": options.split, "ranks": options.ranks,
                       "epochs": options.epochs, "parts": parts, "rows": rows}, file, indent=1)
            file.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
