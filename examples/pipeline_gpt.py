"""A small character GPT, cut into stages, trained by a pipeline schedule of `weft plan pipeline`.

    weft plan pipeline --schedule zb-h1 --stages 4 --microbatches 8 --write zb-h1.json
    weft launch -n 4 python3 examples/pipeline_gpt.py zb-h1.json --trace trace.json
    weft plan pipeline --recording trace.json

Afterwards one rank trains the same model alone and compares the losses; ends with 1 when any differs by
more than 1e-5. Operations are padded to the times in the schedule (--unit seconds each), because ranks
that share processors would otherwise slow each other down and the idle time would say nothing.
"""

import argparse
import pathlib
import sys
from typing import Any, Dict, List, Optional, Tuple

import torch
import torch.distributed as dist
from torch import nn

import weft.pipeline
import weft.torch

LIMIT = 1e-5
WINDOWS, WINDOW = 2, 32  # windows per micro-batch, characters per window
WIDTH, HEADS, LAYERS = 32, 4, 8
TEXT = (pathlib.Path(__file__).parent / "weaver.txt").read_text()
LETTERS = sorted(set(TEXT))
DATA = torch.tensor([LETTERS.index(letter) for letter in TEXT])


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.projection = weft.pipeline.Linear(WIDTH, 3 * WIDTH)
        self.output = weft.pipeline.Linear(WIDTH, WIDTH)
        later = torch.triu(torch.ones(WINDOW, WINDOW, dtype=torch.bool), diagonal=1)
        self.register_buffer("later", later, persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        windows, length, _ = x.shape
        parts = self.projection(x).view(windows, length, 3, HEADS, WIDTH // HEADS)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        scores = query @ key.transpose(-1, -2) / (WIDTH // HEADS) ** 0.5
        weights = scores.masked_fill(self.later, float("-inf")).softmax(-1)
        return self.output((weights @ value).transpose(1, 2).reshape(windows, length, WIDTH))


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.before_attention, self.before_mlp = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attention = Attention()
        self.mlp = nn.Sequential(weft.pipeline.Linear(WIDTH, 4 * WIDTH), nn.GELU(),
                                 weft.pipeline.Linear(4 * WIDTH, WIDTH))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.before_attention(x))
        return x + self.mlp(self.before_mlp(x))


class Embedding(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.characters, self.places = nn.Embedding(len(LETTERS), WIDTH), nn.Embedding(WINDOW, WIDTH)

    def forward(self, text: torch.Tensor) -> torch.Tensor:
        return self.characters(text) + self.places(torch.arange(text.shape[1]))


def layer(number: int) -> nn.Module:
    """Layer 0 is the embedding, the last the head; each is the same however the model is cut."""
    torch.manual_seed(1000 + number)
    if number == 0:
        return Embedding()
    if number == LAYERS + 1:
        return nn.Sequential(nn.LayerNorm(WIDTH), weft.pipeline.Linear(WIDTH, len(LETTERS), bias=False))
    return Block()


def chunk(number: int, chunks: int) -> nn.Module:
    first, end = 1 + number * LAYERS // chunks, 1 + (number + 1) * LAYERS // chunks
    layers = list(range(first, end))
    if number == 0:
        layers.insert(0, 0)
    if number == chunks - 1:
        layers.append(LAYERS + 1)
    return nn.Sequential(*(layer(one) for one in layers))


def batch(step: int, micro_batches: int) -> Tuple[List[torch.Tensor], List[torch.Tensor]]:
    chosen = torch.Generator().manual_seed(step)
    starts = torch.randint(0, len(DATA) - WINDOW - 1, (micro_batches * WINDOWS,), generator=chosen)
    windows = torch.stack([DATA[start : start + WINDOW + 1] for start in starts])
    return (list(windows[:, :-1].split(WINDOWS)), list(windows[:, 1:].split(WINDOWS)))


def loss(guesses: torch.Tensor, text: torch.Tensor) -> torch.Tensor:
    return nn.functional.cross_entropy(guesses.flatten(0, 1), text.flatten())


def optimizer_of(parameters: Any) -> torch.optim.Optimizer:
    return torch.optim.AdamW(parameters, lr=1e-3)


def alone(steps: int, micro_batches: int) -> List[float]:
    """The losses of one process that trains the whole model."""
    model = chunk(0, 1)
    optimizer = optimizer_of(model.parameters())
    losses = []
    for step in range(steps):
        total = 0.0
        for inputs, targets in zip(*batch(step, micro_batches)):
            one = loss(model(inputs), targets)
            (one / micro_batches).backward()
            total += one.item()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        losses.append(total / micro_batches)
    return losses


def idle_fraction(schedule: Dict[str, Any], events: List[Dict[str, Any]]) -> float:
    """Part of the ranks' time in which no operation ran, over all steps but the first, which is slow."""
    busy = all_time = 0.0
    steps = {event["args"]["step"] for event in events}
    for step in sorted(steps)[min(1, len(steps) - 1):]:
        mine = [event for event in events if event["args"]["step"] == step]
        begin = min(event["ts"] for event in mine)
        end = max(event["ts"] + event["dur"] for event in mine)
        busy += sum(event["dur"] for event in mine)
        all_time += schedule["devices"] * (end - begin)
    return 1 - busy / all_time


def check(losses: List[float], micro_batches: int) -> bool:
    wanted = alone(len(losses), micro_batches)
    worst = max(abs(a - b) for a, b in zip(losses, wanted))
    verdict = "equal" if worst <= LIMIT else "different"
    print(f"loss {losses[0]:.4f} to {losses[-1]:.4f} in {len(losses)} steps; one process: {verdict}, "
          f"largest difference {worst:.1e} (limit {LIMIT:.0e})", flush=True)
    return worst <= LIMIT


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("schedule", help="a file of `weft plan pipeline --write`")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--unit", type=float, default=0.04, help="seconds per second of the schedule")
    parser.add_argument("--trace", default=None, help="write what ran when")
    options = parser.parse_args()

    torch.set_num_threads(1)
    dist.init_process_group("weft")
    schedule = weft.pipeline.load(options.schedule)
    rank, count = dist.get_rank(), schedule["chunks"]
    if LAYERS % count != 0:
        raise SystemExit(f"{LAYERS} layers cannot be cut into {count} equal chunks")
    mine = {c: chunk(c, count) for c, device in enumerate(schedule["routes"][0]) if device == rank}
    optimizer = optimizer_of([p for module in mine.values() for p in module.parameters()])
    pipeline = weft.pipeline.Pipeline(schedule, mine, loss, (WINDOWS, WINDOW, WIDTH), optimizer,
                                      options.unit)
    losses: List[Optional[float]] = []
    for step in range(options.steps):
        losses.append(pipeline.step(*batch(step, schedule["micro_batches"])))
    events = pipeline.trace()
    if rank == 0:
        print(f"{schedule['name']}: {100 * idle_fraction(schedule, events):.1f} % idle", flush=True)
        if options.trace:
            weft.pipeline.write_trace(options.trace, schedule["name"], events)
    same = losses[0] is None or check(losses, schedule["micro_batches"])
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
