"""Runs a pipeline schedule, as ``weft plan pipeline --write`` exports it, on the ranks of a group.

>>> schedule = weft.pipeline.load("1f1b.json")
>>> pipeline = weft.pipeline.Pipeline(schedule, chunks, loss, shape, optimizer)
>>> mean_loss = pipeline.step(inputs, targets)

Rank d runs the d-th program of the schedule, in its order: forward passes, backward passes whole or in
two, and the optimizer. Activations and gradients move beside the computation.
"""

import contextlib
import json
import time
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional

__all__ = ["Linear", "Pipeline", "load", "write_trace"]

_PASSES = ("forward", "backward", "backward-input", "weight-gradient", "optimizer")
_MOST_TAGS = 4096

# While a backward pass runs, what it puts off; None: nothing is put off.
_put_off: Optional[List[Callable[[], None]]] = None


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, layer: "Linear", *_: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        ctx.layer = layer
        return functional.linear(x, layer.weight, layer.bias)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Tuple[Optional[torch.Tensor], ...]:
        (x,), layer = ctx.saved_tensors, ctx.layer

        def weight_gradient() -> None:
            rows = gradient.reshape(-1, gradient.shape[-1])
            _add_to_grad(layer.weight, rows.t() @ x.reshape(-1, x.shape[-1]))
            if layer.bias is not None:
                _add_to_grad(layer.bias, rows.sum(0))

        if _put_off is None:
            weight_gradient()
        else:
            _put_off.append(weight_gradient)
        return gradient @ layer.weight, None, None, None


def _add_to_grad(parameter: nn.Parameter, gradient: torch.Tensor) -> None:
    parameter.grad = gradient if parameter.grad is None else parameter.grad.add_(gradient)


class Linear(nn.Linear):
    """A linear layer whose weight gradient can be made later than the gradient of its input.

    In a model of these (with attention written out) ``backward-input`` does the part that the stage
    before waits for and ``weight-gradient`` the rest. Parameters of other layers get their gradient in
    ``backward-input``.
    """

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        # The parameters are arguments so that a layer whose input needs no gradient has one still.
        return _Linear.apply(x, self, self.weight, self.bias)


def load(path: str) -> Dict[str, Any]:
    """A schedule from a file; ``ValueError`` when these ranks cannot run it."""
    with open(path, encoding="utf-8") as file:
        schedule = json.load(file)
    if schedule.get("format") != "weft-pipeline" or schedule.get("version") != 1:
        raise ValueError(f"{path} is not a weft-pipeline file of version 1")
    if len(schedule["routes"]) != 1 or schedule.get("slices", 1) != 1:
        raise ValueError(f"{path}: schedules with one route and one slice are run here")
    if schedule.get("weight_versions", 1) != 1:
        raise ValueError(f"{path}: schedules with one weight version are run here")
    for program in schedule["programs"]:
        for operation in program:
            if operation["do"] not in _PASSES:
                raise ValueError(f"{path}: operation '{operation['do']}' is not run here; "
                                 f"{', '.join(_PASSES)} are")
    return schedule


class Pipeline:
    """One rank's part of a pipeline.

    Args:
        schedule: what :func:`load` gave.
        chunks: the modules of the chunks that the schedule's route puts on this rank.
        loss: of the last chunk's output and a target: a mean, to be averaged over micro-batches.
        shape: of the activations between chunks.
        optimizer: of this rank's parameters.
        unit_s: if not 0, every operation is made to last ``seconds`` of the schedule times this by
            sleeping, so that ranks that share processors behave like ranks that do not.
    """

    def __init__(self, schedule: Dict[str, Any], chunks: Dict[int, nn.Module],
                 loss: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
                 shape: Sequence[int], optimizer: torch.optim.Optimizer, unit_s: float = 0.0) -> None:
        self.rank, self.schedule, self.chunks = dist.get_rank(), schedule, chunks
        self.route: List[int] = schedule["routes"][0]
        self.last = schedule["chunks"] - 1
        self.micro_batches: int = schedule["micro_batches"]
        if dist.get_world_size() != schedule["devices"]:
            raise ValueError(f"the schedule has {schedule['devices']} devices; the group has "
                             f"{dist.get_world_size()} ranks")
        mine = {c for c, device in enumerate(self.route) if device == self.rank}
        if mine != set(chunks):
            raise ValueError(f"rank {self.rank} runs chunks {sorted(mine)}, not {sorted(chunks)}")
        if 2 * self.micro_batches * (self.last + 1) > _MOST_TAGS:
            raise ValueError(f"{self.micro_batches} micro-batches of {self.last + 1} chunks need more "
                             f"than {_MOST_TAGS} tags")
        self.loss, self.shape, self.optimizer, self.unit_s = loss, tuple(shape), optimizer, unit_s
        self.steps = 0
        self.events: List[Dict[str, Any]] = []

    def step(self, inputs: Sequence[torch.Tensor], targets: Sequence[torch.Tensor]) -> Optional[float]:
        """Runs the program once. The mean loss on the rank of the last chunk, None elsewhere."""
        self._inputs, self._targets = inputs, targets
        self._ends: Dict[Tuple[int, int], Tuple[Optional[torch.Tensor], torch.Tensor]] = {}
        self._later: Dict[Tuple[int, int], List[Callable[[], None]]] = {}
        self._losses: List[float] = []
        self._sent: List[Tuple[Any, torch.Tensor]] = []
        dist.barrier()
        for place, operation in enumerate(self.schedule["programs"][self.rank]):
            work = (operation.get("micro_batch", 0), operation.get("chunk", 0))
            self._run(place, operation, work)
        for sending, _ in self._sent:
            sending.wait()
        self.steps += 1
        return sum(self._losses) / len(self._losses) if self._losses else None

    def trace(self) -> List[Dict[str, Any]]:
        """The trace events of all ranks. Collective; clocks are those of the ranks' hosts."""
        everybody: List[Any] = [None] * dist.get_world_size()
        dist.all_gather_object(everybody, self.events)
        return [event for events in everybody for event in events]

    def _run(self, place: int, operation: Dict[str, Any], work: Tuple[int, int]) -> None:
        kind = operation["do"]
        arrived = self._receive(kind, work)
        begin = time.monotonic()
        made = getattr(self, "_" + kind.replace("-", "_"))(work, arrived)
        rest = begin + operation.get("seconds", 0) * self.unit_s - time.monotonic()
        if rest > 0:
            time.sleep(rest)
        end = time.monotonic()
        arguments = {"step": self.steps, "place": place}
        if kind != "optimizer":
            arguments.update(micro_batch=work[0], chunk=work[1])
        self.events.append({"name": kind, "cat": kind, "ph": "X", "ts": 1e6 * begin,
                            "dur": 1e6 * (end - begin), "pid": 0, "tid": 2 * self.rank,
                            "args": arguments})
        if made is not None:
            self._send(kind, work, made)

    def _tag(self, flow: int, micro_batch: int, boundary: int) -> int:
        return 2 * (micro_batch * (self.last + 1) + boundary) + flow

    def _neighbour(self, chunk: int) -> Optional[int]:
        """The other rank that holds a chunk; None when it is this one or there is no such chunk."""
        if not 0 <= chunk <= self.last or self.route[chunk] == self.rank:
            return None
        return self.route[chunk]

    def _receive(self, kind: str, work: Tuple[int, int]) -> Optional[torch.Tensor]:
        micro_batch, chunk = work
        if kind == "forward":
            peer, tag = self._neighbour(chunk - 1), self._tag(0, micro_batch, chunk - 1)
        elif kind in ("backward", "backward-input"):
            peer, tag = self._neighbour(chunk + 1), self._tag(1, micro_batch, chunk)
        else:
            return None
        if peer is None:
            return self._ends_here(kind, work)
        data = torch.empty(self.shape)
        dist.recv(data, peer, tag=tag)
        return data

    def _ends_here(self, kind: str, work: Tuple[int, int]) -> Optional[torch.Tensor]:
        """What the neighbouring chunk on this rank, or the batch itself, has for a pass."""
        micro_batch, chunk = work
        if kind == "forward":
            if chunk == 0:
                return self._inputs[micro_batch]
            return self._ends[micro_batch, chunk - 1][1].detach()
        if chunk == self.last:
            return None
        x = self._ends[micro_batch, chunk + 1][0]
        return None if x is None else x.grad

    def _send(self, kind: str, work: Tuple[int, int], data: torch.Tensor) -> None:
        micro_batch, chunk = work
        ahead = kind == "forward"
        peer = self._neighbour(chunk + 1 if ahead else chunk - 1)
        if peer is None:
            return
        tag = self._tag(0, micro_batch, chunk) if ahead else self._tag(1, micro_batch, chunk - 1)
        self._sent.append((dist.isend(data, peer, tag=tag), data))

    def _forward(self, work: Tuple[int, int], arrived: torch.Tensor) -> Optional[torch.Tensor]:
        micro_batch, chunk = work
        x = arrived.requires_grad_() if chunk > 0 else None
        y = self.chunks[chunk](arrived)
        if chunk == self.last:
            y = self.loss(y, self._targets[micro_batch])
            self._losses.append(y.item())
        self._ends[work] = (x, y)
        return None if chunk == self.last else y.detach()

    def _backward(self, work: Tuple[int, int], arrived: Optional[torch.Tensor]) -> Optional[torch.Tensor]:
        made = self._backward_input(work, arrived)
        self._weight_gradient(work, None)
        return made

    def _backward_input(self, work: Tuple[int, int],
                        arrived: Optional[torch.Tensor]) -> Optional[torch.Tensor]:
        x, y = self._ends[work]
        with _putting_off() as later:
            if work[1] == self.last:
                (y / self.micro_batches).backward()
            else:
                y.backward(arrived)
        self._later[work] = later
        self._ends[work] = (x, y.detach())  # the graph goes; the gradient of x is still to be read
        return None if x is None else x.grad

    def _weight_gradient(self, work: Tuple[int, int], _: Optional[torch.Tensor]) -> None:
        for one in self._later.pop(work):
            one()

    def _optimizer(self, _: Tuple[int, int], __: Optional[torch.Tensor]) -> None:
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)


@contextlib.contextmanager
def _putting_off() -> Iterator[List[Callable[[], None]]]:
    global _put_off
    later: List[Callable[[], None]] = []
    _put_off = later
    try:
        yield later
    finally:
        _put_off = None


def write_trace(path: str, name: str, events: List[Dict[str, Any]]) -> None:
    """Writes :meth:`Pipeline.trace` for ``weft plan pipeline --recording`` and for Perfetto."""
    head = {"name": "process_name", "ph": "M", "pid": 0, "tid": 0, "args": {"name": name}}
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"displayTimeUnit": "ms", "traceEvents": [head] + events}, file)
        file.write("\n")
