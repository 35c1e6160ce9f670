"""One rank of ``weft bench training``: trains an MLP on data of its own and says how that went.

It prints one line of JSON: for each step its loss, the seconds from the first step's begin to its
end and whether all ranks had the same parameters in it; and the bytes that its sockets sent in the steps
that count.
"""

import argparse
import datetime
import json
import math
import os
import socket
import sys
import time
from typing import Any, Tuple

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
from torch.nn.parallel import DistributedDataParallel

WARM_UP = 2  # steps that do not count: in them DDP divides its buckets anew
ONE_BUCKET_MB = 4000  # more than any model here has
_BYTES_SENT = 200  # where struct tcp_info has tcpi_bytes_sent (Linux 4.19 and later)
_TCP_INFO_BYTES = 256


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", choices=["gloo", "weft"], required=True)
    parser.add_argument("--mode", required=True,
                        help="gloo: plain, fp16, powersgd:rank=1,buckets=1; weft: CODEC/SYNC, auto")
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--rank", type=int, required=True)
    parser.add_argument("--rendezvous", required=True, help="a folder that all ranks see")
    parser.add_argument("--interface", default="lo")
    parser.add_argument("--address", default="127.0.0.1", help="of rank 0")
    parser.add_argument("--width", type=int, default=2500)
    parser.add_argument("--steps", type=int, default=16)
    parser.add_argument("--lr", type=float, default=1.0)
    parser.add_argument("--timeout", type=float, default=120, help="seconds for one operation")
    return parser.parse_args()


def bytes_sent() -> int:
    """That all TCP sockets of this process have sent, by the kernel's count of each; without headers."""
    total = 0
    for name in os.listdir("/proc/self/fd"):
        try:
            with socket.socket(fileno=os.dup(int(name))) as one:
                info = one.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO_BYTES)
        except OSError:  # no socket, or none of TCP
            continue
        if len(info) >= _BYTES_SENT + 8:
            total += int.from_bytes(info[_BYTES_SENT:_BYTES_SENT + 8], sys.byteorder)
    return total


def make_model(width: int) -> nn.Module:
    torch.manual_seed(1)
    layers = []
    for layer in range(4):
        if layer > 0:
            layers.append(nn.ReLU())
        layers.append(nn.Linear(width, width))
    return nn.Sequential(*layers)


def connect(arguments: argparse.Namespace) -> None:
    os.environ["GLOO_SOCKET_IFNAME"] = arguments.interface
    os.environ.setdefault("MASTER_ADDR", arguments.address)
    if arguments.library == "weft":
        import weft.torch  # noqa: F401  it registers itself
    meeting = os.path.abspath(os.path.join(arguments.rendezvous, "meeting"))
    dist.init_process_group(
        arguments.library, init_method="file://" + meeting, rank=arguments.rank,
        world_size=arguments.ranks, timeout=datetime.timedelta(seconds=arguments.timeout))


def wrapped(arguments: argparse.Namespace) -> Tuple[Any, torch.optim.Optimizer]:
    model = make_model(arguments.width)
    optimizer = torch.optim.SGD(model.parameters(), lr=arguments.lr)
    if arguments.library == "weft":
        import weft.torch

        codec, sync = (arguments.mode + "/auto").split("/", 2)[:2]
        return weft.torch.wrap(model, codec, sync, optimizer), optimizer
    if arguments.mode == "powersgd:rank=1,buckets=1":
        # With several buckets this hook may abort on gloo. The first has a limit of its own, 1 MB,
        # by which DDP makes two when it divides them anew.
        dist._DEFAULT_FIRST_BUCKET_BYTES = ONE_BUCKET_MB << 20
        model = DistributedDataParallel(model, bucket_cap_mb=ONE_BUCKET_MB)
        state = powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=1,
                                            start_powerSGD_iter=WARM_UP)
        model.register_comm_hook(state, powerSGD_hook.powerSGD_hook)
        return model, optimizer
    model = DistributedDataParallel(model)
    if arguments.mode == "fp16":
        model.register_comm_hook(None, default_hooks.fp16_compress_hook)
    return model, optimizer


def main() -> None:
    arguments = parse_arguments()
    torch.set_num_threads(1)
    connect(arguments)
    model, optimizer = wrapped(arguments)
    data = torch.Generator().manual_seed(1000 + arguments.rank)
    inputs = torch.randn(2, arguments.width, generator=data)
    targets = torch.randn(2, arguments.width, generator=data)
    together = arguments.library == "gloo" or model.sync == "bsp"
    dist.barrier()
    rounds, common = -1, []
    begin = time.monotonic()
    losses, ends, sent = [], [], 0
    for step in range(WARM_UP + arguments.steps):
        if step == WARM_UP:
            sent = bytes_sent()
        now = 0 if together else model.rounds
        common.append(together or now != rounds)
        rounds = now
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(inputs), targets)
        loss.backward()
        if arguments.library == "weft":
            model.report(loss.item())  # which adaptive periods need
        optimizer.step()
        losses.append(loss.item() if math.isfinite(loss.item()) else None)
        ends.append(time.monotonic() - begin)
    sent = bytes_sent() - sent
    print(json.dumps({
        "rank": arguments.rank, "parameters": sum(p.numel() for p in model.parameters()),
        "warm_up": WARM_UP, "loss": losses, "end_s": ends, "common": common,
        "sent_bytes": sent,
        "choice": model.explain()["reason"] if "auto" in arguments.mode else ""}), flush=True)
    if arguments.library == "weft":
        model.finish()
    dist.barrier()


if __name__ == "__main__":
    main()
