"""A small character GPT on examples/weaver.txt to a loss of 0.7, through deaths of ranks.

    weft launch -n 4 python3 examples/gpt.py
    weft launch -n 4 --elastic 2:4 python3 examples/gpt.py

The loss is in nats per character on windows of the text itself: it is learned by heart, which shows
that training works, not that it generalises. Ends with 1 when the loss stays above 0.7.
"""

import argparse
import pathlib
import sys

import torch
from torch import nn

from weft.elastic import Elastic

WANTED = 0.7
BATCH, WINDOW = 16, 32  # windows per step over all ranks, characters per window
WIDTH, HEADS, LAYERS = 48, 4, 2


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.before_attention, self.before_mlp = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attention = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        y = self.before_attention(x)
        x = x + self.attention(y, y, y, attn_mask=mask, need_weights=False)[0]
        return x + self.mlp(self.before_mlp(x))


class Gpt(nn.Module):
    def __init__(self, characters: int) -> None:
        super().__init__()
        self.characters = nn.Embedding(characters, WIDTH)
        self.places = nn.Embedding(WINDOW, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, characters, bias=False)
        later = torch.triu(torch.ones(WINDOW, WINDOW, dtype=torch.bool), diagonal=1)
        self.register_buffer("later", later, persistent=False)

    def forward(self, text: torch.Tensor) -> torch.Tensor:
        x = self.characters(text) + self.places(torch.arange(text.shape[1]))
        for block in self.blocks:
            x = block(x, self.later)
        return self.head(self.norm(x))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--checkpoint", default=None)
    options = parser.parse_args()

    torch.set_num_threads(1)
    torch.manual_seed(1)
    text = (pathlib.Path(__file__).parent / "weaver.txt").read_text()
    letters = sorted(set(text))
    data = torch.tensor([letters.index(letter) for letter in text])

    model = Gpt(len(letters))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    trainer = Elastic(model, optimizer, checkpoint=options.checkpoint)

    def loss() -> torch.Tensor:
        chosen = torch.Generator().manual_seed(trainer.step)
        starts = torch.randint(0, len(data) - WINDOW - 1, (BATCH,), generator=chosen)
        starts = starts[trainer.rank :: trainer.size]
        windows = torch.stack([data[start : start + WINDOW + 1] for start in starts])
        guesses = model(windows[:, :-1])
        return nn.functional.cross_entropy(guesses.flatten(0, 1), windows[:, 1:].flatten())

    recent = []
    while trainer.step < options.steps:
        recent = recent[-19:] + [trainer.train_step(loss)]
        if trainer.rank == 0 and trainer.step % 50 == 0:
            print(f"step {trainer.step}: loss {recent[-1]:.4f}, {trainer.size} ranks", flush=True)
    mean = sum(recent) / len(recent) if recent else 0.0
    if trainer.rank == 0:
        verdict = "reached" if mean <= WANTED else "missed"
        print(f"loss {mean:.4f}: {WANTED} {verdict} after {trainer.step} steps", flush=True)
    return 0 if mean <= WANTED else 1


if __name__ == "__main__":
    sys.exit(main())
