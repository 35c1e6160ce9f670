"""Codecs and synchronisation modes through weft.torch.wrap."""

import os
import tempfile
import time
import unittest
import warnings

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from ranks import run

CLASSES, FEATURES = 4, 16


def batches(rank, steps):
    data = torch.Generator().manual_seed(7 + rank)
    centres = torch.randn(CLASSES, FEATURES, generator=torch.Generator().manual_seed(1))
    for _ in range(steps):
        labels = torch.randint(CLASSES, (16,), generator=data)
        yield centres[labels] + 0.7 * torch.randn(16, FEATURES, generator=data), labels


def model_of():
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(FEATURES, 32), nn.ReLU(), nn.Linear(32, CLASSES))


def train(model, optimizer, rank, steps, report=False):
    losses = []
    for inputs, labels in batches(rank, steps):
        loss = nn.functional.cross_entropy(model(inputs), labels)
        optimizer.zero_grad()
        loss.backward()
        if report:
            model.report(loss.item())
        optimizer.step()
        losses.append(loss.item())
    return sum(losses[-10:]) / 10


def flat(model):
    return torch.cat([p.detach().reshape(-1) for p in model.parameters()]).tolist()


def trained(rank, size, pairs, in_ddp, steps):
    """(mean of the last losses, parameters) for each (codec, sync)."""
    import weft.torch

    found = []
    for codec, sync in pairs:
        model = model_of()
        if in_ddp:
            model = DistributedDataParallel(model)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
        wrapped = weft.torch.wrap(model, codec, sync, optimizer)
        loss = train(wrapped, optimizer, rank, steps, report=True)
        wrapped.finish()
        found.append((loss, flat(wrapped)))
    return found


def refused(rank, size):
    import weft.torch

    def message(**arguments):
        try:
            weft.torch.wrap(model, **arguments)
        except ValueError as error:
            return str(error)
        return ""

    model = model_of()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    wrapped_half = model_of().half()
    return {
        "codec": message(codec="int9"),
        "sync": message(sync="lokal"),
        "parameter": message(codec="int8:blok=3"),
        "optimizer": message(sync="local"),
        "both": message(codec="int8", sync="local:codec=int4", optimizer=optimizer),
        "gossip": message(codec="int8", sync="gossip", optimizer=optimizer),
        "backup": message(sync="bsp:backup=1", optimizer=optimizer),
        "linear": message(codec="powersgd:rank=1", sync="bsp:backup=1", optimizer=optimizer),
        "no optimizer": message(sync="bsp:backup=1"),
        "loss": _loss_missing(),
        "half": _half(wrapped_half),
    }


def _loss_missing():
    import weft.torch

    model = model_of()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    wrapped = weft.torch.wrap(model, "none", "local:adaptive", optimizer)
    try:
        train(wrapped, optimizer, 0, 1)
    except ValueError as error:
        return str(error)
    return ""


def _half(model):
    import weft.torch

    try:
        weft.torch.wrap(model, "int8", "local", torch.optim.SGD(model.parameters(), lr=0.1))
    except ValueError as error:
        return str(error)
    return ""


def not_a_number(rank, size):
    import weft.torch

    model = model_of()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    wrapped = weft.torch.wrap(model, "int8")
    train(wrapped, optimizer, rank, 3)
    inputs = torch.full((2, FEATURES), float("nan") if rank == 1 else 1.0)
    try:
        wrapped(inputs).sum().backward()
    except RuntimeError as error:
        return str(error)
    return ""


def late(rank, size, path):
    """Rank 1 is at its first step until the others have made all updates."""
    import weft.torch

    model = nn.Linear(2, 1, bias=False)
    nn.init.zeros_(model.weight)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    wrapped = weft.torch.wrap(model, "none", "bsp:backup=1", optimizer)
    taken = 0
    while wrapped.step < 20:
        loss = (wrapped(torch.eye(2)) - rank).square().sum() / 2  # of two examples, one a weight
        optimizer.zero_grad()
        loss.backward()
        if rank == 1:
            until = time.monotonic() + 30
            while not os.path.exists(path) and time.monotonic() < until:
                time.sleep(0.001)
        optimizer.step()
        taken += 1
    if rank == 0:
        open(path, "w").close()
    wrapped.meet()
    torch.distributed.barrier()
    step = wrapped.step
    wrapped.finish()
    return taken, step, flat(wrapped)


def saved_and_restored(rank, size, codec, sync, path, load):
    """Loss after 60 steps, of which the last 30 may be a restored run's."""
    import weft.torch

    model = model_of()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    wrapped = weft.torch.wrap(model, codec, sync, optimizer)
    if load:
        wrapped.load_state_dict(torch.load(path))
    loss = train(wrapped, optimizer, rank, 30)
    if not load:
        state = wrapped.state_dict()
        if rank == 0:
            torch.save(state, path)
    wrapped.finish()
    return loss


def scheduled(rank, size):
    """Learning rates and warnings with a schedule made before wrap() and with one made after."""
    import weft.torch

    found = []
    for before in (True, False):
        model = model_of()
        optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            if before:
                schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
            wrapped = weft.torch.wrap(model, "none", "local:period=2", optimizer)
            if not before:
                schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
            for inputs, labels in batches(rank, 3):
                optimizer.zero_grad()
                nn.functional.cross_entropy(wrapped(inputs), labels).backward()
                optimizer.step()
                schedule.step()
        mine = [str(w.message) for w in caught if "lr_scheduler" in str(w.message)]
        found.append((optimizer.param_groups[0]["lr"], wrapped.rounds, mine))
    return found


def weighted(rank, size, sync):
    """The gradient of a linear model whose ranks have inputs 1 and 4 and weights 3 and 1."""
    import weft.torch

    model = nn.Linear(2, 1, bias=False)
    nn.init.zeros_(model.weight)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    wrapped = weft.torch.wrap(model, "none", sync, optimizer, weight=[3.0, 1.0][rank])
    wrapped(torch.full((1, 2), [1.0, 4.0][rank])).sum().backward()
    optimizer.step()
    return model.weight.tolist()


def from_environment(rank, size):
    import weft.torch

    os.environ["WEFT_CODEC"], os.environ["WEFT_SYNC"] = "bf16", "local:period=3"
    model = model_of()
    wrapped = weft.torch.wrap(model, optimizer=torch.optim.SGD(model.parameters(), lr=0.1))
    return wrapped.codec, wrapped.sync


PAIRS = [
    ("none", "bsp"), ("fp16", "bsp"), ("int8", "bsp"), ("int8", "local:period=4"),
    ("none", "local:adaptive"), ("int4", "diloco:period=5"), ("none", "gossip"),
    ("int8", "post-local:warmup=10,period=4"), ("none", "slowmo:period=4"),
    ("int8", "ssp:bound=2"), ("none", "asp"), ("efsign", "bsp"), ("powersgd:rank=2", "bsp"),
    ("none", "diloco:period=5,eager,outer_momentum=0.5"),
    ("none", "bsp:backup=1"), ("int8", "bsp:backup=1"),
]


def biases(rank, size, codec):
    """(error of the bias's mean gradient, that of the weight's) in the second of two passes."""
    import torch.distributed as dist
    import weft.torch

    torch.manual_seed(5)
    model = nn.Linear(64, 64)
    alone = nn.Linear(64, 64)
    alone.load_state_dict(model.state_dict())
    wrapped = weft.torch.wrap(model, codec, "bsp")
    for step in range(2):
        inputs = torch.randn(4, 64, generator=torch.Generator().manual_seed(10 * step + rank))
        for one in (wrapped, alone):
            one.zero_grad()
            one(inputs).square().sum().backward()
    errors = []
    for mine, own in ((model.bias, alone.bias), (model.weight, alone.weight)):
        dist.all_reduce(own.grad)
        errors.append((mine.grad - own.grad / size).abs().max().item())
    return errors


def in_a_group_of_torchs_own(rank, size):
    import torch.distributed as dist
    import weft.torch

    class Outer:  # what torch 2 has in dist.group.WORLD
        def _get_backend(self, device):
            assert device == torch.device("cpu")
            return dist.group.WORLD

    model = model_of()
    wrapped = weft.torch.wrap(model, codec="none", group=Outer())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    train(wrapped, optimizer, rank, 3)
    return flat(model)


class Wrap(unittest.TestCase):
    def test_a_group_that_holds_ours_inside_will_do(self):
        first, second = run(in_a_group_of_torchs_own, 2)
        self.assertEqual(first, second)

    def test_every_mode_learns_and_ranks_end_together(self):
        runs = run(trained, 3, PAIRS, False, 60)
        for i, (codec, sync) in enumerate(PAIRS):
            with self.subTest(codec=codec, sync=sync):
                for ranks in runs:
                    self.assertLess(ranks[i][0], 0.35)  # it begins at ln 4 = 1.39
                if sync in ("bsp", "local:period=4", "diloco:period=5", "asp", "ssp:bound=2",
                            "bsp:backup=1"):
                    for ranks in runs[1:]:
                        self.assertEqual(ranks[i][1], runs[0][i][1])

    def test_vectors_go_around_coarse_codecs(self):
        for codec in ("efsign", "topk:rate=0.01", "powersgd:rank=2"):
            for bias, weight in run(biases, 2, codec):
                self.assertLess(bias, 1e-4, codec)
                self.assertGreater(weight, 1e-2, codec)

    def test_models_in_ddp(self):
        pairs = [("int8", "bsp"), ("none", "local:period=4")]
        runs = run(trained, 2, pairs, True, 60)
        for i in range(len(pairs)):
            self.assertLess(runs[0][i][0], 0.35)
            self.assertEqual(runs[0][i][1], runs[1][i][1])

    def test_what_is_wrong_is_a_value_error_that_says_so(self):
        found = run(refused, 1)[0]
        self.assertIn("int8", found["codec"])
        self.assertIn("local", found["sync"])
        self.assertIn("blok", found["parameter"])
        self.assertIn("optimizer", found["optimizer"])
        self.assertIn("int4", found["both"])
        self.assertIn("gossip", found["gossip"])
        self.assertIn("at most 0", found["backup"])
        self.assertIn("powersgd", found["linear"])
        self.assertIn("optimizer", found["no optimizer"])
        self.assertIn("report", found["loss"])
        self.assertIn("float16", found["half"])

    def test_a_gradient_that_is_no_number_is_an_error_on_every_rank(self):
        for message in run(not_a_number, 2):
            self.assertIn("rank 1", message)

    def test_a_late_rank_is_not_waited_for_and_does_not_count(self):
        with tempfile.TemporaryDirectory() as folder:
            runs = run(late, 3, os.path.join(folder, "ended"))
        for rank, (taken, step, weights) in enumerate(runs):
            self.assertEqual((taken, step), (1 if rank == 1 else 20, 20))
            for weight in weights:  # ranks 0 and 2 pull towards 0 and 2
                self.assertAlmostEqual(weight, 1.0, delta=1e-4)

    def test_state_goes_to_another_number_of_ranks(self):
        for codec, sync in (("int8", "bsp"), ("int8", "local:period=4"), ("int8", "ssp:bound=2"),
                            ("int8", "bsp:backup=1")):
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "model.pt")
                before = run(saved_and_restored, 4, codec, sync, path, False)
                for size in (3, 4):
                    after = run(saved_and_restored, size, codec, sync, path, True)
                    # The loss goes on from where it was: it does not begin again at 1.39.
                    self.assertLess(max(after), min(0.5, max(before)), (codec, sync, size))

    def test_schedules_of_learning_rates_work_before_and_after(self):
        self.assertEqual(run(scheduled, 1)[0], [(0.125, 1, []), (0.125, 1, [])])

    def test_ranks_weigh_what_they_are_given(self):
        for sync in ("bsp", "local:period=1"):
            for weight in run(weighted, 2, sync):
                self.assertEqual(weight, [[-1.75, -1.75]], sync)  # (3 · 1 + 1 · 4) / 4

    def test_data_is_split_alike_everywhere(self):
        import weft.torch

        labels = [i % 10 for i in range(500)]
        parts = weft.torch.split_data("dirichlet:0.1", labels, 8, 3)
        self.assertEqual(sorted(sum(parts, [])), list(range(500)))
        self.assertEqual(parts, weft.torch.split_data("dirichlet:0.1", labels, 8, 3))
        for split, ranks, word in (("dirichlett:1", 2, "dirichlet"), ("iid", 501, "500 examples")):
            with self.assertRaisesRegex(ValueError, word):
                weft.torch.split_data(split, labels, ranks)

    def test_the_environment_gives_defaults(self):
        codec, sync = run(from_environment, 1)[0]
        self.assertTrue(codec.startswith("bf16"))
        self.assertEqual(sync, "local:period=3")


if __name__ == "__main__":
    unittest.main()
