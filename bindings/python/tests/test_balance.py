"""Shares of a batch by the speed of ranks."""

import time
import unittest

import torch
from torch import nn

from ranks import run

BATCH, STEPS = 48, 40


def slowed(rank, size, codec):
    """Every example takes rank 1 four times as long: (shares, first places, largest error of a gradient)."""
    import weft.torch

    torch.manual_seed(1)
    model = nn.Linear(8, 3)
    whole = nn.Linear(8, 3)
    whole.load_state_dict(model.state_dict())
    wrapped = weft.torch.wrap(model, codec, "bsp")
    balance = weft.torch.BatchBalance(wrapped, BATCH, every=5)
    shares, worst = [], 0.0
    for step in range(STEPS):
        data = torch.Generator().manual_seed(step)
        inputs, labels = (torch.randn(BATCH, n, generator=data) for n in (8, 3))
        places = balance.next()
        shares.append((places.start, len(places)))
        time.sleep((0.004 if rank == 1 else 0.001) * len(places))
        for one, mine in ((wrapped, slice(places.start, places.stop)), (whole, slice(None))):
            one.zero_grad()
            (one(inputs[mine]) - labels[mine]).square().mean().backward()
        for a, b in zip(model.parameters(), whole.parameters()):
            worst = max(worst, (a.grad - b.grad).abs().max().item())
    return shares, balance.shares, worst


def refused(rank, size):
    import weft.torch

    def message(sync, batch, every=16):
        model = nn.Linear(4, 4)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        wrapped = weft.torch.wrap(model, "none", sync, optimizer)
        try:
            weft.torch.BatchBalance(wrapped, batch, every)
        except ValueError as error:
            return str(error)
        return ""

    return message("local", 8), message("bsp", 1), message("bsp", 8, 0), message("bsp", 2)


class Balance(unittest.TestCase):
    def test_a_slow_rank_gets_less_and_the_gradient_is_that_of_the_whole_batch(self):
        runs = run(slowed, 2, "none")
        for step in range(STEPS):
            (first, own), (after, other) = (found[0][step] for found in runs)
            self.assertEqual((first, after), (0, own))
            self.assertEqual(own + other, BATCH)
        self.assertEqual(runs[0][0][0], (0, BATCH // 2))
        for shares, now, worst in runs:
            self.assertEqual(now, runs[0][1])
            self.assertLess(now[1], BATCH // 3)  # a fifth, if nothing else took time
            self.assertLess(worst, 1e-6)

    def test_what_cannot_be_balanced_is_refused(self):
        for mode, few, never, enough in run(refused, 2):
            self.assertIn("local", mode)
            self.assertIn("every rank needs an example", few)
            self.assertIn("every is 0", never)
            self.assertEqual(enough, "")


if __name__ == "__main__":
    unittest.main()
