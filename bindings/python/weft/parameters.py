"""Modes that exchange parameters: what ranks do together happens around the optimizer's own step."""

import contextlib
import types
import weakref
from typing import Any, Callable, ContextManager, Dict, List, Optional

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from weft import _torch as _native
from weft.agreement import copy_from_rank_0

__all__ = ["Parameters", "is_taken"]

# Optimizers whose step() is ours.
_taken: "weakref.WeakSet[torch.optim.Optimizer]" = weakref.WeakSet()


def is_taken(optimizer: torch.optim.Optimizer) -> bool:
    return optimizer in _taken


class Parameters:
    """Requires: trainable parameters of float32 in host memory, which become views of one piece."""

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
        if isinstance(model, DistributedDataParallel):
            # Who calls the inner model meets nobody; DDP would wait for rank 0's buffers with every
            # forward pass, and overwrite the other ranks' with them.
            model.register_comm_hook(None, _leave)
            model = model.module
        self.model = model
        self.forward_of: Callable[..., Any] = model
        self.loss: Optional[float] = None
        self._needs_loss = needs_loss
        self._group = group
        self._mode, self._codec = mode, codec
        self._optimizer = optimizer
        self._parameters = [p for p in self.model.parameters() if p.requires_grad]
        if not agreed:
            frozen = [p for p in self.model.parameters() if not p.requires_grad]
            copy_from_rank_0(frozen + list(self.model.buffers()), group)
        self._flat = _flatten(self._parameters)
        self._make = lambda codec, mode, agreed: _native.TrainingSync(
            group, codec, mode, self._flat, seed, weight, local_steps, agreed)
        self._sync = self._make(codec, mode, agreed)
        self.resting = False  # the optimizer's steps are its own
        self._steps = self._rounds = 0  # under modes that were left
        # Called before a step that has a closure, in which the forward pass comes too late for it.
        self.before_closure: Optional[Callable[[], None]] = None
        self.owed: Dict[int, torch.Tensor] = {}  # by id of a parameter: for its next gradient
        self._own_step = optimizer.step
        _taken.add(optimizer)

        def step(_: torch.optim.Optimizer, closure: Optional[Callable[[], Any]] = None) -> Any:
            return self._step(closure)

        # As torch's learning rate schedules expect it, whether they come before or after: a method
        # of the optimizer, and marked where they have marked it.
        if hasattr(optimizer.step, "_with_counter"):
            step._with_counter = True  # type: ignore[attr-defined]
        optimizer.step = types.MethodType(step, optimizer)  # type: ignore[method-assign]

    @property
    def step(self) -> int:
        return self._steps + (0 if self.resting else self._sync.step)

    @property
    def rounds(self) -> int:
        return self._rounds + (0 if self.resting else self._sync.round)

    def leave(self) -> None:
        """Every rank calls it right after an average: all have the same parameters, in which nothing
        is missing, and until take_up() the optimizer's steps are its own."""
        self._sync.leave()
        self.rest()

    def rest(self) -> None:
        """Leaves without a word to the others; what a codec holds back is forgotten."""
        self._steps, self._rounds = self.step, self.rounds
        self.resting, self._sync = True, None

    def begin_anew(self) -> None:
        """Every rank calls it: all have rank 0's parameters, and nothing is remembered."""
        if self.resting:
            return
        self._check_places()
        loaded = self._flat.clone()
        self._sync.finish()  # shard servers give all ranks what they have
        self._flat.copy_(loaded)
        self.rest()
        self.owed.clear()
        self._sync, self.resting = self._make(self._codec, self._mode, False), False

    def resume(self, step: int) -> None:
        """Its steps are in what restore() gets."""

    def take_up(self, codec: str, mode: str) -> None:
        """Every rank calls it, with the same parameters."""
        self._sync = self._make(codec, mode, True)
        self._mode, self._codec, self.resting = mode, codec, False

    def no_sync(self) -> ContextManager[None]:
        return contextlib.nullcontext()  # a step counts when the optimizer takes it

    def explain(self) -> Dict[str, Any]:
        return {"reason": f"{self._codec} with {self._mode}: as asked for"}

    def widest(self) -> int:
        return self._sync.widest

    def finish(self) -> None:
        if not self.resting:
            self._sync.finish()

    def release(self) -> None:
        self._sync = self._group = self._make = None

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
        if closure is not None and self.before_closure is not None:
            self.before_closure()
        if self.resting:
            return self._own_step() if closure is None else self._own_step(closure)
        self._check_places()
        rate = self._rate()
        if closure is None:
            self._check_loss()
        result, needs_gradient = None, self._sync.needs_gradient()
        if needs_gradient or self.owed:
            if closure is not None:
                with torch.enable_grad():
                    result = closure()
                self._hear(result)
                self._check_loss()
            self._pay()
            if needs_gradient:
                self._correct_gradient(rate)
            else:
                self._sync.before_step(self._flat[:0], 0.0, rate)
            self._own_step()
        else:
            self._sync.before_step(self._flat[:0], 0.0, rate)
            if closure is None:
                self._own_step()
            else:  # which some optimizers call several times
                result = self._own_step(closure)
                self._hear(result)
                self._check_loss()
        loss, self.loss = self.loss or 0.0, None
        self._sync.after_step(loss, rate)
        return result

    def _rate(self) -> float:
        rates = {float(group["lr"]) for group in self._optimizer.param_groups}
        if len(rates) > 1 and self._mode.startswith("scaffold"):
            raise ValueError(f"sync '{self._mode}' needs one learning rate for all parameters; "
                             f"the optimizer has {', '.join(map(str, sorted(rates)))}")
        return float(self._optimizer.param_groups[0]["lr"])

    def _check_places(self) -> None:
        """Parameters that were given other memory since, such as by ``vector_to_parameters``, go back to
        where they are averaged, with the values they have now."""
        at = 0
        for parameter in self._parameters:
            place = self._flat[at:at + parameter.numel()]
            at += parameter.numel()
            if parameter.numel() == 0 or parameter.data_ptr() == place.data_ptr():
                continue
            if parameter.dtype != torch.float32 or parameter.device.type != "cpu":
                raise ValueError(f"a parameter became {parameter.dtype} on {parameter.device}; "
                                 f"sync '{self._mode}' needs float32 in host memory")
            place.copy_(parameter.detach().reshape(-1))
            parameter.data = place.view_as(parameter)

    def _pay(self) -> None:
        for parameter in self._parameters:
            held = self.owed.pop(id(parameter), None)
            if held is None:
                continue
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
            parameter.grad.add_(held.view_as(parameter))
        self.owed.clear()

    def _hear(self, result: Any) -> None:
        if result is not None:
            self.loss = float(result)

    def _check_loss(self) -> None:
        if self._needs_loss and self.loss is None:
            raise ValueError(f"sync '{self._mode}' needs the loss: call report(loss) before step()")

    def _correct_gradient(self, rate: float) -> None:
        """A parameter without a gradient counts as one of zeros, and stays without, so that the
        optimizer leaves it alone, unless others have changed that."""
        with torch.no_grad():
            flat = torch.cat([(torch.zeros_like(p) if p.grad is None else p.grad).reshape(-1)
                              for p in self._parameters])
            self._sync.before_step(flat, self.loss or 0.0, rate)
            pieces = flat.split([p.numel() for p in self._parameters])
            for parameter, piece in zip(self._parameters, pieces):
                if parameter.grad is not None:
                    parameter.grad.copy_(piece.view_as(parameter))
                elif piece.any():
                    parameter.grad = piece.view_as(parameter).clone()


def _leave(_: Any, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    """A hook that leaves every rank its own gradients."""
    future: torch.futures.Future[torch.Tensor] = torch.futures.Future()
    future.set_result(bucket.buffer())
    return future


def _flatten(parameters: List[nn.Parameter]) -> torch.Tensor:
    """Moves the parameters into one piece of memory, of which each becomes a view."""
    flat = torch.cat([p.detach().reshape(-1) for p in parameters])
    at = 0
    for parameter in parameters:
        parameter.data = flat[at:at + parameter.numel()].view_as(parameter)
        at += parameter.numel()
    return flat
