"""Elastic training under `weft launch`: a killed rank is replaced and training goes on."""

import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import torch

ROOT = pathlib.Path(__file__).resolve().parents[3]
WEFT = os.environ.get("WEFT_BINARY", "")
LIMIT_S = 150


def ranks_of(launcher):
    """The processes of the ranks: python3 children of the launcher."""
    found = []
    for task in os.listdir(f"/proc/{launcher}/task"):
        with open(f"/proc/{launcher}/task/{task}/children") as file:
            found += [int(word) for word in file.read().split()]
    return sorted(found)


class Job:
    def __init__(self, test, *words, arguments=()):
        self.folder = tempfile.TemporaryDirectory()
        self.losses = os.path.join(self.folder.name, "losses")
        self.checkpoint = os.path.join(self.folder.name, "checkpoint.pt")
        self.process = subprocess.Popen(
            [WEFT, "launch", *words, sys.executable, str(ROOT / "examples" / "digits.py"),
             "--checkpoint", self.checkpoint, "--losses", self.losses, *arguments],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.until = time.monotonic() + LIMIT_S
        test.addCleanup(self.stop)

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            self.end()

    def wait_for(self, condition, what):
        while not condition():
            if self.process.poll() is not None or time.monotonic() > self.until:
                raise AssertionError(f"no {what}; {self.end()}")
            time.sleep(0.02)

    def steps(self):
        if not os.path.exists(self.losses):
            return []
        with open(self.losses) as file:
            rows = [line.split() for line in file.read().splitlines()]
        return [(int(row[0]), float(row[1]), int(row[2])) for row in rows if len(row) == 4]

    def end(self):
        try:
            output, _ = self.process.communicate(timeout=max(1, self.until - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.process.terminate()
            output, _ = self.process.communicate(timeout=40)
            output += "\n(ended by the test: it took too long)"
        self.folder.cleanup()
        return output


def rank_main():
    """Prints how many magnitudes the mean gradient of a float64 model has after efsign."""
    from weft.elastic import Elastic

    model = torch.nn.Linear(64, 64, bias=False).double()
    trainer = Elastic(model, torch.optim.SGD(model.parameters(), lr=0.1), codec="efsign")
    inputs = torch.randn(64, 64, generator=torch.Generator().manual_seed(trainer.rank))
    trainer.train_step(lambda: (model.weight * inputs).sum())
    print(f"magnitudes {len(model.weight.grad.abs().unique())}", flush=True)


def odd_main():
    """Ranks of which one has another codec: the second, or with a path the first that joins, which leaves a file
    there."""
    from weft.elastic import Elastic

    path = sys.argv[2] if len(sys.argv) > 2 else ""
    joins = "WEFT_JOIN" in os.environ
    odd = joins and not os.path.exists(path) if path else os.environ["RANK"] == "1"
    model = torch.nn.Linear(8, 8)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    try:
        trainer = Elastic(model, optimizer, codec="int4" if odd else "int8")
    except ValueError as error:
        if path:
            open(path, "w").close()
        print(f"refused: {error}", flush=True)
        sys.exit(3)
    # All ranks must end after the same step.
    while not (os.path.exists(path) and trainer.size == 3 and trainer.step % 50 == 0):
        trainer.train_step(lambda: model(torch.ones(1, 8)).square().mean())
        if trainer.rank == 2 and trainer.step == 3 and not joins:
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(0.02)
    print(f"trained with {trainer.size}", flush=True)


@unittest.skipUnless(WEFT and os.path.exists(WEFT), "WEFT_BINARY names no weft program")
class ElasticTraining(unittest.TestCase):
    def test_digits_reach_their_accuracy(self):
        output = (job := Job(self, "-n", "4", arguments=["--steps", "200"])).end()
        self.assertEqual(job.process.returncode, 0, output)
        self.assertIn("0.95 reached after 200 steps", output)

    def test_a_killed_rank_is_replaced_and_the_loss_goes_on(self):
        job = Job(self, "-n", "4", "--elastic", "2:4", "--env", "PYTHONFAULTHANDLER=1",
                  arguments=["--steps", "600"])
        for victim in (0, 2):  # the rank that others take for their first, and another
            job.wait_for(lambda: job.steps() and job.steps()[-1][2] == 4, "step of four ranks")
            job.wait_for(lambda: len(ranks_of(job.process.pid)) == 4, "four processes")
            seen = len(job.steps())
            os.kill(ranks_of(job.process.pid)[victim], signal.SIGKILL)
            job.wait_for(lambda: any(s[2] == 3 for s in job.steps()[seen:]), "step of three ranks")
        job.wait_for(lambda: job.steps()[-1][2] == 4, "return to four ranks")
        self.check_curve(job)
        output = job.end()
        self.assertEqual(job.process.returncode, 0, output)
        self.assertIn("0.95 reached after 600 steps", output)

    def test_error_feedback_survives_a_killed_rank(self):
        # top-k of 5 %: most of a gradient is in the feedback, without which it would not learn.
        job = Job(self, "-n", "3", "--elastic", "2:3", "--env", "PYTHONFAULTHANDLER=1",
                  arguments=["--steps", "400", "--codec", "topk:rate=0.05"])
        job.wait_for(lambda: job.steps() and job.steps()[-1][0] > 60, "sixty steps")
        job.wait_for(lambda: job.steps()[-1][2] == 3, "step of three ranks")
        seen = len(job.steps())
        os.kill(ranks_of(job.process.pid)[1], signal.SIGKILL)
        job.wait_for(lambda: any(s[2] == 2 for s in job.steps()[seen:]), "step of two ranks")
        job.wait_for(lambda: job.steps()[-1][2] == 3, "return to three ranks")
        self.check_curve(job)
        output = job.end()
        self.assertEqual(job.process.returncode, 0, output)
        self.assertIn("0.95 reached after 400 steps", output)

    def test_a_checkpoint_holds_error_feedback(self):
        job = Job(self, "-n", "2", arguments=["--steps", "100000", "--codec", "int8"])
        job.wait_for(lambda: len(job.steps()) > 5, "steps")
        job.process.send_signal(signal.SIGTERM)
        job.wait_for(lambda: os.path.exists(job.checkpoint), "checkpoint")
        codec, remembered = torch.load(job.checkpoint)["codec"]
        self.assertTrue(codec.startswith("int8"), codec)
        self.assertEqual([bytes[:4] for bytes in remembered], [b"WCCP"] * 2)
        self.assertGreater(len(remembered[0]), 1000)
        self.assertNotIn("Traceback", job.end())

    def test_codecs_serve_every_floating_type(self):
        done = subprocess.run([WEFT, "launch", "-n", "2", sys.executable, __file__, "rank"],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=LIMIT_S)
        self.assertEqual(done.returncode, 0, done.stdout)
        found = [int(line.split()[-1]) for line in done.stdout.splitlines() if "magnitudes" in line]
        self.assertEqual(len(found), 2, done.stdout)
        self.assertLess(max(found), 40)  # one for each block of 256, of 4096

    def launch(self, *words):
        return subprocess.run([WEFT, "launch", *words], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=LIMIT_S)

    def test_ranks_with_different_codecs_are_told_so(self):
        done = self.launch("-n", "2", sys.executable, __file__, "odd")
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stdout, "refused: codec is 'int8:.* on rank 0 and 'int4:.* on rank 1")

    def test_who_joins_with_another_codec_is_refused_and_the_others_go_on(self):
        with tempfile.TemporaryDirectory() as folder:
            done = self.launch("-n", "3", "--elastic", "2:3", sys.executable, __file__, "odd",
                               os.path.join(folder, "refused"))
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("refused: this rank joins others", done.stdout)
        self.assertIn("codec 'int4:", done.stdout)
        self.assertEqual(done.stdout.count("trained with 3"), 3, done.stdout)

    def check_curve(self, job):
        """Steps follow each other, and the loss goes on where it was."""
        steps = job.steps()
        self.assertTrue(steps)
        for (before, _, ranks), (after, _, then) in zip(steps, steps[1:]):
            # The rank that keeps the record may be the one that dies, after a commit.
            self.assertIn(after - before, (1,) if ranks == then else (0, 1, 2))
        starts = [i for i in range(30, len(steps) - 5) if steps[i][2] != steps[i - 1][2]]
        for i in starts:
            before = max(loss for _, loss, _ in steps[i - 10 : i])
            after = min(loss for _, loss, _ in steps[i : i + 5])
            self.assertLess(after, 2 * before + 0.1)

    def test_a_request_to_leave_writes_a_checkpoint_from_which_training_goes_on(self):
        job = Job(self, "-n", "2", arguments=["--steps", "100000"])
        job.wait_for(lambda: len(job.steps()) > 20, "steps")
        job.process.send_signal(signal.SIGTERM)
        job.wait_for(lambda: os.path.exists(job.checkpoint), "checkpoint")
        state = torch.load(job.checkpoint)
        self.assertGreater(state["step"], 20)
        output = job.end()
        self.assertNotIn("Traceback", output)


if __name__ == "__main__":
    if sys.argv[1:] == ["rank"]:
        rank_main()
    elif sys.argv[1:2] == ["odd"]:
        odd_main()
    else:
        unittest.main()
