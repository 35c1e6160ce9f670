"""Less communication: codecs and synchronisation modes for a model.

>>> model = weft.torch.wrap(model, codec="int8")                        # gradients, every step
>>> model = weft.torch.wrap(model, codec="int4", sync="diloco:period=50", optimizer=optimizer)

``docs/training.md`` says which to choose, and when to choose none.
"""

import os
import weakref
from typing import Any, Callable, ContextManager, Dict, List, Optional, Sequence, Tuple

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from weft import _torch as _native
from weft import progress
from weft.agreement import agree, layout_of
from weft.auto import AUTO, Automatic
from weft.gradients import Gradients
from weft.parameters import Parameters, is_taken

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
    find_unused_parameters: bool = False,
) -> "Wrapped":
    """Keeps ``model`` the same on all ranks, with less communication.

    Every rank calls it with the same arguments; all begin with the parameters and buffers of rank 0.

    Args:
        model: a module in host memory, or one in DistributedDataParallel. Modes other than ``"bsp"``
            need trainable parameters of float32.
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
        find_unused_parameters: as of DistributedDataParallel, for models of which some parameters
            get no gradient in some steps. Modes other than ``"bsp"`` need no such help.

    Raises:
        ValueError: an unknown codec, mode or parameter, with the nearest known word; what does not
            go together; or ranks that were called differently. The same on every rank.
    """
    group = _checked(group)
    problem, said, make = None, {}, None
    try:
        _check_numbers(seed, weight, local_steps)
        _check_model(model, optimizer, group)
        if find_unused_parameters and isinstance(model, DistributedDataParallel):
            raise ValueError("the model is in DistributedDataParallel already: "
                             "give find_unused_parameters to that")
        said, make = _choice(model, codec, sync, optimizer, group, seed, weight, local_steps,
                             find_unused_parameters)
    except (ValueError, TypeError, AttributeError) as error:
        problem = str(error)
    said.update({
        "seed": str(seed),
        "find_unused_parameters": str(bool(find_unused_parameters)),
        "the model's type": "DistributedDataParallel" if isinstance(model, DistributedDataParallel)
                            else "a module",
    })
    agree(group, problem, said, layout_of(_inner(model)))
    assert make is not None
    return make()


def _inner(model: nn.Module) -> nn.Module:
    return model.module if isinstance(model, DistributedDataParallel) else model


def _checked(group: Optional[Any]) -> Any:
    group = back_end_of(group if group is not None else dist.group.WORLD)
    if not isinstance(group, _native.ProcessGroup):
        raise ValueError(
            'wrap() needs a process group of the back end "weft": '
            'dist.init_process_group("weft") comes first'
        )
    return group


def _check_numbers(seed: Any, weight: Any, local_steps: Any) -> None:
    for name, value, most in ("seed", seed, 2**64 - 1), ("local_steps", local_steps, 2**31 - 1):
        if not isinstance(value, int) or not 0 <= value <= most:
            raise ValueError(f"{name} is {value!r}; it must be a whole number from 0 to {most}")
    if not isinstance(weight, (int, float)) or not 0 < weight < float("inf"):
        raise ValueError(f"weight is {weight!r}; it must be a number above 0")


def _check_model(model: nn.Module, optimizer: Optional[torch.optim.Optimizer], group: Any) -> None:
    inner = _inner(model)
    if any(isinstance(part, Wrapped) for part in inner.modules()) or any(
            other.module is inner for other in _alive):
        raise ValueError("the model is wrapped already: use what the first wrap() gave, "
                         "or let go of it before wrapping the model again")
    if isinstance(model, DistributedDataParallel) and back_end_of(model.process_group) is not group:
        raise ValueError("the model's DistributedDataParallel is of another process group: "
                         "give wrap() that one as group")
    trainable = {name: p for name, p in inner.named_parameters() if p.requires_grad}
    if not trainable:
        raise ValueError("the model has no parameter that requires a gradient: "
                         "there is nothing to train together")
    for name, parameter in trainable.items():
        if not parameter.is_floating_point():
            raise ValueError(f"parameter '{name}' is {parameter.dtype}; "
                             "only floating types are trained together")
    if optimizer is not None:
        if not isinstance(optimizer, torch.optim.Optimizer):
            raise ValueError(f"optimizer is {optimizer!r}; it must be one of torch.optim")
        known = {id(p) for group in optimizer.param_groups for p in group["params"]}
        if not any(id(p) in known for p in trainable.values()):
            raise ValueError("the optimizer has none of the model's parameters: "
                             "make it from those of this model")


def _choice(
    model: nn.Module,
    codec: Optional[str],
    sync: Optional[str],
    optimizer: Optional[torch.optim.Optimizer],
    group: Any,
    seed: int,
    weight: float,
    local_steps: int,
    find_unused_parameters: bool,
) -> Tuple[Dict[str, str], Callable[[], "Wrapped"]]:
    """What is asked for, to be compared with the other ranks' calls, and what makes it."""
    sync_text = sync or os.environ.get("WEFT_SYNC") or "bsp"
    if AUTO in (sync_text, codec or os.environ.get("WEFT_CODEC")):
        if weight != 1.0 or local_steps:
            raise ValueError("weight and local_steps go with a codec and a mode of your own choice")
        return _automatic(model, codec, sync_text, optimizer, group, seed, find_unused_parameters)
    mode, mode_codec, gradients, needs_loss, needs_gradient = _native.mode_facts(sync_text)
    asked = codec or os.environ.get("WEFT_CODEC") or mode_codec or "none"
    codec_text = _native.codec_text(asked)
    if gradients and local_steps:
        raise ValueError(f"local_steps is {local_steps}, but sync '{mode}' has no local steps")
    if not gradients:
        _native.check_together(codec_text, mode)
        _check_optimizer(model, mode, optimizer, needs_gradient)

    def make() -> "Wrapped":
        if gradients:
            how: Any = Gradients(_helped(model, group, find_unused_parameters), group, codec_text,
                                 seed, weight)
        else:
            how = Parameters(model, group, codec_text, mode, optimizer, needs_loss, seed, weight,
                             local_steps)
        return Wrapped(how, codec_text, mode)

    return {"codec": codec_text, "sync": mode}, make


def _check_optimizer(
    model: nn.Module,
    mode: str,
    optimizer: Optional[torch.optim.Optimizer],
    needs_gradient: bool,
) -> None:
    """Of modes that act in its step()."""
    if optimizer is None:
        raise ValueError(f"sync '{mode}' acts in optimizer.step(): give wrap() the optimizer")
    if is_taken(optimizer):
        raise ValueError("the optimizer is that of a model that was wrapped before: "
                         "make one for this model alone")
    if needs_gradient and isinstance(optimizer, torch.optim.LBFGS):
        raise ValueError(f"sync '{mode}' changes the gradient of a step, of which LBFGS computes "
                         "several: use another optimizer, or a mode such as 'local'")
    for name, parameter in _inner(model).named_parameters():
        if parameter.requires_grad and (
                parameter.dtype != torch.float32 or parameter.device.type != "cpu"):
            raise ValueError(f"parameter '{name}' is {parameter.dtype} on {parameter.device}; "
                             f"sync '{mode}' needs float32 in host memory")


def _helped(model: nn.Module, group: Any, find_unused_parameters: bool) -> nn.Module:
    """In DistributedDataParallel, where that has to be told something."""
    if not find_unused_parameters:
        return model
    return DistributedDataParallel(model, process_group=group, find_unused_parameters=True)


def _automatic(
    model: nn.Module,
    codec: Optional[str],
    sync: str,
    optimizer: Optional[torch.optim.Optimizer],
    group: Any,
    seed: int,
    find_unused_parameters: bool,
) -> Tuple[Dict[str, str], Callable[[], "Wrapped"]]:
    """The codec by measured speeds, and with ``sync="auto"`` the mode as well."""
    codec = codec or os.environ.get("WEFT_CODEC") or AUTO
    if codec != AUTO:
        raise ValueError(f"sync is 'auto', but codec is '{codec}': it must be 'auto', too")
    modes = None
    if sync != AUTO:
        sync, _, gradients, _, _ = _native.mode_facts(sync)
        if not gradients or _native.mode_facts("bsp")[0] != sync:
            raise ValueError(f"codec 'auto' goes with sync 'bsp' or 'auto', not '{sync}'")
        modes = ["bsp"]
    else:
        if optimizer is None:
            raise ValueError("sync 'auto' may act in optimizer.step(): give wrap() the optimizer")
        if isinstance(optimizer, torch.optim.LBFGS):
            raise ValueError("sync 'auto' may average what optimizers remember, and LBFGS remembers "
                             "lists: use another optimizer, or sync 'bsp'")
        _check_optimizer(model, sync, optimizer, False)

    def make() -> "Wrapped":
        def parameters(codec: str, mode: str) -> Any:
            return Parameters(how.model, how.group, codec, mode, optimizer, False, seed,
                              agreed=True)

        how = Automatic(_helped(model, group, find_unused_parameters), group, seed, modes,
                        optimizer, parameters)
        return Wrapped(how, AUTO, sync)

    return {"codec": AUTO, "sync": sync}, make


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

    def no_sync(self) -> ContextManager[None]:
        """Backward passes in it add up gradients of this rank alone, as DistributedDataParallel's do:
        for several of them to a step, all but the last. Modes other than ``"bsp"`` exchange nothing
        in a backward pass anyway."""
        return self._how[0].no_sync()

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
                "step": self.step,
                "ranks": self._how[0].save(),
            }
        return state

    def load_state_dict(self, state_dict: Dict[str, Any], strict: bool = True) -> Any:
        """A state without ``"weft"``, such as one of DistributedDataParallel, is where training begins anew,
        with rank 0's parameters where ranks average parameters. Every rank calls it."""
        state = dict(state_dict)
        saved = state.pop(_STATE, None)
        if saved is not None:
            self._check_saved(saved)
        keys = super().load_state_dict(state, strict)
        if saved is None:
            self._how[0].begin_anew()
            return keys
        self._how[0].restore(saved["ranks"])
        self._how[0].resume(int(saved.get("step", 0)))
        return keys

    def _check_saved(self, saved: Dict[str, Any]) -> None:
        if saved.get("version") != _VERSION:
            raise ValueError(
                f"state_dict['weft'] is of version {saved.get('version')}; this is {_VERSION}"
            )
        for name, own in (("codec", self.codec), ("sync", self.sync)):
            if saved[name] != own:
                raise ValueError(f"state_dict was made with {name} '{saved[name]}', not '{own}'")

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("a wrapped model belongs to its group and cannot be copied or pickled: "
                        "copy its .module, or save its state_dict()")


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
