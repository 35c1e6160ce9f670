"""What the benchmarks of training learn: handwritten digits, and a text by heart.

A task has `examples` (numbered from 0), `diloco` (its outer momentum), `share` (that top-k sends), `batch` (of a step, over all ranks), `rates` (by optimizer)
and `epochs` (such that steps divide by 8), and its models are judged by the share of answers that are right.
"""

import os
import sys

import torch
from torch import nn

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "examples"))


class Digits:
    """The classifier of examples/digits.py; judged on 360 images it has not seen."""

    examples, batch, epochs = 1437, 128, 32
    diloco = "diloco:period=8"
    share = 0.01
    rates = {"adamw": 2e-3, "momentum": 0.05, "sgd": 0.05}

    def __init__(self):
        from sklearn.datasets import load_digits

        digits = load_digits()
        order = torch.randperm(len(digits.target), generator=torch.Generator().manual_seed(1))
        self.images = torch.tensor(digits.images, dtype=torch.float32)[order].unsqueeze(1) / 16
        self.labels = torch.tensor(digits.target)[order]

    def model(self):
        from digits import model_of

        return model_of()

    def loss(self, model, chosen):
        return nn.functional.cross_entropy(model(self.images[chosen]), self.labels[chosen])

    def accuracy(self, model):
        with torch.no_grad():
            guesses = model(self.images[self.examples:]).argmax(1)
        return (guesses == self.labels[self.examples:]).float().mean().item()


class Gpt:
    """The character model of examples/gpt.py on windows of half its length, so that a run takes seconds;
    judged on the text it learns, by the next character after every window: the text is too short to keep
    a part back."""

    batch, epochs = 16, 16  # enough for plain averaging to end near 0.99
    diloco = "diloco:period=8,outer_momentum=0.5"  # 0.9 is for runs of many more rounds
    share = 0.05  # of so few values; with 0.01 it ends 4.6 points lower
    rates = {"adamw": 5e-3, "momentum": 0.2, "sgd": 0.2}

    def __init__(self):
        import gpt

        gpt.WINDOW = 16
        with open(os.path.join(ROOT, "examples", "weaver.txt")) as file:
            text = file.read()
        self.letters = sorted(set(text))
        data = torch.tensor([self.letters.index(letter) for letter in text])
        self.windows = data.unfold(0, gpt.WINDOW + 1, 1)
        self.examples = len(self.windows)

    def model(self):
        from gpt import Gpt as Model

        return Model(len(self.letters))

    def loss(self, model, chosen):
        windows = self.windows[chosen]
        guesses = model(windows[:, :-1])
        return nn.functional.cross_entropy(guesses.flatten(0, 1), windows[:, 1:].flatten())

    def accuracy(self, model):
        with torch.no_grad():
            guesses = model(self.windows[:, :-1])[:, -1].argmax(1)
        return (guesses == self.windows[:, -1]).float().mean().item()


class Perceptron:
    """That of `weft bench training`: four layers learn random answers to two examples of each of four ranks, so that
    ranks want different things. Not judged."""

    examples = batch = 8
    own = True  # ranks keep their examples
    rates = {"sgd": 1.0, "momentum": 0.1, "adamw": 1e-4}

    def __init__(self):
        from weft.training_bench import make_model

        self.model = lambda: make_model(2500)
        data = torch.Generator().manual_seed(1000)
        self.inputs, self.targets = (torch.randn(8, 2500, generator=data) for _ in range(2))

    def loss(self, model, chosen):
        return nn.functional.mse_loss(model(self.inputs[chosen]), self.targets[chosen])


TASKS = {"digits": Digits, "gpt": Gpt}


def optimizer_of(name, parameters, rate):
    """adamw; momentum: SGD with 0.9 of it; sgd: without."""
    if name == "adamw":
        return torch.optim.AdamW(parameters, lr=rate)
    return torch.optim.SGD(parameters, lr=rate, momentum=0.9 if name == "momentum" else 0.0)
