"""A state_dict that four ranks saved under `weft launch`, loaded by three and by six."""

import json
import os
import struct
import subprocess
import sys
import tempfile
import unittest

import torch
import torch.distributed as dist
from torch import nn

WEFT = os.environ.get("WEFT_BINARY", "")
LIMIT_S = 150
CLASSES, FEATURES, STEPS = 4, 16, 30
PAIRS = [
    ("int8", "bsp"), ("efsign", "bsp"), ("topk:rate=0.05", "bsp"), ("dgc:rate=0.05", "bsp"),
    ("powersgd:rank=2", "bsp"), ("thc", "bsp"), ("int8", "local:period=5"),
    ("int4", "diloco:period=5,outer_momentum=0.5"), ("none", "scaffold:period=5"),
    ("int8", "ssp:bound=2"), ("topk:rate=0.05", "asp"), ("int8", "bsp:backup=1"),
]


class Bytes:
    """Reads docs/training.md's layouts, with no help of the program that wrote them."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, size):
        self.at += size
        assert self.at <= len(self.data)
        return self.data[self.at - size:self.at]

    def get(self, form):
        values = struct.unpack("<" + form, self.take(struct.calcsize("<" + form)))
        return values[0] if len(values) == 1 else values

    def floats(self, count):
        return torch.tensor(struct.unpack(f"<{count}f", self.take(4 * count)), dtype=torch.float64)


def codec_state(data):
    """The local vectors of a codec's state, error feedback first."""
    bytes = Bytes(data)
    assert bytes.get("4sI") == (b"WCST", 1)
    bytes.take(bytes.get("I"))
    size = bytes.get("Q")
    bytes.get("IIQQ")
    local, _ = bytes.get("II")
    return [bytes.floats(size) for _ in range(local)]


def add(masses, key, vectors, first=0, size=None):
    for k, vector in enumerate(vectors):
        total = masses.setdefault((key, k), torch.zeros(size or len(vector), dtype=torch.float64))
        total[first:first + len(vector)] += vector


def buckets_into(masses, data):
    bytes = Bytes(data)
    assert bytes.get("4sI") == (b"WCCP", 1)
    bytes.take(bytes.get("I"))
    for _ in range(bytes.get("I")):
        number, first = bytes.get("IQ")
        sent = codec_state(bytes.take(bytes.get("Q")))
        add(masses, f"sent {number}", sent)
        if bytes.get("B"):
            back = codec_state(bytes.take(bytes.get("Q")))
            add(masses, f"back {number}", back, first, len(sent[0]) if sent else None)


def masses_of(saved):
    """By what it is: the sum over ranks of what is kept for later, value by value."""
    masses = {}
    for data in saved["ranks"]:
        if saved["sync"] == "bsp":
            buckets_into(masses, data)
            continue
        bytes = Bytes(data)
        assert bytes.get("4sI") == (b"WCSY", 2)
        bytes.take(bytes.get("Q"))
        bytes.take(bytes.get("Q"))
        for _ in range(bytes.get("I")):
            bytes.take(bytes.get("Q"))
        buckets_into(masses, bytes.take(bytes.get("Q")))
        if bytes.at < len(bytes.data):  # of shard servers
            add(masses, "pushed", codec_state(bytes.take(bytes.get("Q"))))
    return masses


def lost(before, after):
    """The largest difference between two masses, beside the largest value."""
    assert before.keys() == after.keys(), (before.keys(), after.keys())
    worst = 0.0
    for key, mass in before.items():
        if len(mass):
            scale = max(mass.abs().max().item(), 1e-30)
            worst = max(worst, (after[key] - mass).abs().max().item() / scale)
    return worst


def batch(seed):
    data = torch.Generator().manual_seed(seed)
    centres = torch.randn(CLASSES, FEATURES, generator=torch.Generator().manual_seed(1))
    labels = torch.randint(CLASSES, (32,), generator=data)
    return centres[labels] + 0.7 * torch.randn(32, FEATURES, generator=data), labels


def one_pair(codec, sync, path, load):
    import weft.torch

    torch.manual_seed(3)
    model = nn.Sequential(nn.Linear(FEATURES, 32), nn.ReLU(), nn.Linear(32, CLASSES))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    wrapped = weft.torch.wrap(model, codec, sync, optimizer)
    known = batch(10 ** 6)

    def loss_now():
        with torch.no_grad():
            return nn.functional.cross_entropy(wrapped.module(known[0]), known[1]).item()

    found = {}
    if load:
        state = torch.load(path)
        wrapped.load_state_dict(state)
        again = wrapped.state_dict()  # called by all
        found["lost"] = lost(masses_of(state["weft"]), masses_of(again["weft"]))
        found["kept"] = sum(mass.abs().sum().item() for mass in masses_of(again["weft"]).values())
    found["before"] = loss_now()
    for step in range(STEPS):
        inputs, labels = batch(1000 * dist.get_rank() + step + (STEPS if load else 0))
        loss = nn.functional.cross_entropy(wrapped(inputs), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    wrapped.meet()
    dist.barrier()
    if not load:
        state = wrapped.state_dict()
        if dist.get_rank() == 0:
            torch.save(state, path)
    found["after"] = loss_now()
    wrapped.finish()
    found["finished"] = loss_now()  # with what shards have, where there are some
    return found


def rank_main(folder, load):
    import weft.torch  # noqa: F401

    torch.set_num_threads(1)
    dist.init_process_group("weft")
    found = [one_pair(codec, sync, os.path.join(folder, f"{k}.pt"), load)
             for k, (codec, sync) in enumerate(PAIRS)]
    if dist.get_rank() == 0:
        print("found " + json.dumps(found), flush=True)


@unittest.skipUnless(WEFT and os.path.exists(WEFT), "WEFT_BINARY names no weft program")
class Checkpoint(unittest.TestCase):
    def launched(self, ranks, folder, load):
        done = subprocess.run(
            [WEFT, "launch", "-n", str(ranks), sys.executable, "-W", "ignore", __file__,
             "rank", folder, "load" if load else "save"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LIMIT_S)
        self.assertEqual(done.returncode, 0, done.stdout)
        line = next(line for line in done.stdout.splitlines() if "found [" in line)
        return json.loads(line[line.index("found ") + 6:])

    def test_four_ranks_become_three_and_six(self):
        with tempfile.TemporaryDirectory() as folder:
            saved = self.launched(4, folder, False)
            for size in (3, 6):
                loaded = self.launched(size, folder, True)
                for pair, first, then in zip(PAIRS, saved, loaded):
                    with self.subTest(pair=pair, ranks=size):
                        self.assertLess(first["after"], 0.8 * first["before"])  # it had learned
                        self.assertLess(then["lost"], 1e-6)
                        if pair[0] != "none":
                            self.assertGreater(then["kept"], 0)
                        # The loss goes on where it was, and further down.
                        self.assertLess(abs(then["before"] - first["finished"]),
                                        0.05 * first["before"])
                        self.assertLess(then["after"], then["before"] + 0.02)


if __name__ == "__main__":
    if len(sys.argv) == 4 and sys.argv[1] == "rank":
        rank_main(sys.argv[2], sys.argv[3] == "load")
    else:
        unittest.main()
