"""Shares of a global batch by how fast each rank is."""

import json
import statistics
import time
from typing import List

from weft import _torch as _native
from weft.gradients import Gradients
from weft.training import Wrapped

__all__ = ["BatchBalance"]

_GAIN = 0.95  # of the slowest rank's seconds: what other shares must promise


class BatchBalance:
    """Gives faster ranks more examples, so that none waits for another, and weighs gradients by them.

    >>> balance = weft.torch.BatchBalance(model, 256)
    >>> for step in range(steps):
    ...     places = balance.next()            # of this rank's examples in the global batch
    ...     loss = loss_of(model(inputs[places.start:places.stop]), …)   # the mean over them
    ...     loss.backward(); optimizer.step()

    The averaged gradient is that of the whole batch, however it is shared.

    Args:
        model: what :func:`weft.torch.wrap` gave, with ``sync="bsp"``. Its ``weight`` is set anew.
        global_batch: examples of a step on all ranks together, at least one each.
        every: steps after which ranks tell each other how long their own part took (the median)
            and share anew, if the slowest would then need at most 0.95 of its time.
    """

    def __init__(self, model: Wrapped, global_batch: int, every: int = 16) -> None:
        how = model._how[0]
        if not isinstance(how, Gradients) or model.sync != "bsp":
            raise ValueError(f"BatchBalance weighs gradients, but sync is '{model.sync}': "
                             "use 'bsp', or give wrap() weight= and local_steps=")
        if every < 1:
            raise ValueError(f"every is {every}; it must be 1 or more")
        self.global_batch = global_batch
        self._hook, self._every = how._hook, every
        self._size, self._rank = self._hook.group.size(), self._hook.group.rank()
        self._seconds: List[float] = []
        self._seen = -1  # passes at the last next(); none before the first
        self._left = 1 + every  # steps until ranks tell each other; the first is not like the others
        self._share([1.0] * self._size)
        self._own_s = self._began = 0.0

    @property
    def share(self) -> int:
        """Examples of this rank in a step."""
        return self.shares[self._rank]

    def next(self) -> range:
        """Every rank calls it once before every step; gives the places of this rank's examples."""
        now, hook = time.monotonic(), self._hook
        if self._seen >= 0 and hook.passes == self._seen + 1 and hook.done:
            # From the end of one exchange until this rank had all of its gradients for the next.
            if self._left <= self._every:
                self._seconds.append(self._own_s + hook.ready[-1] - self._began)
            self._own_s = now - max(hook.done)
        if self._seen >= 0:
            self._left -= 1
        if self._left == 0:
            self._left = self._every
            self._tell()
        self._seen, self._began = hook.passes, time.monotonic()
        first = sum(self.shares[:self._rank])
        return range(first, first + self.share)

    def _tell(self) -> None:
        speed = self.share / statistics.median(self._seconds) if self._seconds else 0.0
        self._seconds = []
        told = _native.gather(self._hook.group, json.dumps(speed))
        speeds = [float(json.loads(one)) for one in told]
        if min(speeds) <= 0:
            return
        before = self.shares
        shares = _native.balance_batch(speeds, self.global_batch)
        if _slowest(shares, speeds) <= _GAIN * _slowest(before, speeds):
            self._share(speeds)

    def _share(self, speeds: List[float]) -> None:
        self.shares: List[int] = _native.balance_batch(speeds, self.global_batch)
        self._hook.share = self.share * self._size / self.global_batch


def _slowest(shares: List[int], speeds: List[float]) -> float:
    return max(share / speed for share, speed in zip(shares, speeds))
