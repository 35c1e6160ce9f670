"""The training jobs of ``weft demo``: a network of fully connected layers learns a fixed random one.

Under an agent of the cluster, ``python3 -m weft.demo_training --model medium --batches 300`` trains on
all ranks of the job until they have taken 300 batches together. ``--calibrate FILE`` measures instead,
for every model and every way of exchanging gradients, how long a step takes, and writes it to FILE.
"""

import argparse
import atexit
import json
import math
import os
import signal
import socket
import statistics
import subprocess
import sys
import time
from typing import Any, Dict, List, Optional

import torch
import torch.distributed as dist
from torch import nn

import weft.torch  # noqa: F401  (registers the back end)
from weft import progress
from weft.elastic import save_atomically

# Layers and examples in a batch of one rank.
MODELS: Dict[str, Dict[str, int]] = {
    "small": {"width": 256, "layers": 4, "batch": 32},
    "medium": {"width": 512, "layers": 3, "batch": 16},
    "large": {"width": 768, "layers": 3, "batch": 8},
}
INPUTS, OUTPUTS = 64, 10
PLAIN = "ddp"  # DistributedDataParallel on gloo
CHECKPOINT_EVERY_S = 3.0
PERIOD = 4  # of the ways that do not exchange at every step
ALONE = "alone"
# A processor's share comes in slices of a tenth of a second, as long as a step: a measurement takes as
# many whole periods as fill this time.
MEASURED_S, MOST_STEPS = 1.5, 16
LINK_BYTES_MORE = 35_000_000  # about six seconds of a link
# What ranks without work of their own are beside, by the phase of the calibration.
BESIDE = {1: "computation", 2: "links"}
PATIENCE_S = 60.0


class Stop(Exception):
    """Somebody wants the devices."""


def layers_of(name: str) -> nn.Module:
    facts = MODELS[name]
    sizes = [INPUTS] + [facts["width"]] * facts["layers"]
    parts: List[nn.Module] = []
    for before, after in zip(sizes, sizes[1:]):
        parts += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*parts, nn.Linear(sizes[-1], OUTPUTS))


class Examples:
    """Batches that every rank draws for itself, the same ones in every run."""

    def __init__(self, batch: int) -> None:
        teacher = torch.Generator().manual_seed(7)
        self._weights = torch.randn(INPUTS, OUTPUTS, generator=teacher)
        self._batch = batch

    def draw(self, number: int) -> Any:
        source = torch.Generator().manual_seed(1_000 + number)
        inputs = torch.randn(self._batch, INPUTS, generator=source)
        return inputs, (inputs @ self._weights).argmax(dim=1)


class Job:
    """One model, its optimizer, and what keeps its ranks together."""

    def __init__(self, name: str, way: str, group: Optional[Any] = None) -> None:
        torch.manual_seed(3)
        self.plain = layers_of(name)
        self.examples = Examples(MODELS[name]["batch"])
        self.optimizer = torch.optim.SGD(self.plain.parameters(), lr=0.05, momentum=0.9)
        self.loss = nn.CrossEntropyLoss()
        self.model = self._together(way, group)

    def _together(self, way: str, group: Optional[Any]) -> nn.Module:
        if way == ALONE or not dist.is_initialized() or dist.get_world_size() == 1:
            return self.plain
        if way == PLAIN:
            return nn.parallel.DistributedDataParallel(self.plain, process_group=group)
        codec, sync = way.split("/")
        return weft.torch.wrap(self.plain, codec=codec, sync=sync, optimizer=self.optimizer,
                               group=group)

    def step(self, number: int) -> float:
        inputs, labels = self.examples.draw(number)
        self.optimizer.zero_grad()
        loss = self.loss(self.model(inputs), labels)
        loss.backward()
        self.optimizer.step()
        return float(loss)


def seconds_alive() -> float:
    """Since the process began, by the kernel's clock."""
    with open("/proc/self/stat") as stat:
        began = int(stat.read().rsplit(")", 1)[1].split()[19]) / os.sysconf("SC_CLK_TCK")
    return time.clock_gettime(time.CLOCK_BOOTTIME) - began


def wait_for(host: str, port: int) -> None:
    """Until somebody listens there. torch itself looks once in a second."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        try:
            socket.create_connection((host, port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.02)


def meet(backend: str, rank: int, world: int, offset: int = 0) -> None:
    """Ranks find each other at the job's address, `offset` above its port."""
    host, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]) + offset
    if rank != 0:
        wait_for(host, port)
    dist.init_process_group(backend, init_method=f"tcp://{host}:{port}", rank=rank, world_size=world)


def bytes_on_link() -> int:
    """Over the node's own link so far, in the direction of most; 0 if the node has none.

    From /proc, which shows the network of whoever reads it; /sys shows that of whoever mounted it."""
    interface = os.environ.get("GLOO_SOCKET_IFNAME", "")
    with open("/proc/self/net/dev") as file:
        for line in file:
            name, _, numbers = line.partition(":")
            if interface and name.strip() == interface:
                counted = numbers.split()
                return max(int(counted[0]), int(counted[8]))
    return 0


def timed(job: "Job", period: int, group: Optional[Any]) -> Any:
    """Of one step, the mean of several after a period that warms up: seconds, bytes on the link; and
    seconds that the first period took more."""
    begin = time.monotonic()
    for number in range(period):
        job.step(number)
    warm = torch.tensor([time.monotonic() - begin])
    if group is not None:
        dist.all_reduce(warm, dist.ReduceOp.MAX, group)  # all take the same number of steps
    steps = period * min(MOST_STEPS // period, max(1, math.ceil(MEASURED_S / warm.item())))
    begin, sent = time.monotonic(), bytes_on_link()
    for number in range(steps):
        job.step(number)
    step_s = (time.monotonic() - begin) / steps
    return step_s, (bytes_on_link() - sent) / steps, max(0.0, warm.item() - period * step_s)


def meetings(rank: int) -> List[Dict[str, Any]]:
    """How long it takes ranks to find each other: 0 and 2 on two nodes, then the four on these."""
    rows = []
    plan = [("gloo", [0, 2]), ("weft", [0, 2]), ("gloo", [0, 1, 2, 3]), ("weft", [0, 1, 2, 3])]
    for offset, (backend, ranks) in enumerate(plan, start=1):
        if rank not in ranks:
            continue
        begin = time.monotonic()
        meet(backend, ranks.index(rank), len(ranks), offset)
        rows.append({"backend": backend, "ranks": len(ranks), "seconds": time.monotonic() - begin})
        dist.barrier()
        dist.destroy_process_group()
    return rows


def probed(beside: str, count: int) -> Dict[str, Any]:
    """How long so many new processes take to load and to leave that have this rank's share between
    them."""
    command = [sys.executable, "-W", "ignore", "-m", "weft.demo_training", "--probe"]
    begin = time.monotonic()
    started = [subprocess.Popen(command) for _ in range(count)]
    lives = []
    for each in started:
        if each.wait(PATIENCE_S) != 0:
            raise RuntimeError(f"a program that only loads ended with {each.returncode}")
        lives.append(time.monotonic() - begin)
    row = {"beside": beside, "percent": 100 / count, "loaded_s": statistics.mean(lives)}
    print(json.dumps(row), flush=True)
    return row


def calibrate(path: str, ways: List[str]) -> None:
    """On four nodes with two devices each: ranks 2i and 2i + 1 are on node i.

    Each phase has several groups at work that share neither devices nor links. The ranks that are
    left see how long programs take to load beside that: beside pairs that stay in their node, on
    whole devices; beside pairs that fill their links, also on half of one.
    """
    print(f"loaded after {seconds_alive():.2f} s ({time.process_time():.2f} of a processor)",
          flush=True)
    rank = int(os.environ["RANK"])
    met = meetings(rank)
    meet("weft", rank, int(os.environ["WORLD_SIZE"]))
    names = list(MODELS)
    whole = [way for way in ways if way in (PLAIN, "none/bsp")]  # gradients, which fill the links
    encoded = [way for way in ways if way not in whole]
    phases = [
        [([each], [names[each % len(names)]], [ALONE]) for each in range(8)],
        [([0, 1], ["small"], ways), ([2, 3], ["medium"], ways), ([4, 5], ["large"], ways)],
        [([0, 2], ["large"], whole), ([4, 6], ["small", "medium"], whole)],
        [([0, 2], ["large"], encoded), ([4, 6], ["small", "medium"], encoded)],
        [([0, 1, 2, 3], ["large"], ways), ([4, 5, 6, 7], ["small"], ways)],
    ]
    rows: List[Dict[str, Any]] = []
    loads: List[Dict[str, Any]] = []
    for number, phase in enumerate(phases):
        mine = [part for part in phase if rank in part[0]]
        groups = {}
        for ranks, _, _ in phase:
            if len(ranks) > 1:
                groups[tuple(ranks)] = (dist.new_group(ranks, backend="gloo"), dist.new_group(ranks))
        for ranks, models, chosen in mine:
            for name in models:
                for way in chosen:
                    gloo, own = groups.get(tuple(ranks), (None, None))
                    rows.append(measured(name, way, ranks, gloo if way == PLAIN else own))
            if BESIDE.get(number) == "links":
                go_on(models[-1], gloo)
        if number in BESIDE and not mine:
            loads.append(probed(BESIDE[number], 2 if BESIDE[number] == "links" and rank > 3 else 1))
        dist.barrier()
    everything: List[Any] = [None] * dist.get_world_size()
    mine_first = [row for row in rows if row.pop("first") == rank]
    dist.all_gather_object(everything, (loads, mine_first))
    if rank == 0:
        report = {"meetings": met, "loads": [row for part in everything for row in part[0]],
                  "rows": [row for part in everything for row in part[1]]}
        with open(path + ".new", "w") as out:
            json.dump(report, out)
        os.replace(path + ".new", path)


def go_on(name: str, group: Any) -> None:
    """Fills the links until programs that load beside it are there."""
    job = Job(name, PLAIN, group)
    for number in range(LINK_BYTES_MORE // (4 * sum(p.numel() for p in job.plain.parameters()))):
        job.step(number)


def measured(name: str, way: str, ranks: List[int], group: Optional[Any]) -> Dict[str, Any]:
    begin = time.monotonic()
    job = Job(name, way, group)  # where ranks take the first one's parameters
    ready = time.monotonic() - begin
    period = PERIOD if "period" in way else 1
    step_s, link_bytes, more_s = timed(job, period, group)
    row = {"model": name, "way": way, "ranks": len(ranks), "nodes": len({r // 2 for r in ranks}),
           "ready_s": ready + more_s, "step_s": step_s, "link_bytes": link_bytes}
    print(json.dumps(row), flush=True)
    return {"first": ranks[0], **row}


def checkpoint_path() -> Optional[str]:
    folder = os.environ.get("WEFT_CHECKPOINT_DIR")
    if not folder:
        return None
    os.makedirs(folder, exist_ok=True)
    return os.path.join(folder, "checkpoint.pt")


def train(name: str, batches: int, way: str) -> float:
    world = int(os.environ.get("WORLD_SIZE", "1"))
    rank = int(os.environ.get("RANK", "0"))
    loaded, cpu_s = seconds_alive(), time.process_time()
    if world > 1:
        meet("gloo" if way == PLAIN else "weft", rank, world)
    met = seconds_alive()
    job = Job(name, way)
    path = checkpoint_path()
    done = 0
    if path and os.path.exists(path):
        state = torch.load(path)
        job.plain.load_state_dict(state["model"])
        job.optimizer.load_state_dict(state["optimizer"])
        done = state["done"]
    stopping = []
    signal.signal(signal.SIGTERM, lambda *_: stopping.append(True))

    def save() -> None:
        if path and rank == 0:
            save_atomically({"model": job.plain.state_dict(), "done": done,
                             "optimizer": job.optimizer.state_dict()}, path)

    loss = float("nan")
    saved_at = time.monotonic()
    print(f"rank {rank} of {world}: {name}, {way}, from batch {done}; loaded after {loaded:.2f} s "
          f"({cpu_s:.2f} of a processor), met after {met:.2f} s, ready after {seconds_alive():.2f} s", flush=True)
    while done < batches:
        try:
            loss = job.step(done + rank)
        except RuntimeError:
            if not stopping:  # else a rank that stopped earlier is missed
                raise
        else:
            done += world
        if stopping:
            save()
            raise Stop
        if rank == 0:
            progress.report(step=done, loss=loss, work=done)
        if time.monotonic() - saved_at > CHECKPOINT_EVERY_S:
            saved_at = time.monotonic()
            save()
    if hasattr(job.model, "finish"):
        job.model.finish()  # ranks that drifted apart agree once more
    return loss


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", choices=sorted(MODELS), default="small")
    parser.add_argument("--batches", type=int, default=100, help="of all ranks together")
    parser.add_argument("--plain", action="store_true", help="DistributedDataParallel on gloo")
    parser.add_argument("--calibrate", metavar="FILE")
    parser.add_argument("--probe", action="store_true", help="load, and end")
    parser.add_argument("--ways", default=PLAIN, help="codec/sync, by commas")
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.probe:
        return 0
    if options.calibrate:
        calibrate(options.calibrate, options.ways.split(","))
        return 0
    codec, sync = os.environ.get("WEFT_CODEC", "none"), os.environ.get("WEFT_SYNC", "bsp")
    try:
        loss = train(options.model, options.batches, PLAIN if options.plain else f"{codec}/{sync}")
    except Stop:
        return 143
    print(f"done: loss {loss:.4f}", flush=True)
    return 0


if __name__ == "__main__":
    code = main()
    atexit._run_exitfuncs()  # ranks wait for each other before they leave
    sys.stdout.flush()
    os._exit(code)  # the rest of the interpreter's farewell is slow and would hold the devices
