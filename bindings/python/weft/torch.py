"""The PyTorch back end ``"weft"``.

>>> import torch.distributed as dist
>>> import weft.torch
>>> dist.init_process_group("weft")
"""

import atexit
import json
import os
import sys
from datetime import timedelta
from typing import Any, List, Optional, Tuple

import torch
import torch.distributed as dist

from weft import _torch as _native
from weft.balance import BatchBalance
from weft.training import Wrapped, finish_all, release_all, split_data, wrap

__all__ = [
    "BatchBalance", "ProcessGroup", "Wrapped", "ddp_hook", "init_elastic", "install", "leave",
    "split_data", "stream", "wrap",
]

ProcessGroup = _native.ProcessGroup

_DEFAULT_TIMEOUT = timedelta(minutes=30)
_LEAVE_TOGETHER_S = 30.0
_world: Optional[ProcessGroup] = None  # of this process; sub-groups are made from it
_prepared: Optional[ProcessGroup] = None  # what the next init_process_group() shall use
_served: List[Any] = []  # stores that this process serves


def stream(number: int, priority: float = 0.0) -> _native.StreamScope:
    """Names the operations called in a ``with`` block.

    Operations of one stream are matched in the order of their calls, whatever is called on other
    streams and on whichever thread. The operation with the least ``priority`` goes first.

    Args:
        number: 1 to 2047, the same on every rank for the same operation.
    """
    return _native.StreamScope(number, priority)


def ddp_hook(
    group: Optional[ProcessGroup], bucket: dist.GradBucket
) -> torch.futures.Future[torch.Tensor]:
    """A communication hook for ``DistributedDataParallel``: averages each bucket on a stream of its own.

    The average divides by the members of today, also after a change of membership, and buckets
    whose parameters are used first in the next forward pass go first.

    >>> model.register_comm_hook(None, weft.torch.ddp_hook)
    """
    index = bucket.index()
    # Buckets are numbered in the order they become ready: the last holds the first layers.
    with stream(1 + index, priority=-index):
        work = dist.all_reduce(
            bucket.buffer(), op=dist.ReduceOp.AVG, group=group, async_op=True
        )
    return work.get_future().then(lambda future: future.value()[0])


def init_elastic(timeout: timedelta = _DEFAULT_TIMEOUT) -> ProcessGroup:
    """Makes the default process group of a rank that ``weft launch`` started, also of a joiner.

    Unlike ``init_process_group("weft")`` it uses no store of torch's, so that a rank which joins a
    running group does not wait for the others to come back to a barrier they have long passed.
    """
    if "WEFT_STORE" not in os.environ:
        raise RuntimeError(
            "WEFT_STORE is not set: init_elastic() is for ranks started by weft launch; "
            'use dist.init_process_group("weft")'
        )
    group = _native.start("", "", 0, 0, "elastic", timeout)
    install(group)
    return group


def install(group: ProcessGroup) -> None:
    """Makes ``group`` the default process group of torch.distributed, in place of any other."""
    global _prepared
    if dist.is_initialized():
        dist.destroy_process_group()
    _prepared = group
    try:
        dist.init_process_group(
            "weft", store=_LoneStore(group.size()), rank=group.rank(), world_size=group.size()
        )
    finally:
        _prepared = None


def leave(wait_s: float = 0.0) -> None:
    """Says goodbye, so that the others do not take the end of this process for a death.

    What they have under way with this rank ends with an error. With ``wait_s`` it waits that long for
    them to leave as well; so does the end of a program that ends without an exception.
    """
    global _world
    if _world is not None:
        _world.leave(wait_s)
        _world = None


class _LoneStore(dist.HashStore):
    """A store of one process that finds everybody has arrived: the group has met already."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self._size = size

    def add(self, key: str, amount: int) -> int:
        if "barrier" in key:
            return self._size
        return super().add(key, amount)


def _serve(store: dist.Store, rank: int) -> Tuple[str, str]:
    """Where rank 0 serves the ranks' rendezvous, told through torch's own store."""
    if rank == 0:
        host = os.environ.get("MASTER_ADDR", "127.0.0.1")
        host = "127.0.0.1" if host == "localhost" else host
        served = _native.Store(f"{host}:0")
        _served.append(served)
        store.set("weft", json.dumps([f"{host}:{served.port}", served.secret]))
    address, secret = json.loads(store.get("weft"))
    return address, secret


def _create(options: Any, _: Any) -> ProcessGroup:
    """What torch calls for ``init_process_group("weft")`` and ``new_group(…)``."""
    global _world
    if _prepared is not None:
        _world = _prepared
        return _prepared
    timeout, group_id = options.timeout, options.group_id
    if options.global_ranks_in_group:
        if _world is None:
            raise RuntimeError('weft: a sub-group needs init_process_group("weft") before it')
        return _world.subgroup(options.global_ranks_in_group, group_id, timeout)
    if "WEFT_STORE" in os.environ:
        _world = _native.start("", "", 0, 0, group_id, timeout)
    else:
        address, secret = _serve(options.store, options.group_rank)
        _world = _native.start(
            address, secret, options.group_rank, options.group_size, group_id, timeout
        )
    return _world


def _at_exit() -> None:
    # A process that ends by an exception is lost, not leaving: the others must hear an error.
    if not hasattr(sys, "last_type"):
        try:
            finish_all()
        except RuntimeError as error:  # a rank was lost: what is left to do is to say goodbye
            print(f"weft: {error}", file=sys.stderr)
        leave(_LEAVE_TOGETHER_S)
        release_all()


if int(torch.__version__.split(".")[0]) >= 2:
    dist.Backend.register_backend("weft", _create, extended_api=True, devices=["cpu"])
else:
    dist.Backend.register_backend("weft", _create, extended_api=True)
atexit.register(_at_exit)
