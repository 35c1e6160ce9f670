"""Less communication: codecs and synchronisation modes for a model.

>>> model = weft.torch.wrap(model, codec="int8")                        # gradients, every step
>>> model = weft.torch.wrap(model, codec="int4", sync="diloco:period=50", optimizer=optimizer)

``docs/training.md`` says which to choose, and when to choose none.
"""

import os
import types
import weakref
from typing import Any, Callable, Dict, List, Optional, Sequence

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from weft import _torch as _native
from weft import progress
from weft.auto import AUTO, Automatic
from weft.gradients import Gradients

__all__ = ["Wrapped", "finish_all", "release_all", "split_data", "wrap"]

_VERSION = 1
_STATE = "weft"  # the key of a state_dict that holds what codecs and modes remember
_alive: "weakref.WeakSet[Wrapped]" = weakref.WeakSet()


def wrap(
    model: nn.Module,
    codec: Optional[str] = None,
    sync: Optional[str] = None,
    optimizer: Optional[torch.optim.Optimizer] = None,
    *,
    group: Optional[Any] = None,
    seed: int = 1,
    weight: float = 1.0,
    local_steps: int = 0,
) -> "Wrapped":
    """Keeps ``model`` the same on all ranks, with less communication.

    Every rank calls it with the same arguments; all begin with the parameters of rank 0.

    Args:
        model: a module with float32 parameters in host memory, or one in DistributedDataParallel.
        codec: how what is exchanged is encoded, such as ``"int8"`` or ``"none"``; ``"auto"``: as a
            cost model says from measured speeds, for each bucket (``explain()``). Default: the
            variable WEFT_CODEC, else what ``sync`` says (``"diloco:codec=int4"``), else none.
        sync: when and what ranks exchange, such as ``"bsp"``, ``"local:period=8"`` or
            ``"ssp:bound=3"``, or ``"auto"``. Default: the variable WEFT_SYNC, else ``"bsp"``.
        optimizer: needed by every mode but ``"bsp"``: what ranks do together happens in its
            ``step()``.
        group: a process group of the back end ``"weft"``; default: that of the job.
        seed: of codecs that draw, the same on all ranks.
        weight: of this rank's work in averages, such as the number of its examples: with it the
            average is that over all examples, however they are shared. Ranks may differ.
        local_steps: what this rank takes in a round in place of the mode's period. Ranks may
            differ; the modes that can are ``local`` and those of federated learning.

    Raises:
        ValueError: an unknown codec, mode or parameter, with the nearest known word; or what does
            not go together.
    """
    sync_text = sync or os.environ.get("WEFT_SYNC") or "bsp"
    if AUTO in (sync_text, codec or os.environ.get("WEFT_CODEC")):
        if weight != 1.0 or local_steps:
            raise ValueError("weight and local_steps go with a codec and a mode of your own choice")
        return _automatic(model, codec, sync_text, optimizer, group, seed)
    mode, mode_codec, gradients, needs_loss = _native.mode_facts(sync_text)
    asked = codec or os.environ.get("WEFT_CODEC") or mode_codec or "none"
    if mode_codec and _native.codec_text(asked) != _native.codec_text(mode_codec):
        raise ValueError(f"codec is '{asked}', but sync is '{mode}': name one of them only")
    codec_text = _native.codec_text(asked)
    group = _checked(group)
    if not 0 < weight < float("inf"):
        raise ValueError(f"weight is {weight}; it must be a number above 0")
    if gradients:
        if local_steps:
            raise ValueError(f"local_steps is {local_steps}, but sync '{mode}' has no local steps")
        how: Any = Gradients(model, group, codec_text, seed, weight)
    else:
        if optimizer is None:
            raise ValueError(f"sync '{mode}' acts in optimizer.step(): give wrap() the optimizer")
        how = _Parameters(model, group, codec_text, mode, optimizer, needs_loss, seed,
                          weight, local_steps)
    return Wrapped(how, codec_text, mode)


def _checked(group: Optional[Any]) -> Any:
    group = back_end_of(group if group is not None else dist.group.WORLD)
    if not isinstance(group, _native.ProcessGroup):
        raise ValueError(
            'wrap() needs a process group of the back end "weft": '
            'dist.init_process_group("weft") comes first'
        )
    return group


def _automatic(
    model: nn.Module,
    codec: Optional[str],
    sync: str,
    optimizer: Optional[torch.optim.Optimizer],
    group: Optional[Any],
    seed: int,
) -> "Wrapped":
    """The codec by measured speeds, and with ``sync="auto"`` the mode as well."""
    codec = codec or os.environ.get("WEFT_CODEC") or AUTO
    if codec != AUTO:
        raise ValueError(f"sync is 'auto', but codec is '{codec}': it must be 'auto', too")
    modes = None
    if sync != AUTO:
        mode, _, gradients, _ = _native.mode_facts(sync)
        if not gradients or _native.mode_facts("bsp")[0] != mode:
            raise ValueError(f"codec 'auto' goes with sync 'bsp' or 'auto', not '{sync}'")
        modes = ["bsp"]
    elif optimizer is None:
        raise ValueError("sync 'auto' may act in optimizer.step(): give wrap() the optimizer")

    def parameters(codec: str, mode: str) -> Any:
        return _Parameters(how.model, how.group, codec, mode, optimizer, False, seed, agreed=True)

    how = Automatic(model, _checked(group), seed, modes, optimizer, parameters)
    return Wrapped(how, AUTO, mode if modes else AUTO)


def back_end_of(group: Any) -> Any:
    """What serves ``group`` in host memory.

    In torch 1.13 a process group of ours is the group itself; torch 2 puts it into one of its own.
    """
    if isinstance(group, _native.ProcessGroup) or not hasattr(group, "_get_backend"):
        return group
    return group._get_backend(torch.device("cpu"))


class Wrapped(nn.Module):
    """A model that ranks train together. Made by :func:`wrap`; ``module`` is the model itself.

    ``state_dict()`` also holds, under the key ``"weft"``, what codecs and modes remember on every
    rank, so that **every rank must call it**. It can be loaded on any number of ranks, which must
    all load it.
    """

    def __init__(self, how: Any, codec: str, sync: str) -> None:
        super().__init__()
        self.module = how.model
        self.codec = codec
        self.sync = sync
        self._how = [how]  # in a list: not a sub-module
        _alive.add(self)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        if self.training:
            progress.report_step(self.step)
        return self._how[0].forward_of(*args, **kwargs)

    def report(self, loss: float) -> None:
        """Tells the loss of the step about to be taken, which adaptive periods need; the cluster
        hears of it too."""
        self._how[0].loss = float(loss)
        progress.report(step=self.step, loss=loss)

    @property
    def step(self) -> int:
        """Steps taken by this rank; with backup workers the updates that its parameters hold, also
        those that were made without it."""
        return self._how[0].step

    @property
    def rounds(self) -> int:
        """How often ranks have come together: averages applied, or exchanges with servers."""
        return self._how[0].rounds

    def clock_difference(self) -> int:
        """By how many exchanges ranks were apart at most, as this rank's shard saw it (ssp, asp,
        backup workers)."""
        return self._how[0].widest()

    def explain(self) -> Dict[str, Any]:
        """What is exchanged how, and why: with ``codec="auto"`` the choice (``mode``, ``codecs`` by
        bucket, ``reason``), everything that was ``considered`` with what it was expected to cost,
        what was ``measured``, and the ``decisions`` so far."""
        return self._how[0].explain()

    def meet(self) -> None:
        """Every rank calls it between steps, before a collective call of its own such as a barrier.

        With backup workers ranks that have taken equally many steps may be at different updates:
        who waits for a step of those who have come to the meeting is let go. Nothing happens under
        other modes. ``state_dict()`` and ``finish()`` do it themselves."""
        self._how[0].meet()

    def finish(self) -> None:
        """Ends training; every rank calls it. Shard servers serve until then and give all ranks
        their parameters. Called at the end of a program where it was not."""
        self._how[0].finish()

    def state_dict(self, *args: Any, **kwargs: Any) -> Dict[str, Any]:
        state = super().state_dict(*args, **kwargs)
        if not args and "destination" not in kwargs:
            state[_STATE] = {
                "version": _VERSION,
                "codec": self.codec,
                "sync": self.sync,
                "ranks": self._how[0].save(),
            }
        return state

    def load_state_dict(self, state_dict: Dict[str, Any], strict: bool = True) -> Any:
        state = dict(state_dict)
        saved = state.pop(_STATE, None)
        keys = super().load_state_dict(state, strict)
        if saved is None:
            return keys
        if saved.get("version") != _VERSION:
            raise ValueError(
                f"state_dict['weft'] is of version {saved.get('version')}; this is {_VERSION}"
            )
        for name, own in (("codec", self.codec), ("sync", self.sync)):
            if saved[name] != own:
                raise ValueError(f"state_dict was made with {name} '{saved[name]}', not '{own}'")
        self._how[0].restore(saved["ranks"])
        return keys


class _Parameters:
    """Everything else: what ranks do together happens around the optimizer's own step."""

    def __init__(
        self,
        model: nn.Module,
        group: Any,
        codec: str,
        mode: str,
        optimizer: torch.optim.Optimizer,
        needs_loss: bool,
        seed: int,
        weight: float = 1.0,
        local_steps: int = 0,
        agreed: bool = False,
    ) -> None:
        self.forward_of: Callable[..., Any] = model
        self.model = model
        if isinstance(model, DistributedDataParallel):
            model.register_comm_hook(None, _leave)
            self.model = model.module
        self.loss: Optional[float] = None
        self._needs_loss = needs_loss
        self._group = group
        self._mode, self._codec = mode, codec
        self._optimizer = optimizer
        self._parameters = [p for p in self.model.parameters() if p.requires_grad]
        self._flat = _flatten(self._parameters)
        self._sync = _native.TrainingSync(
            group, codec, mode, self._flat, seed, weight, local_steps, agreed)
        self._own_step = optimizer.step

        def step(_: torch.optim.Optimizer, closure: Optional[Callable[[], Any]] = None) -> Any:
            return self._step(closure)

        # As torch's learning rate schedules expect it, whether they come before or after: a method
        # of the optimizer, and marked where they have marked it.
        if hasattr(optimizer.step, "_with_counter"):
            step._with_counter = True  # type: ignore[attr-defined]
        optimizer.step = types.MethodType(step, optimizer)  # type: ignore[method-assign]

    @property
    def step(self) -> int:
        return self._sync.step

    @property
    def rounds(self) -> int:
        return self._sync.round

    def explain(self) -> Dict[str, Any]:
        return {"reason": f"{self._codec} with {self._mode}: as asked for"}

    def widest(self) -> int:
        return self._sync.widest

    def finish(self) -> None:
        self._sync.finish()

    def release(self) -> None:
        self._sync = self._group = None

    def state(self) -> bytes:
        return self._sync.save()

    def meet(self) -> None:
        self._sync.will_meet()

    def save(self) -> List[bytes]:
        self.meet()
        _native.gather(self._group, b"")  # a shard is saved when nobody changes it any more
        return _native.gather(self._group, self.state())

    def restore(self, saved: List[bytes]) -> None:
        self._sync.restore(saved)

    def _step(self, closure: Optional[Callable[[], Any]] = None) -> Any:
        result = None
        if closure is not None:
            with torch.enable_grad():
                result = closure()
            self.loss = float(result)
        if self._needs_loss and self.loss is None:
            raise ValueError(f"sync '{self._mode}' needs the loss: call report(loss) before step()")
        loss = self.loss or 0.0
        rate = float(self._optimizer.param_groups[0]["lr"])
        if self._sync.needs_gradient():
            with torch.no_grad():
                gradients = [_gradient(p) for p in self._parameters]
                flat = torch.cat([g.reshape(-1) for g in gradients])
                self._sync.before_step(flat, loss, rate)
                for gradient, piece in zip(gradients, flat.split([g.numel() for g in gradients])):
                    gradient.copy_(piece.view_as(gradient))
        else:
            self._sync.before_step(self._flat[:0], loss, rate)
        self._own_step()
        self._sync.after_step(loss, rate)
        self.loss = None
        return result


def split_data(split: str, labels: Sequence[int], ranks: int, seed: int = 1) -> List[List[int]]:
    """The examples of each rank, the same on every rank: ``"iid"``, ``"dirichlet:0.1"``,
    ``"shards:2"`` or ``"quantity:0.5"`` (docs/sync.md). ``labels`` has one of 0 or more for each."""
    return _native.split_data(split, [int(label) for label in labels], ranks, seed)


def finish_all() -> None:
    """What the end of a program does for models whose ``finish()`` was not called."""
    for wrapped in list(_alive):
        wrapped.finish()


def release_all() -> None:
    """Lets threads end before the interpreter does; models can no longer train."""
    for wrapped in list(_alive):
        wrapped._how[0].release()


def _leave(_: Any, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    """A hook that leaves every rank its own gradients."""
    future: torch.futures.Future[torch.Tensor] = torch.futures.Future()
    future.set_result(bucket.buffer())
    return future


def _gradient(parameter: nn.Parameter) -> torch.Tensor:
    if parameter.grad is None:
        parameter.grad = torch.zeros_like(parameter)
    return parameter.grad


def _flatten(parameters: List[nn.Parameter]) -> torch.Tensor:
    """Moves the parameters into one piece of memory, of which each becomes a view."""
    for parameter in parameters:
        if parameter.dtype != torch.float32 or parameter.device.type != "cpu":
            raise ValueError(
                f"a parameter is {parameter.dtype} on {parameter.device}; "
                "sync modes need float32 in host memory"
            )
    flat = torch.cat([p.detach().reshape(-1) for p in parameters]) if parameters else torch.zeros(0)
    at = 0
    for parameter in parameters:
        parameter.data = flat[at:at + parameter.numel()].view_as(parameter)
        at += parameter.numel()
    return flat
