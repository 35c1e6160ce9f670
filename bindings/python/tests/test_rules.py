"""What wrap() promises and what it refuses, on two ranks."""

import copy
import os
import tempfile
import time
import unittest

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from ranks import run
from test_wrap import batches, flat, model_of, train

LBFGS = torch.optim.LBFGS


def sgd(model, lr=0.05, **arguments):
    return torch.optim.SGD(model.parameters(), lr=lr, **arguments)


def step(model, optimizer, inputs):
    optimizer.zero_grad()
    model(inputs).square().sum().backward()
    optimizer.step()


def message(call):
    try:
        call()
    except (ValueError, RuntimeError) as error:
        return f"{type(error).__name__}: {error}"
    return ""


def refused(rank, size):
    """By a sentence about the call: what the error says."""
    import weft.torch

    found = {}

    def asks(what, codec="none", sync="bsp", model=None, optimizer=sgd, **arguments):
        model = nn.Linear(16, 16) if model is None else model
        arguments["optimizer"] = optimizer(model) if optimizer else None
        found[what] = message(lambda: weft.torch.wrap(model, codec, sync, **arguments))

    for codec in ("dgc", "onebit-adam", "sign"):
        for sync in ("local", "ssp", "diloco"):
            asks(f"{codec} with {sync}", codec, sync)
    asks("other seeds", "randomk", seed=1 + rank)
    asks("other codecs", ["int8", "int4"][rank])
    asks("other codecs of ways", ["int8", "int4"][rank], "local")
    asks("other modes", sync=["bsp", "local"][rank])
    asks("other periods", sync=f"local:period={2 + rank}")
    asks("other outer rates", sync=["diloco", "diloco:outer_lr=0.1"][rank])
    asks("a weight that is none", weight=[1.0, float("nan")][rank])
    asks("an unknown codec on one rank", ["int8", "int9"][rank])
    asks("no number of steps", sync="local", local_steps=[0, -1][rank])
    asks("no seed", seed=1.5)
    asks("no optimizer", sync="local", optimizer=lambda m: sgd(m) if rank == 0 else 3)
    asks("LBFGS with auto", "auto", "auto", optimizer=lambda m: LBFGS(m.parameters()))
    alone = [dist.new_group([0]), dist.new_group([1])][rank]
    asks("DDP of another group", model=DistributedDataParallel(nn.Linear(2, 2), process_group=alone))
    asks("other models", sync="local", model=nn.Linear(16, 16 + 8 * rank))
    asks("other models, bsp", model=nn.Linear(16, 16 + 8 * rank))
    other = nn.Linear(16, 16)
    asks("the optimizer of another model", sync="local", optimizer=lambda _: sgd(other))
    for sync in ("bsp", "local", "ssp"):
        asks(f"nothing to train, {sync}", sync=sync, model=nn.ReLU(),
             optimizer=lambda _: sgd(other))
    strange = nn.Linear(2, 2)
    strange.extra = nn.Parameter(torch.zeros(2, dtype=torch.complex64))
    for sync in ("bsp", "local"):
        asks(f"complex, {sync}", sync=sync, model=strange)
    for sync in ("fedprox", "scaffold", "post-local"):
        asks(f"LBFGS with {sync}", sync=sync, optimizer=lambda m: LBFGS(m.parameters()))
    asks("unused parameters in DDP", model=DistributedDataParallel(nn.Linear(2, 2)),
         find_unused_parameters=True)
    for sync in ("bsp", "local"):
        model = nn.Linear(16, 16)
        optimizer = sgd(model)
        wrapped = weft.torch.wrap(model, "none", sync, optimizer)
        asks(f"a wrapped model, {sync}", sync=sync, model=wrapped)
        asks(f"the same model, {sync}", sync=sync, model=model)
        asks(f"the same optimizer, {sync}", sync=sync, model=model, optimizer=lambda _: optimizer)
        del wrapped
        found[f"the optimizer of a model that is gone, {sync}"] = message(
            lambda: weft.torch.wrap(model, "none", sync, optimizer))
    return found


REFUSED = {
    "other seeds": ["seed", "'1' on rank 0", "'2' on rank 1"],
    "other codecs": ["codec", "int8", "rank 0", "int4", "rank 1"],
    "other codecs of ways": ["codec", "int8", "int4"],
    "other modes": ["sync", "'bsp' on rank 0", "'local' on rank 1"],
    "other periods": ["local:period=2", "local:period=3"],
    "other outer rates": ["outer_lr=0.1", "rank 1"],
    "a weight that is none": ["rank 1: weight is nan"],
    "an unknown codec on one rank": ["rank 1: ", "int9"],
    "no number of steps": ["rank 1: local_steps is -1"],
    "no seed": ["seed is 1.5"],
    "no optimizer": ["rank 1: optimizer is 3"],
    "LBFGS with auto": ["LBFGS"],
    "DDP of another group": ["another process group"],
    "other models": ["parameter weight (16, 16)", "parameter weight (24, 16)", "rank 1"],
    "other models, bsp": ["parameter weight (16, 16)", "parameter weight (24, 16)", "rank 1"],
    "the optimizer of another model": ["none of the model's parameters"],
    "unused parameters in DDP": ["DistributedDataParallel already"],
    "the optimizer of a model that is gone, bsp": [],
    "the optimizer of a model that is gone, local": ["optimizer", "wrapped before"],
}
for _sync in ("bsp", "local", "ssp"):
    REFUSED[f"nothing to train, {_sync}"] = ["no parameter that requires a gradient"]
for _sync in ("bsp", "local"):
    REFUSED[f"complex, {_sync}"] = ["'extra' is torch.complex64"]
    for _what in ("a wrapped model", "the same model", "the same optimizer"):
        REFUSED[f"{_what}, {_sync}"] = ["wrapped already"]
for _sync in ("fedprox", "scaffold", "post-local"):
    REFUSED[f"LBFGS with {_sync}"] = ["LBFGS", _sync]
for _codec in ("dgc", "onebit-adam", "sign"):
    for _sync in ("local", "ssp", "diloco"):
        REFUSED[f"{_codec} with {_sync}"] = [_codec, _sync, "bsp"]


class Halved(nn.Module):
    """A parameter of any type, whose gradient is what it is called with."""

    def __init__(self, dtype):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(64, 64, dtype=dtype))

    def forward(self, inputs):
        return (self.weight * inputs.to(self.weight.dtype)).float().sum()


def types(rank, size):
    """By type and codec: (different magnitudes in the mean gradient, its largest error, the gradient)."""
    import weft.torch

    found = {}
    own = [torch.randn(64, 64, generator=torch.Generator().manual_seed(r)) for r in range(size)]
    for dtype in (torch.float64, torch.bfloat16, torch.float16):
        for codec in ("none", "efsign", "int8"):
            model = Halved(dtype)
            wrapped = weft.torch.wrap(model, codec, "bsp")
            for _ in range(2):
                model.zero_grad()
                wrapped(own[rank]).backward()
            gradient = model.weight.grad
            mean = sum(one.to(dtype).double() for one in own) / size
            found[dtype, codec] = (len(gradient.double().abs().unique()),
                                   (gradient.double() - mean).abs().max().item(),
                                   gradient.double().sum().item())
    return found


def begins(rank, size):
    """Whether frozen parameters and buffers are rank 0's, by mode."""
    import weft.torch

    found = {}
    for sync in ("bsp", "local", "ssp", "gossip"):
        torch.manual_seed(rank)
        model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 3))
        for parameter in model[0].parameters():
            parameter.requires_grad = False
        model[1].running_mean.fill_(rank)
        model[1].num_batches_tracked.fill_(7 + rank)
        model.register_buffer("odd", torch.tensor([rank == 0, True, False]))
        wrapped = weft.torch.wrap(model, "none", sync, sgd(model))
        found[sync] = [value.double().sum().item() for value in model.state_dict().values()]
        wrapped.finish()
    return found


def buffers_in_ddp(rank, size, path):
    """(running mean of its own, whether five steps were taken without rank 0)."""
    import weft.torch

    found = []
    for sync in ("local:period=100", "asp"):
        model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))
        optimizer = sgd(model, 0.01)
        wrapped = weft.torch.wrap(DistributedDataParallel(model), "none", sync, optimizer)
        step(wrapped, optimizer, torch.randn(4, 4))
        dist.barrier()
        if sync == "asp":
            until = time.monotonic() + 30
            while rank == 0 and not os.path.exists(path) and time.monotonic() < until:
                time.sleep(0.001)
            alone = os.path.exists(path)
            for _ in range(5):
                step(wrapped, optimizer, torch.randn(4, 4))
            if rank == 1:
                open(path, "w").close()
            found.append(alone if rank == 0 else True)
        else:
            model[1].running_mean.fill_(100.0 * rank)
            wrapped.eval()
            wrapped(torch.randn(4, 4))
            found.append(model[1].running_mean[0].item())
        wrapped.finish()
    return found


def accumulated(rank, size):
    """By codec and mode: how far the gradient of three passes is from the mean over ranks."""
    import weft.torch

    found = {}
    for codec, sync in (("none", "bsp"), ("int8", "bsp"), ("auto", "bsp"), ("none", "local")):
        torch.manual_seed(0)
        model = nn.Linear(16, 16)
        alone = nn.Linear(16, 16)
        alone.load_state_dict(model.state_dict())
        wrapped = weft.torch.wrap(model, codec, sync, sgd(model))
        for k in range(3):
            inputs = torch.randn(4, 16, generator=torch.Generator().manual_seed(10 * k + rank))
            alone(inputs).square().sum().backward()
            if k < 2:
                with wrapped.no_sync():
                    wrapped(inputs).square().sum().backward()
            else:
                wrapped(inputs).square().sum().backward()
        mean = alone.weight.grad
        if sync == "bsp":
            dist.all_reduce(mean)
            mean /= size
        found[codec, sync] = ((model.weight.grad - mean).norm() / mean.norm()).item()
        wrapped.finish()
    return found


class HalfUsed(nn.Module):
    def __init__(self):
        super().__init__()
        self.used, self.unused = nn.Linear(16, 16), nn.Linear(16, 16)

    def forward(self, inputs):
        return self.used(inputs)


def unused(rank, size):
    """By mode: whether the unused part was left alone, in spite of a weight decay."""
    import weft.torch

    found = {}
    for sync in ("bsp", "local:period=1", "fedprox:period=2", "scaffold:period=2"):
        model = HalfUsed()
        optimizer = sgd(model, 0.01, weight_decay=0.1)
        wrapped = weft.torch.wrap(model, "none", sync, optimizer, find_unused_parameters=True)
        before = model.unused.weight.detach().clone()
        for _ in range(4):
            step(wrapped, optimizer, torch.ones(2, 16))
        found[sync] = torch.equal(before, model.unused.weight)
    return found


def with_lbfgs(rank, size):
    import weft.torch

    model = model_of()
    optimizer = LBFGS(model.parameters(), lr=0.2, max_iter=4)
    wrapped = weft.torch.wrap(model, "none", "local:period=1", optimizer)
    losses = []
    for inputs, labels in batches(rank, 8):
        def closure():
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(wrapped(inputs), labels)
            loss.backward()
            return loss

        losses.append(optimizer.step(closure).item())
    return losses[0], losses[-1], flat(model)


def goes_on(rank, size):
    """By codec and mode: what each of eight steps said, the second of which has a NaN on rank 1."""
    import weft.torch

    found = {}
    for codec, sync in (("int8", "local:period=1"), ("int8", "post-local:warmup=20"),
                        ("none", "bsp"), ("none", "local:period=1")):
        torch.manual_seed(0)
        model = nn.Linear(16, 16)
        optimizer = sgd(model, 1e-4)
        wrapped = weft.torch.wrap(model, codec, sync, optimizer)
        said = []
        for k in range(8):
            inputs = torch.ones(4, 16) * (1 + rank)
            if k == 1 and rank == 1:
                inputs[0, 0] = float("nan")
            said.append(message(lambda: step(wrapped, optimizer, inputs)))
        found[codec, sync] = said, flat(model)
    return found


def resumed(rank, size):
    """Weights of a model that only rank 1 goes on with: before, after loading, and in the end."""
    import weft.torch

    found = []
    for sync in ("asp", "fedbuff:buffer=3,period=1"):
        model = nn.Linear(4, 1, bias=False)
        nn.init.zeros_(model.weight)
        optimizer = sgd(model, 1.0)
        wrapped = weft.torch.wrap(model, "none", sync, optimizer)
        for k in range(21):
            if k == 0 or rank == 1:
                optimizer.zero_grad()
                wrapped(torch.ones(1, 4)).sum().backward()
                optimizer.step()
            if k == 0:
                dist.barrier()
        before = model.weight[0, 0].item()
        wrapped.load_state_dict(wrapped.state_dict())
        after = model.weight[0, 0].item()
        wrapped.finish()
        found.append((before, after, model.weight[0, 0].item()))
        found.append(message(lambda: step(wrapped, optimizer, torch.ones(1, 4))))
    return found


LEARN = [
    ("topk:rate=0.25", "ssp:bound=2"), ("topk:rate=0.25", "asp"), ("int8", "diloco:period=5"),
    ("none", "hierarchical:inner=2,outer=4,group=1"), ("int8", "hierarchical:inner=2,outer=4,group=2"),
    ("none", "lazy:threshold=0.001,check=2"), ("int8", "lazy:threshold=0.001,check=2"),
    ("none", "fedavg:period=4"), ("int8", "fedprox:period=4"), ("none", "fednova:period=4"),
    ("none", "fedadam:period=4,outer_lr=0.03"), ("none", "fedbuff:buffer=2,period=2"),
    ("int8", "fedbuff:buffer=2,period=2"), ("none", "scaffold:period=4"), ("bf16", "bsp"),
    ("qsgd", "bsp"),
]


def fresh_like(model):
    return nn.Sequential(*[nn.Linear(p.in_features, p.out_features) if isinstance(p, nn.Linear) else p
                           for p in model])


def loaded(rank, size, codec, sync):
    """How far parameters are from a state of the bare model after steps of no length."""
    import weft.torch

    model = model_of()
    optimizer = sgd(model)
    wrapped = weft.torch.wrap(model, codec, sync, optimizer)
    train(wrapped, optimizer, rank, 3)
    torch.manual_seed(9)
    other = fresh_like(model)
    wrapped.load_state_dict({f"module.{name}": value for name, value in other.state_dict().items()})
    optimizer.param_groups[0]["lr"] = 0.0
    train(wrapped, optimizer, rank, 6)
    return max((a - b).abs().max().item() for a, b in zip(model.parameters(), other.parameters()))


def moved(rank, size, sync):
    """Parameters after they were given other memory."""
    import weft.torch

    model = model_of()
    optimizer = sgd(model)
    wrapped = weft.torch.wrap(model, "none", sync, optimizer)
    train(wrapped, optimizer, rank, 2)
    other = 0.5 * nn.utils.parameters_to_vector(model.parameters()).detach()
    nn.utils.vector_to_parameters(other, model.parameters())
    train(wrapped, optimizer, rank, 4)
    return flat(wrapped)


def kept_apart(rank, size):
    """What a state that is refused leaves, what two learning rates give under scaffold, and a copy."""
    import weft.torch

    model = model_of()
    wrapped = weft.torch.wrap(model, "int8", "local", sgd(model))
    state = wrapped.state_dict()
    other = fresh_like(model)
    before = weft.torch.wrap(other, "int4", "local", sgd(other))
    values = flat(before)
    said = message(lambda: before.load_state_dict(state))
    third = model_of()
    groups = [{"params": [p], "lr": 0.01 * (i + 1)} for i, p in enumerate(third.parameters())]
    optimizer = torch.optim.SGD(groups, lr=0.1)
    scaffold = weft.torch.wrap(third, "none", "scaffold", optimizer)
    rates = message(lambda: train(scaffold, optimizer, rank, 1))
    try:
        copied = str(copy.deepcopy(scaffold))
    except TypeError as error:
        copied = str(error)
    return said, flat(before) == values, rates, copied


def counted(rank, size, codec, sync):
    """model.step after a state of 5 steps was loaded twice and 3 steps more were taken."""
    import weft.torch

    model = model_of()
    optimizer = sgd(model)
    wrapped = weft.torch.wrap(model, codec, sync, optimizer)
    train(wrapped, optimizer, rank, 5)
    state = wrapped.state_dict()
    model = model_of()
    optimizer = sgd(model)
    wrapped = weft.torch.wrap(model, codec, sync, optimizer)
    for _ in range(2):
        wrapped.load_state_dict(state)
    train(wrapped, optimizer, rank, 3)
    return wrapped.step


def learned(rank, size):
    import weft.torch

    found = []
    for codec, sync in LEARN:
        model = model_of()
        optimizer = sgd(model)
        wrapped = weft.torch.wrap(model, codec, sync, optimizer)
        found.append(train(wrapped, optimizer, rank, 100))
        wrapped.finish()
    return found


class Rules(unittest.TestCase):
    def test_every_pair_learns(self):
        for losses in run(learned, 2):
            for pair, loss in zip(LEARN, losses):
                with self.subTest(pair=pair):
                    self.assertLess(loss, 0.4)  # it begins at ln 4 = 1.39

    def test_what_is_refused_is_the_same_value_error_on_every_rank(self):
        first, second = run(refused, 2)
        self.assertEqual(first.keys(), REFUSED.keys())
        for what, words in REFUSED.items():
            with self.subTest(what=what):
                self.assertEqual(first[what], second[what])
                self.assertEqual(first[what] != "", words != [], first[what])
                for word in words:
                    self.assertIn(word, first[what])
                if words:
                    self.assertTrue(first[what].startswith("ValueError"), first[what])

    def test_a_state_of_the_bare_model_is_where_training_begins_anew(self):
        for codec, sync in (("none", "bsp"), ("topk:rate=0.1", "bsp"), ("topk:rate=0.1", "local:period=2"),
                            ("none", "diloco:period=2"), ("none", "slowmo:period=2"), ("int8", "asp")):
            with self.subTest(codec=codec, sync=sync):
                self.assertEqual(run(loaded, 2, codec, sync), [0.0, 0.0])

    def test_parameters_that_were_given_other_memory_are_averaged_all_the_same(self):
        for sync in ("local:period=2", "ssp:bound=0", "bsp"):
            with self.subTest(sync=sync):
                first, second = run(moved, 2, sync)
                self.assertEqual(first, second)

    def test_what_cannot_be_changes_nothing(self):
        for said, unchanged, rates, copied in run(kept_apart, 2):
            self.assertIn("made with codec 'int8", said)
            self.assertTrue(unchanged)
            self.assertIn("needs one learning rate", rates)
            self.assertIn(".module", copied)

    def test_steps_are_counted_on_from_a_state(self):
        for codec, sync in ("int8", "bsp"), ("none", "bsp"), ("none", "local"), ("auto", "bsp"):
            with self.subTest(codec=codec, sync=sync):
                self.assertEqual(run(counted, 2, codec, sync), [8, 8])

    def test_codecs_serve_every_floating_type(self):
        first, second = run(types, 2)
        for (dtype, codec), (magnitudes, error, total) in first.items():
            with self.subTest(dtype=dtype, codec=codec):
                self.assertEqual(total, second[dtype, codec][2])  # ranks have the same
                if codec == "efsign":
                    self.assertLess(magnitudes, 40)  # one for each block of 256, of 4096
                else:
                    self.assertGreater(magnitudes, 100)
                near = {torch.float64: 1e-15, torch.bfloat16: 0.02, torch.float16: 0.002}[dtype]
                self.assertLess(error, 5 if codec == "efsign" else
                                near + (0.05 if codec == "int8" else 0))

    def test_all_begin_with_everything_of_rank_0(self):
        first, second = run(begins, 2)
        self.assertEqual(first, second)

    def test_buffers_stay_each_ranks_own_and_nobody_waits_for_them(self):
        with tempfile.TemporaryDirectory() as folder:
            first, second = run(buffers_in_ddp, 2, os.path.join(folder, "ended"))
        self.assertEqual(first, [0.0, True])
        self.assertEqual(second, [100.0, True])

    def test_gradients_add_up_without_exchange(self):
        for found in run(accumulated, 2):
            for pair, error in found.items():
                self.assertLess(error, 0.02 if pair[0] == "int8" else 1e-5, pair)

    def test_parameters_without_gradients_are_left_alone(self):
        for found in run(unused, 2):
            self.assertEqual(found, {"bsp": True, "local:period=1": True, "fedprox:period=2": True,
                                     "scaffold:period=2": True})

    def test_an_optimizer_that_calls_its_closure_several_times(self):
        first, second = run(with_lbfgs, 2)
        self.assertLess(first[1], 0.5 * first[0])
        self.assertEqual(first[2], second[2])

    def test_after_a_dropped_average_training_goes_on(self):
        first, second = run(goes_on, 2)
        for pair, (said, weights) in first.items():
            with self.subTest(pair=pair):
                self.assertEqual(said, second[pair][0])
                if pair[0] == "none":  # as torch has it: NaN goes to all ranks, without an error
                    self.assertEqual(said, [""] * 8)
                    self.assertTrue(all(value != value for value in weights[:16]))
                    continue
                self.assertEqual([bool(one) for one in said],
                                 [False, True, False, False, False, False, False, False])
                self.assertIn("rank 1", said[1])
                self.assertTrue(all(abs(value) < 10 for value in weights))
                self.assertEqual(weights, second[pair][1])

    def test_shards_are_saved_and_restored_with_all_that_was_pushed(self):
        for rank, (asp, ended, fedbuff, _) in enumerate(run(resumed, 2)):
            # 22 steps, each half of one; rank 0 has last seen one or both of the first.
            self.assertEqual(asp[0], asp[1])
            self.assertEqual(asp[2], -11.0)
            self.assertIn("finished", ended)
            # 22 pushes are 7 buffers and one that waits; those of a rank ahead count less.
            self.assertEqual(fedbuff[0], fedbuff[1])
            self.assertLess(fedbuff[2], -3.0)


if __name__ == "__main__":
    unittest.main()
