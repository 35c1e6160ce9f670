#!/usr/bin/python3
"""Seconds of a training step of PyTorch's DistributedDataParallel, one process for each rank.

An MLP of 25 million parameters (100 MB of gradients) on random data that is the same in every run.
Each rank prints one line of JSON: seconds and CPU seconds of each step that counts, and
the loss of every step.

example: for r in 0 1; do ddp_step.py --ranks 2 --rank $r --rendezvous /tmp/meet & done; wait
"""

import argparse
import datetime
import importlib
import json
import os
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

WIDTH, LAYERS, BATCH = 2500, 4, 2
WARM_UP = 2  # steps that do not count: in them DDP rebuilds its buckets
BUILT_IN = ("gloo", "mpi", "nccl")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--rank", type=int, required=True)
    parser.add_argument("--rendezvous", required=True, help="an empty folder that all ranks see")
    parser.add_argument("--backend", default="gloo",
                        help="of torch, or NAME of a package with a module NAME.torch (gloo)")
    parser.add_argument("--interface", help="of the network, which gloo must be told")
    parser.add_argument("--steps", type=int, default=5, help="that count (5)")
    parser.add_argument("--timeout", type=float, default=120, help="seconds for one operation (120)")
    return parser.parse_args()


def connect(arguments):
    if arguments.interface:
        os.environ["GLOO_SOCKET_IFNAME"] = arguments.interface
    if arguments.backend not in BUILT_IN:
        importlib.import_module(arguments.backend + ".torch")  # it registers itself
    meeting = os.path.abspath(os.path.join(arguments.rendezvous, "ddp"))
    dist.init_process_group(
        arguments.backend, init_method="file://" + meeting, rank=arguments.rank,
        world_size=arguments.ranks, timeout=datetime.timedelta(seconds=arguments.timeout))


def make_model():
    torch.manual_seed(1)
    layers = []
    for layer in range(LAYERS):
        if layer > 0:
            layers.append(torch.nn.ReLU())
        layers.append(torch.nn.Linear(WIDTH, WIDTH))
    return torch.nn.Sequential(*layers)


def main():
    arguments = parse_arguments()
    torch.set_num_threads(1)
    connect(arguments)
    model = DistributedDataParallel(make_model())
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    data = torch.Generator().manual_seed(1000 + arguments.rank)
    inputs = torch.randn(BATCH, WIDTH, generator=data)
    targets = torch.randn(BATCH, WIDTH, generator=data)

    seconds, losses, cpu_seconds = [], [], []
    for step in range(WARM_UP + arguments.steps):
        cpu_begin, begin = time.process_time(), time.monotonic()
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(inputs), targets)
        loss.backward()
        optimizer.step()
        if step >= WARM_UP:
            seconds.append(time.monotonic() - begin)
            cpu_seconds.append(time.process_time() - cpu_begin)
        losses.append(loss.item())
    print(json.dumps({
        "rank": arguments.rank, "ranks": arguments.ranks, "backend": arguments.backend,
        "parameters": sum(p.numel() for p in model.parameters()),
        "step_s": seconds, "cpu_s": cpu_seconds, "loss": losses}), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
