"""examples/pipeline_gpt.py on four ranks, from the schedules that the command line exports."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import torch
from torch import nn

import weft.pipeline

WEFT = os.environ["WEFT_BINARY"]
EXAMPLE = pathlib.Path(__file__).parents[3] / "examples" / "pipeline_gpt.py"
STEPS = 3


def run(*arguments):
    return subprocess.run([WEFT, *arguments], capture_output=True, text=True, timeout=300)


def order_of(events):
    """Per rank and step, the operations in the order in which they began."""
    order = {}
    for event in sorted(events, key=lambda event: event["ts"]):
        place = order.setdefault((event["tid"] // 2, event["args"]["step"]), [])
        place.append((event["cat"], event["args"].get("micro_batch", 0), event["args"].get("chunk", 0)))
    return order


class Live(unittest.TestCase):
    def check(self, name, *extra):
        with tempfile.TemporaryDirectory() as folder:
            schedule, trace = os.path.join(folder, "schedule"), os.path.join(folder, "trace")
            made = run("plan", "pipeline", "--schedule", name, "--stages", "4", "--microbatches", "8",
                       "--write", schedule, *extra)
            self.assertEqual(made.returncode, 0, made.stderr)
            # The example itself compares the losses with those of one process.
            ran = run("launch", "-n", "4", sys.executable, "-W", "ignore", str(EXAMPLE), schedule,
                      "--steps", str(STEPS), "--unit", "0.05", "--trace", trace)
            self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
            self.assertIn("one process: equal", ran.stdout)
            programs = json.loads(pathlib.Path(schedule).read_text())["programs"]
            events = json.loads(pathlib.Path(trace).read_text())["traceEvents"]
            order = order_of(event for event in events if event["ph"] == "X")
            for rank, program in enumerate(programs):
                want = [(op["do"], op.get("micro_batch", 0), op.get("chunk", 0)) for op in program]
                for step in range(STEPS):
                    self.assertEqual(order[rank, step], want, f"{name}, rank {rank}, step {step}")
            replayed = run("plan", "pipeline", "--json", "--trace", trace)
            self.assertEqual(replayed.returncode, 0, replayed.stderr)
            found = json.loads(replayed.stdout)
            self.assertLessEqual(
                abs(found["recorded_idle_fraction"] - found["replayed_idle_fraction"]), 0.1, found)

    def test_gpipe(self):
        self.check("gpipe")

    def test_one_forward_one_backward(self):
        self.check("1f1b")

    def test_interleaved(self):
        self.check("interleaved", "--chunks", "2")

    def test_zero_bubble(self):
        self.check("zb-h1")

    def test_chunks_that_turn_round(self):
        self.check("zb-v")


class Splitting(unittest.TestCase):
    def test_weight_gradients_made_later_are_those_of_torch(self):
        torch.manual_seed(3)
        plain = nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 2, bias=False))
        split = nn.Sequential(weft.pipeline.Linear(5, 7), nn.Tanh(),
                              weft.pipeline.Linear(7, 2, bias=False))
        split.load_state_dict(plain.state_dict())
        x = torch.randn(4, 3, 5)
        a, b = x.clone().requires_grad_(), x.clone().requires_grad_()
        for _ in range(2):  # gradients add up
            plain(a).square().sum().backward()
            with weft.pipeline._putting_off() as later:
                split(b).square().sum().backward()
            self.assertEqual(len(later), 2)
            for one in later:
                one()
        self.assertTrue(torch.allclose(a.grad, b.grad))
        for want, got in zip(plain.parameters(), split.parameters()):
            self.assertTrue(torch.allclose(want.grad, got.grad))

    def test_schedules_that_cannot_run_here_are_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, word in (("chimera", "one route"), ("seq1f1b", "one slice"),
                               ("bpipe", "offload"), ("pipedream", "one weight version")):
                path = os.path.join(folder, name)
                run("plan", "pipeline", "--schedule", name, "--stages", "4", "--microbatches", "8",
                    "--write", path)
                with self.assertRaises(ValueError) as caught:
                    weft.pipeline.load(path)
                self.assertIn(word, str(caught.exception))


if __name__ == "__main__":
    unittest.main()
