#!/usr/bin/python3
"""Accuracy of a digits classifier for pairs of codec and synchronisation mode, at equal epochs.

    PYTHONPATH=build/release/python bench/accuracy.py --ranks 4 --seeds 3

Trains the classifier of examples/digits.py once for each pair and seed and prints a table: accuracy on
images it has not seen, its spread over seeds, and the difference from plain averaging of gradients
(none/bsp). Ends with 1 when a pair is more than 0.01 below it. Pairs whose codec is not built are left
out with a line. Takes minutes.
"""

import argparse
import multiprocessing
import os
import queue
import statistics
import sys
import tempfile
import traceback
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PLAIN = "none/bsp"
ALLOWED = 0.01
TRAIN, BATCH = 1437, 128  # images; of a step, over all ranks
LIMIT_S = 600

PAIRS = (
    [f"{codec}/bsp" for codec in ("fp16", "bf16", "int8", "qsgd", "efsign", "topk", "dgc",
                                  "powersgd", "thc")]
    + [f"{codec}/{sync}" for sync in ("local:period=8", "diloco:period=8")
       for codec in ("none", "int8", "int4")]
    + [f"{codec}/{sync}" for sync in ("ssp:bound=3", "asp") for codec in ("none", "int8", "topk")]
)


def known(pair):
    from weft import _torch

    codec, sync = pair.split("/", 1)
    try:
        _torch.codec_text(codec)
        _torch.mode_facts(sync)
    except ValueError as error:
        return str(error).splitlines()[0]
    return ""


def data():
    from sklearn.datasets import load_digits

    digits = load_digits()
    order = torch.randperm(len(digits.target), generator=torch.Generator().manual_seed(1))
    images = torch.tensor(digits.images, dtype=torch.float32)[order].unsqueeze(1) / 16
    return images, torch.tensor(digits.target)[order]


def accuracy(rank, size, pair, seed, epochs, rate):
    import weft.torch

    sys.path.insert(0, os.path.join(ROOT, "examples"))
    from digits import model_of

    images, labels = data()
    torch.manual_seed(seed)
    model = model_of()
    codec, sync = pair.split("/", 1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate)
    model = weft.torch.wrap(model, codec, sync, optimizer)
    for epoch in range(epochs):
        order = torch.randperm(TRAIN, generator=torch.Generator().manual_seed(seed * 1000 + epoch))
        for batch in order.split(BATCH)[: TRAIN // BATCH]:
            mine = batch[rank::size]
            loss = nn.functional.cross_entropy(model(images[mine]), labels[mine])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    model.finish()
    with torch.no_grad():
        return (model.module(images[TRAIN:]).argmax(1) == labels[TRAIN:]).float().mean().item()


def rank_main(rank, size, path, results, arguments):
    torch.set_num_threads(1)
    try:
        import weft.torch  # noqa: F401

        dist.init_process_group("weft", init_method=f"file://{path}", rank=rank, world_size=size,
                                timeout=timedelta(seconds=LIMIT_S))
        results.put((accuracy(rank, size, *arguments), ""))
    except BaseException:
        results.put((0.0, traceback.format_exc()))
    results.close()
    results.join_thread()
    dist.barrier()


def trained(size, *arguments):
    """The mean accuracy over ranks."""
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    with tempfile.TemporaryDirectory() as folder:
        ranks = [context.Process(target=rank_main, daemon=True,
                                 args=(rank, size, os.path.join(folder, "meet"), results, arguments))
                 for rank in range(size)]
        for process in ranks:
            process.start()
        found = []
        try:
            for _ in ranks:
                value, error = results.get(timeout=LIMIT_S)
                if error:
                    raise RuntimeError(error)
                found.append(value)
        except queue.Empty:
            raise RuntimeError(f"only {len(found)} of {size} ranks ended in {LIMIT_S} s") from None
        finally:
            for process in ranks:
                process.join(timeout=20)
                if process.is_alive():
                    process.kill()
        return statistics.mean(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=24)
    parser.add_argument("--lr", type=float, default=2e-3, help="of AdamW (0.002)")
    parser.add_argument("pairs", nargs="*", default=PAIRS, help="CODEC/SYNC (the supported ones)")
    options = parser.parse_args()
    said_no, plain = False, 0.0
    print(f"{'pair':28} {'accuracy':>8} {'spread':>7} {'- plain':>8}", flush=True)
    for pair in [PLAIN] + [pair for pair in options.pairs if pair != PLAIN]:
        if known(pair):
            print(f"{pair:28} left out: {known(pair)}", flush=True)
            continue
        values = [trained(options.ranks, pair, seed, options.epochs, options.lr)
                  for seed in range(1, 1 + options.seeds)]
        mean = statistics.mean(values)
        if pair == PLAIN:
            plain = mean
        worse = mean < plain - ALLOWED
        said_no |= worse
        print(f"{pair:28} {mean:8.4f} {max(values) - min(values):7.4f} {mean - plain:+8.4f}"
              f"{'  worse' if worse else ''}", flush=True)
    return 1 if said_no else 0


if __name__ == "__main__":
    sys.exit(main())
