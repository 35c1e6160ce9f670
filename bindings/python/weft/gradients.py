"""Averages of gradients, bucket by bucket, in a hook of DistributedDataParallel.

Each bucket goes through a codec of its own. What error feedback holds back is never lost: when
another codec takes over, or DistributedDataParallel divides its parameters anew, it is added to the
gradients of the next pass.
"""

import time
from typing import Any, Callable, Dict, Iterable, List, Optional, Tuple

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from weft import _torch as _native

__all__ = ["Gradients", "Hook", "contents_of"]

# Buckets of the first pass, after which DDP divides its parameters anew, have numbers from here on.
_FIRST_PASS = 1 << 20

_Parts = List[Tuple[int, int]]  # id of a parameter, number of its values
_Places, _Matrices = List[Tuple[int, int]], List[Tuple[int, int, int]]
_Contents = Tuple[_Places, _Matrices]


class Hook:
    """What the hook of DistributedDataParallel knows. DDP keeps it where Python's garbage collector
    cannot look, so that it must not know DDP."""

    def __init__(self, group: Any, codec: str, seed: int, weight: float = 1.0) -> None:
        self.passes = 0  # backward passes
        self.group = group
        total = torch.tensor([weight], dtype=torch.float64)
        dist.all_reduce(total, group=group)
        # What a gradient is multiplied by, so that the plain mean is the weighted one.
        self.share = weight * dist.get_world_size(group) / float(total)
        self.codec = codec  # of buckets that `codecs` does not name
        self.codecs: List[str] = []  # by index of the bucket
        self.sizes: List[int] = []  # bytes of the buckets of the pass, by index
        self.ready: List[float] = []  # when each was ready, and when its average was there
        self.done: List[float] = []
        self.held: Dict[int, str] = {}  # by number of a bucket: the codec that remembers it
        self.before_pass: Optional[Callable[[int], None]] = None  # told the first bucket's bytes
        self._seed = seed
        self._compressors: Dict[str, Any] = {}
        self._parts: Dict[int, _Parts] = {}
        self._contents: Dict[int, _Contents] = {}
        self._carried: Dict[int, torch.Tensor] = {}  # by parameter: for the next gradients

    def compressor(self, codec: str) -> Any:
        if codec not in self._compressors:
            self._compressors[codec] = _native.Compressor(self.group, codec, self._seed)
        return self._compressors[codec]

    def codec_of(self, index: int, first: bool) -> str:
        """All ranks have the same lists, so that all answer alike."""
        codec = self.codecs[index] if index < len(self.codecs) else self.codec
        return "none" if first and not self.compressor(codec).movable else codec

    def begin_pass(self) -> None:
        self.sizes, self.ready, self.done = [], [], []
        if self.passes > 0:
            for number in [n for n in self.held if n >= _FIRST_PASS]:
                self._take(number)

    def carry(
        self, number: int, codec: str, bucket: dist.GradBucket, values: torch.Tensor
    ) -> None:
        """Adds to the gradients, ``values``, what others held back of them."""
        self._parts[number] = [(id(p), p.numel()) for p in bucket.parameters()]
        if self.held.get(number, codec) != codec:
            self._take(number)
        self.held[number] = codec
        if not self._carried:
            return
        at = 0
        for parameter, count in self._parts[number]:
            owed = self._carried.pop(parameter, None)
            if owed is not None:
                values[at:at + count].add_(owed)
            at += count

    def contents(self, number: int, bucket: dist.GradBucket) -> _Contents:
        if number not in self._contents:
            self._contents[number] = contents_of(bucket.parameters())
        return self._contents[number]

    def matrices(self) -> List[_Matrices]:
        """Of the buckets as they are now, by index."""
        return [self._contents[index][1] for index in range(len(self.sizes))]

    def take_all(self) -> Dict[int, torch.Tensor]:
        """What is held back of every parameter, by its id; nothing is held back any more."""
        for number in list(self.held):
            self._take(number)
        carried, self._carried = self._carried, {}
        return carried

    def forget(self) -> None:
        """All that codecs hold back, and what of it waits for the next gradients."""
        self._compressors.clear()
        self.held.clear()
        self._carried.clear()

    def _take(self, number: int) -> None:
        residual = self.compressor(self.held.pop(number)).take_residual(number)
        if residual.numel() and number not in self._parts:
            raise RuntimeError(f"weft: what is held back is of bucket {number}, which is not known; "
                               "load a state before the first step")
        at = 0
        for parameter, count in self._parts[number] if residual.numel() else []:
            owed = residual[at:at + count]
            known = self._carried.get(parameter)
            self._carried[parameter] = owed if known is None else known + owed
            at += count

    def release(self) -> None:
        self._compressors.clear()
        self.group = self.before_pass = None


def contents_of(parameters: Iterable[torch.Tensor]) -> _Contents:
    """Places of vectors, such as biases, which coarse codecs would spoil, and of matrices, whose shape
    some codecs use: a kernel's is that of its outputs by all of its inputs."""
    at = 0
    vectors, matrices = [], []
    for parameter in parameters:
        count = parameter.numel()
        if parameter.dim() < 2:
            vectors.append((at, count))
        elif count > 0:
            rows = parameter.shape[0]
            matrices.append((at, rows, count // rows))
        at += count
    return vectors, matrices


def average(hook: Hook, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    index, buffer, first = bucket.index(), bucket.buffer(), hook.passes == 0
    if index == 0:
        if hook.before_pass is not None:
            hook.before_pass(buffer.numel() * buffer.element_size())
        hook.begin_pass()
    if bucket.is_last():
        hook.passes += 1
    hook.sizes.append(buffer.numel() * buffer.element_size())
    hook.ready.append(time.monotonic())
    codec, number = hook.codec_of(index, first), index + (_FIRST_PASS if first else 0)
    # Codecs take float32; without one gradients of any type are averaged as they are.
    plain = codec == "none" and buffer.dtype != torch.float32
    values = buffer if plain else buffer.float()
    if hook.share != 1.0:
        values *= hook.share
    vectors, matrices = hook.contents(number, bucket)
    hook.carry(number, codec, bucket, values)
    if plain:
        with _native.StreamScope(1 + index, -float(index)):
            work = dist.all_reduce(values, op=dist.ReduceOp.AVG, group=hook.group, async_op=True)
    else:
        compressor = hook.compressor(codec)
        work = compressor.average(number, values, -float(index),
                                  vectors if compressor.coarse else [],
                                  matrices if compressor.shaped else [])

    def arrived(future: Any) -> torch.Tensor:
        hook.done.append(time.monotonic())
        mean = future.value()[0]
        return mean if mean.dtype == buffer.dtype else buffer.copy_(mean)

    return work.get_future().then(arrived)


class Gradients:
    """Gradients of every step, averaged as soon as a bucket of them is there."""

    def __init__(
        self, model: nn.Module, group: Any, codec: str, seed: int, weight: float = 1.0
    ) -> None:
        if not isinstance(model, DistributedDataParallel):
            model = DistributedDataParallel(model, process_group=group)
        self.forward_of: Any = model
        self.no_sync = model.no_sync  # DDP's own
        self.model = model.module
        self.loss: Optional[float] = None
        self._before = 0  # steps that were taken before a state was loaded, less those of then
        self._hook = Hook(group, codec, seed, weight)
        model.register_comm_hook(self._hook, average)

    @property
    def step(self) -> int:
        return self._before + self._hook.passes

    @property
    def rounds(self) -> int:
        return self._hook.passes

    def explain(self) -> Dict[str, Any]:
        return {"reason": f"{self._hook.codec} with bsp: as asked for"}

    def begin_anew(self) -> None:
        """Other parameters were loaded: nothing is owed to the old ones."""
        self._hook.forget()

    def resume(self, step: int) -> None:
        self._before += step - self.step

    def widest(self) -> int:
        return 0

    def meet(self) -> None:
        pass

    def finish(self) -> None:
        pass

    def release(self) -> None:
        self._hook.release()

    def save(self) -> List[bytes]:
        compressor = self._hook.compressor(self._hook.codec)
        if compressor.codec == "none":
            return []
        return _native.gather(self._hook.group, compressor.save())

    def restore(self, saved: List[bytes]) -> None:
        self._hook.compressor(self._hook.codec).restore(saved)
