"""Training that goes on when ranks die, leave and join.

>>> trainer = Elastic(model, optimizer)
>>> while trainer.step < 1000:
...     loss = trainer.train_step(lambda: loss_of(model, batch(trainer.step, trainer.rank)))

A step counts when it is *committed*: every rank has the averages of all gradients and says so in one
small all-reduce. Only then is it applied. When a rank is lost in between, those that are left agree on
who they are and on the newest committed step, ranks that lack it are overwritten by one that has it,
and the step is tried again. Ranks that join get the state the same way. Averages divide by the ranks
that are there.
"""

from __future__ import annotations

import io
import itertools
import json
import os
import signal
import sys
import threading
import time
from datetime import timedelta
from typing import Any, Callable, Dict, List, Optional

import torch
import torch.distributed as dist

import weft.torch as weft_torch
from weft import _torch as _native
from weft.agreement import agree, layout_of

__all__ = ["Elastic", "save_atomically"]


def save_atomically(state: Any, path: str) -> None:
    """``torch.save`` such that ``path`` always holds a whole checkpoint, the old or the new one."""
    draft = f"{path}.{os.getpid()}.tmp"
    try:
        with open(draft, "wb") as file:
            torch.save(state, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    except BaseException:
        if os.path.exists(draft):
            os.remove(draft)
        raise


class Elastic:
    """Trains a model on a group of ranks that may change.

    Args:
        model: its parameters and buffers are kept equal on all ranks.
        optimizer: a ``torch.optim`` optimizer of the model's parameters.
        checkpoint: a file to start from when it exists, and to write on SIGUSR1 and SIGTERM.
        bucket_bytes: gradients are averaged in buckets of about this size.
        reform_deadline_s: how long those that are left try to agree before the process gives up.
        timeout: of one collective.
        codec: how gradients are encoded, such as ``"int8"`` (``docs/codecs.md``), as float32
            whatever the parameters' type. What it remembers
            is taken back when a step is tried again and spread anew over the ranks that are there;
            that of a lost rank is lost.
    """

    def __init__(
        self,
        model: torch.nn.Module,
        optimizer: torch.optim.Optimizer,
        *,
        checkpoint: Optional[str] = None,
        bucket_bytes: int = 4 << 20,
        reform_deadline_s: float = 30.0,
        timeout: timedelta = timedelta(minutes=5),
        codec: str = "none",
    ) -> None:
        self.model = model
        self.optimizer = optimizer
        self.checkpoint = checkpoint
        self.step = 0  # committed steps
        self.recoveries = 0  # changes of membership that this process went through
        self._deadline_s = reform_deadline_s
        self._fresh = True  # has not yet had the others' state
        self._wants_checkpoint = False
        self._wants_to_leave = False
        self._failures = 0  # at one step, with the same members
        self._parameters = [p for p in model.parameters() if p.requires_grad]
        for name, parameter in model.named_parameters():
            if parameter.requires_grad and not parameter.is_floating_point():
                raise ValueError(f"parameter '{name}' is {parameter.dtype}; "
                                 "gradients are averaged of floating types only")
        self._bucket_bytes = bucket_bytes
        self._buckets = _split(self._parameters, bucket_bytes)
        self._codec = _native.codec_text(codec)
        self._remembered: List[bytes] = []  # what codecs of all ranks had at the checkpoint
        self._handle_signals()
        if checkpoint is not None and os.path.exists(checkpoint):
            self._load(torch.load(checkpoint, map_location="cpu"))
        self.group = weft_torch.init_elastic(timeout)
        self._compressor = _native.Compressor(self.group, self._codec, 1)
        self._until_agreed()

    @property
    def rank(self) -> int:
        """This process among the members of today."""
        return self.group.live_rank()

    @property
    def size(self) -> int:
        """The members of today."""
        return self.group.live_size()

    def train_step(self, forward: Callable[[], torch.Tensor]) -> float:
        """Commits and applies one step, and gives the mean of the ranks' losses.

        ``forward`` computes this rank's loss. It is called again, with ``rank`` and ``size`` of then,
        when the group changes before the step is committed.
        """
        while True:
            members = self.group.membership()[1]
            try:
                loss = self._try_step(forward)
                self._failures = 0
                return loss
            except RuntimeError as error:
                if not self.group.broken():
                    raise  # the model's mistake, not the group's
                print(f"weft: step {self.step}: {error}", file=sys.stderr, flush=True)
                self._compressor.go_back()
                self._recover()
                # Ranks that disagree would do so again.
                same = members == self.group.membership()[1]
                self._failures = self._failures + 1 if same else 0
                if self._failures > 2:
                    raise

    def state(self) -> Dict[str, Any]:
        """What a checkpoint holds: but for what codecs remember, which is every rank's own."""
        return {
            "step": self.step,
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "codec": (self._codec, self._remembered),
        }

    def _load(self, state: Dict[str, Any]) -> None:
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.step = state["step"]
        codec, remembered = state.get("codec", (self._codec, []))
        self._remembered = remembered if codec == self._codec else []

    def _try_step(self, forward: Callable[[], torch.Tensor]) -> float:
        self._compressor.mark()
        self.optimizer.zero_grad()
        loss = forward()
        loss.backward()
        self._average_gradients()
        said = self._commit(float(loss.detach()))
        self.optimizer.step()
        self.step += 1
        self._act_on(said)
        return float(said[0])

    def _average_gradients(self) -> None:
        works = []
        for index, bucket in enumerate(self._buckets):
            flat = torch.cat([_gradient(p).reshape(-1) for p in bucket])
            # Buckets follow the parameters' order: the first is used first in the next step.
            if self._codec != "none":
                flat = flat.float()  # which codecs take; back below
                work = self._compressor.average(index, flat, float(index))
            else:
                with weft_torch.stream(1 + index, priority=index):
                    work = dist.all_reduce(
                        flat, op=dist.ReduceOp.AVG, group=self.group, async_op=True
                    )
            works.append((work, flat, bucket))
        for work, flat, bucket in works:
            work.wait()
            pieces = flat.split([p.numel() for p in bucket])
            for parameter, piece in zip(bucket, pieces):
                _gradient(parameter).copy_(piece.view_as(parameter))

    def _commit(self, loss: float) -> torch.Tensor:
        """Ends well on a rank only after every rank has all averages.

        Gives the mean loss, then in sums: joiners waiting, checkpoints wanted, and a 1 at the place
        of every rank that wants to leave.
        """
        said = torch.zeros(3 + self.size, dtype=torch.float64)
        said[0] = loss / self.size
        said[1] = self.group.joiners()
        said[2] = self._wants_checkpoint
        said[3 + self.rank] = self._wants_to_leave
        dist.all_reduce(said, group=self.group)
        return said

    def _act_on(self, said: torch.Tensor) -> None:
        """What all ranks decide alike at the end of a step."""
        leaving = [rank for rank in range(self.size) if said[3 + rank] > 0]
        if said[2] > 0 or leaving:
            if self._codec != "none":
                self._remembered = _native.gather(self.group, self._compressor.save())
            writer = leaving[0] if leaving else 0
            if self.checkpoint is not None and self.rank == writer:
                save_atomically(self.state(), self.checkpoint)
            self._remembered = []
            self._wants_checkpoint = False
        if leaving:
            try:
                # A goodbye ends what others have under way: here no longer the commit.
                dist.barrier(group=self.group)
            except RuntimeError:
                pass
        if self.rank in leaving:
            weft_torch.leave()
            raise SystemExit(0)
        if said[1] > 0 or leaving:
            self._recover()

    def _recover(self) -> None:
        began = time.monotonic()
        self.recoveries += 1
        self._reform()
        self._until_agreed()
        print(
            f"weft: {self.size} ranks go on at step {self.step} after "
            f"{time.monotonic() - began:.3f} s",
            file=sys.stderr,
            flush=True,
        )

    def _reform(self) -> None:
        self.group.reform(self._deadline_s)
        self.group = self.group.renewed(f"elastic {self.group.membership()[0]}")
        weft_torch.install(self.group)

    def _until_agreed(self) -> None:
        while True:
            try:
                self._agree()
                return
            except RuntimeError:
                if not self.group.broken():
                    raise
                self._reform()

    def _agree(self) -> None:
        """Gives every rank the newest committed step."""
        mine = torch.tensor([self.step, int(self._fresh)])
        everyone = [torch.zeros_like(mine) for _ in range(self.size)]
        dist.all_gather(everyone, mine, group=self.group)
        steps = [int(entry[0]) for entry in everyone]
        fresh = [bool(entry[1]) for entry in everyone]
        newest = max(steps)
        # One that trained goes before one that only has a checkpoint of the same step.
        source = min((rank for rank in range(self.size) if steps[rank] == newest),
                     key=lambda rank: (fresh[rank], rank))
        if any(fresh):
            self._check_call([rank for rank in range(self.size) if not fresh[rank]])
        if any(fresh) or any(step != newest for step in steps):
            self._copy_state(source)
        if self._codec != "none":
            if all(fresh):
                self._compressor.restore(self._remembered)
            else:
                self._compressor.regroup()
        self._remembered = []
        self._fresh = False

    def _check_call(self, trained: List[int]) -> None:
        """All ranks that begin together must have been called alike, and who joins like those who train;
        else it alone goes."""
        said = {"codec": self._codec, "bucket_bytes": str(self._bucket_bytes)}
        if not trained:
            agree(self.group, None, said, layout_of(self.model), "Elastic()")
            return
        own = json.dumps([said, layout_of(self.model)])
        theirs = bytes(_native.gather(self.group, own)[trained[0]]).decode()
        if own == theirs:
            return
        weft_torch.leave()
        raise ValueError("this rank joins others that were called otherwise: its Elastic() has "
                         f"{_first_difference(said, *json.loads(theirs), layout_of(self.model))}")

    def _copy_state(self, source: int) -> None:
        buffer = io.BytesIO()
        if self.rank == source:
            torch.save(self.state(), buffer)
        length = torch.tensor([buffer.getbuffer().nbytes])
        dist.broadcast(length, source, group=self.group)
        if self.rank == source:
            data = torch.frombuffer(bytearray(buffer.getvalue()), dtype=torch.uint8)
        else:
            data = torch.empty(int(length), dtype=torch.uint8)
        dist.broadcast(data, source, group=self.group)
        if self.rank != source:
            self._load(torch.load(io.BytesIO(data.numpy().tobytes()), map_location="cpu"))

    def _handle_signals(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return

        def checkpoint(*_: Any) -> None:
            self._wants_checkpoint = True

        def leave(*_: Any) -> None:
            self._wants_to_leave = True

        signal.signal(signal.SIGUSR1, checkpoint)
        signal.signal(signal.SIGTERM, leave)


def _first_difference(
    said: Dict[str, str], theirs: Dict[str, str], their_layout: List[str], layout: List[str]
) -> str:
    for name, value in said.items():
        if theirs.get(name) != value:
            return f"{name} '{value}', theirs '{theirs.get(name)}'"
    pairs = itertools.zip_longest(layout, their_layout, fillvalue="nothing")
    return next(f"'{own}' where theirs has '{other}'" for own, other in pairs if own != other)


def _gradient(parameter: torch.nn.Parameter) -> torch.Tensor:
    if parameter.grad is None:
        parameter.grad = torch.zeros_like(parameter)
    return parameter.grad


def _split(parameters: List[torch.nn.Parameter], limit: int) -> List[List[torch.nn.Parameter]]:
    """Buckets of neighbours of one type, each of about ``limit`` bytes."""
    buckets: List[List[torch.nn.Parameter]] = []
    filled = 0
    for parameter in parameters:
        size = parameter.numel() * parameter.element_size()
        if not buckets or filled + size > limit or buckets[-1][0].dtype != parameter.dtype:
            buckets.append([])
            filled = 0
        buckets[-1].append(parameter)
        filled += size
    return buckets
