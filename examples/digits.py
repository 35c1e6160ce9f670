"""Handwritten digits (scikit-learn's, 8 by 8 pixels) to 95 % accuracy, through deaths of ranks.

    weft launch -n 4 python3 examples/digits.py
    weft launch -n 4 --elastic 2:4 python3 examples/digits.py

Ends with 1 when the accuracy on images it has not seen stays below 0.95.
"""

import argparse
import sys
import time

import torch
from sklearn.datasets import load_digits
from torch import nn

from weft.elastic import Elastic

WANTED = 0.95
BATCH = 128  # images per step, over all ranks


def model_of() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(32 * 16, 64),
        nn.ReLU(),
        nn.Linear(64, 10),
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--checkpoint", default=None)
    parser.add_argument("--codec", default="none", help="of gradients, such as int8")
    parser.add_argument("--losses", default=None, help="file to append `step loss ranks seconds` to")
    options = parser.parse_args()

    torch.set_num_threads(1)
    torch.manual_seed(1)
    digits = load_digits()
    order = torch.randperm(len(digits.target))
    images = torch.tensor(digits.images, dtype=torch.float32)[order].unsqueeze(1) / 16
    labels = torch.tensor(digits.target)[order]
    train, test = slice(0, 1437), slice(1437, None)

    model = model_of()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    trainer = Elastic(model, optimizer, checkpoint=options.checkpoint, codec=options.codec)

    def loss() -> torch.Tensor:
        # All ranks draw the same batch and take every size-th image of it, so that nothing depends
        # on how many they are but who computes what.
        chosen = torch.Generator().manual_seed(trainer.step)
        batch = torch.randint(0, 1437, (BATCH,), generator=chosen)[trainer.rank :: trainer.size]
        return nn.functional.cross_entropy(model(images[train][batch]), labels[train][batch])

    while trainer.step < options.steps:
        mean = trainer.train_step(loss)
        if trainer.rank == 0 and options.losses:
            with open(options.losses, "a") as file:
                file.write(f"{trainer.step} {mean:.6f} {trainer.size} {time.monotonic():.6f}\n")
        if trainer.rank == 0 and trainer.step % 50 == 0:
            print(f"step {trainer.step}: loss {mean:.4f}, {trainer.size} ranks", flush=True)

    model.eval()
    with torch.no_grad():
        right = (model(images[test]).argmax(1) == labels[test]).float().mean().item()
    if trainer.rank == 0:
        verdict = "reached" if right >= WANTED else "missed"
        print(f"accuracy {right:.4f}: {WANTED} {verdict} after {trainer.step} steps", flush=True)
    return 0 if right >= WANTED else 1


if __name__ == "__main__":
    sys.exit(main())
